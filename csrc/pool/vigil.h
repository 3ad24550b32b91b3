/* Vigil: how a worker process waits for what it is asked next: awake at first, if that takes no
 * core from anybody, then asleep. */
#ifndef PP_POOL_VIGIL_H
#define PP_POOL_VIGIL_H

#include "board.h"

typedef struct pp_vigil {
  int32_t vain; /* waits in a row that were longer than a spin */
} pp_vigil;

/* Returns when the lane has something to do, or after timeout ns, or for no reason. */
void pp_vigil_keep(pp_vigil *vigil, pp_board *board, int32_t lane, int64_t timeout);

#endif
