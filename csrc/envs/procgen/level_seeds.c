/* The generator of level seeds. */
#include "level_seeds.h"

void procgen_level_seeds_init(pp_mt19937 *seeds, uint32_t rand_seed, int32_t index) {
  uint32_t seed = 0;
  pp_mt19937_seed(seeds, rand_seed);
  for (int32_t i = 0; i <= index; i++) seed = pp_mt19937_next(seeds);
  pp_mt19937_seed(seeds, seed);
}

int32_t procgen_level_seeds_next(pp_mt19937 *seeds, procgen_level_range range) {
  uint32_t count = (uint32_t)range.high - (uint32_t)range.low;
  return (int32_t)((uint32_t)range.low + pp_mt19937_next(seeds) % count);
}
