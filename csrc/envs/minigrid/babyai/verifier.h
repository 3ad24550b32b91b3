/* Verification: whether a step fulfils a clause, or breaks a strict one.
 *
 * The tag of a cell is the set of descriptions that its object matched at the start: bit 2 i is
 * what clause i is about, bit 2 i + 1 is what its object shall be put next to. A cell whose object
 * was taken away keeps the tag until something is dropped, because minigrid looks for objects anew
 * only then. */
#ifndef PP_ENVS_MINIGRID_BABYAI_VERIFIER_H
#define PP_ENVS_MINIGRID_BABYAI_VERIFIER_H

#include "envs/minigrid/level.h"

/* bits of a tag */
static inline uint8_t bb_what_bit(int32_t clause) {
  return (uint8_t)(1 << 2 * clause);
}

static inline uint8_t bb_beside_bit(int32_t clause) {
  return (uint8_t)(2 << 2 * clause);
}

/* Returns whether a cell beside a place has one of these bits. */
bool bb_is_beside(const mg_world *world, mg_point place, uint8_t bits);

/* mg_level.after of BabyAI's levels */
void bb_verify(mg_world *world, int64_t action, mg_outcome *outcome);

#endif
