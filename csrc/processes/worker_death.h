/* Worker death: how the parent completes the turns of a worker process that has died. */
#ifndef PP_PROCESSES_WORKER_DEATH_H
#define PP_PROCESSES_WORKER_DEATH_H

#include "board.h"

/* After the death of a lane's worker: drops the entries that it had not taken, and takes it off the
 * gate's sleepers. A request that it had not answered gets a reply of size -1. */
void pp_board_clear_mailbox(pp_board *board, int32_t lane);

/* Unordered: returns the place of the row that an environment has claimed, -1: none. sequence: of
 * the block that is received next. */
int32_t pp_board_find_claim(const pp_board *board, int32_t env_id, int64_t sequence);

/* Unordered: claims a row for an environment whose worker is dead, in a block from this sequence
 * on, which is received next. Returns its place, or -1 if no row is free, which happens only if the
 * rows' words were overwritten. */
int32_t pp_board_claim_for_dead(pp_board *board, int32_t env_id, int64_t sequence);

#endif
