/* Worker wait: how a worker process waits for its next turns. It spins as long as that takes no
 * core from another thread, then sleeps. */
#ifndef PP_PROCESSES_WORKER_WAIT_H
#define PP_PROCESSES_WORKER_WAIT_H

#include "board.h"

typedef struct pp_wait_history {
  int32_t long_waits; /* the number of waits in a row that were longer than a spin, up to two */
} pp_wait_history;

/* Returns when the lane has work, after timeout nanoseconds, or spuriously. */
void pp_worker_wait(pp_wait_history *history, pp_board *board, int32_t lane, int64_t timeout);

#endif
