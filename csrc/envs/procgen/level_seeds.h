/* Level seeds: the generator from which a game draws the seed of each level.
 *
 * A handle seeds a Mersenne Twister with its option rand_seed, and each of its environments in turn
 * with a number that it draws from that. */
#ifndef PP_ENVS_PROCGEN_LEVEL_SEEDS_H
#define PP_ENVS_PROCGEN_LEVEL_SEEDS_H

#include "base/mt19937.h"

/* the seeds from which levels are drawn: low included, high excluded */
typedef struct procgen_level_range {
  int32_t low;
  int32_t high;
} procgen_level_range;

/* Seeds the generator of the environment with this index in a handle with this rand_seed. */
void procgen_level_seeds_init(pp_mt19937 *seeds, uint32_t rand_seed, int32_t index);

/* Returns the seed of the next level. */
int32_t procgen_level_seeds_next(pp_mt19937 *seeds, procgen_level_range range);

#endif
