/* Row: writes the engine's own columns of a batch. No other file writes them. */
#ifndef PP_POOL_ROW_H
#define PP_POOL_ROW_H

#include <stdbool.h>

#include "layout.h"

/* what the engine writes into a row besides the environment's fields */
typedef struct pp_row {
  int32_t env_id;
  int32_t elapsed;       /* steps of the episode */
  const double *rewards; /* rewards of each player */
  bool terminated;
  bool truncated;
} pp_row;

/* Writes the columns that every layout has. */
void pp_row_put(const pp_layout *layout, void *memory, int32_t row, const pp_row *values);

/* Writes the row of an environment that failed: zero in all columns but the env id. */
void pp_row_blank(const pp_layout *layout, void *memory, int32_t row, int32_t env_id);

/* Clears rows that no environment has: zero in all columns, and env ids of -1. */
void pp_row_clear(const pp_layout *layout, void *memory, int32_t row, int32_t count);

/* Writes the columns of pp_extra that the layout has. step_type: 0 first, 1 mid, 2 last; returns:
 * of each player, read only if the layout has that column. */
void pp_row_put_extras(const pp_layout *layout, void *memory, int32_t row, const pp_row *values,
                       int32_t step_type, float discount, const double *returns);

/* Replaces the flags and the steps of the episode, and the columns of pp_extra, in a row that
 * pp_row_put_run has written with rewards of 0: its environment was reset. */
void pp_row_put_reset(const pp_layout *layout, void *memory, int32_t row, const pp_row *values,
                      const double *returns);

/* Counts a step in elapsed, the steps of each environment's episode, and writes the rows of a run
 * after step_many, which has written the flags into their columns. Flags become 0 or 1, and an
 * episode of at least limit steps is truncated. rewards: count x num_players. */
void pp_row_put_run(const pp_layout *layout, void *memory, int32_t row, int32_t env_id,
                    int32_t count, int32_t *elapsed, uint32_t limit, const double *rewards);

/* Returns the elapsed_step after one more step, which saturates at INT32_MAX. */
static inline int32_t pp_row_next_elapsed(int32_t elapsed) {
  return elapsed + (elapsed < INT32_MAX);
}

#endif
