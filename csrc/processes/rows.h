/* Rows: how rows of the blocks in shared memory are claimed, counted and cut. */
#ifndef PP_PROCESSES_ROWS_H
#define PP_PROCESSES_ROWS_H

#include "board.h"

/* ---------------------------------------------------------------------------------- parent -- */

/* Prepares a slot for the block of this sequence. All rows of the slot's former block have been
 * received. */
void pp_board_prepare_slot(pp_board *board, int64_t sequence, int64_t memory);

/* Sets the number of rows of a slot that the caller waits for. */
void pp_board_set_target(pp_board *board, int32_t slot, int32_t rows);

/* Unordered: ends block `sequence` after its first `rows` rows, which are written, unless another
 * row has been claimed. Later claims go to the next block. Returns whether it did. */
bool pp_board_cut(pp_board *board, int64_t sequence, int32_t rows);

/* Return how many rows of a slot are written, by all workers or by one lane's. */
int32_t pp_board_rows_done(const pp_board *board, int32_t slot);
int32_t pp_board_lane_rows_done(const pp_board *board, int32_t slot, int32_t lane);

/* Unordered: returns the owner of a row in the block of this sequence, as the row's word has it.
 * The result is below 0 if there is no owner; if the word was overwritten, it may be any number. */
int32_t pp_board_row_owner(const pp_board *board, int64_t sequence, int32_t row);

/* After the death of a lane's worker: sets how many rows of a slot it has written. */
void pp_board_set_rows_done(pp_board *board, int32_t lane, int32_t slot, int32_t count);

/* ---------------------------------------------------------------------------------- worker -- */

/* Unordered: claims a row for an environment of a lane, writes its place into the env record and
 * returns it. */
int32_t pp_board_claim(pp_board *board, int32_t lane, int32_t env_id);

/* Counts rows of a slot as written, and wakes the caller if it waits for no more. */
void pp_board_add_rows_done(pp_board *board, int32_t lane, int32_t slot, int32_t count);

#endif
