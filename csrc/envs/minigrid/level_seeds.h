/* Level seeds: those that the resets of an environment take in turn, as minigrid's ReseedWrapper
 * gives them. */
#ifndef PP_ENVS_MINIGRID_LEVEL_SEEDS_H
#define PP_ENVS_MINIGRID_LEVEL_SEEDS_H

#include "grid.h"

typedef struct mg_level_seeds {
  int32_t count; /* 0: none */
  int32_t first; /* index of the seed of the first reset */
  uint64_t *seeds;
} mg_level_seeds;

/* Reads numbers with commas between them. What it allocates is freed with the seeds, also after a
 * failure. */
int mg_level_seeds_read(const char *numbers, int64_t first, mg_level_seeds *out, pp_error *error);

/* Gives the next seed to a generator; taken: how many resets have taken one, modulo their count. */
void mg_level_seeds_take(const mg_level_seeds *seeds, int32_t *taken, pp_rng *rng);

#endif
