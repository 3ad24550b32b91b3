/* Ids: lists of environment ids, as callers give them. */
#include "ids.h"

int32_t pp_ids_run(const int32_t *ids, int32_t count) {
  enum { BLOCK = 16 };
  // unsigned, as the ids are unchecked and a sum might overflow
  const uint32_t *all = (const uint32_t *)ids, first = all[0];
  int32_t run = 1;
  while (run < count && all[run] == first + (uint32_t)run) {
    run++;
    // 16 at a time, with vector instructions, once the run is that long
    while (run >= BLOCK && run + BLOCK <= count) {
      uint32_t differs = 0;
      for (int32_t i = 0; i < BLOCK; i++) differs |= all[run + i] - first - (uint32_t)(run + i);
      if (differs) break;
      run += BLOCK;
    }
  }
  return run;
}
