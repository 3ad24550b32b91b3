/* Row: the engine's own columns of a batch. No other file writes them. */
#ifndef PP_POOL_ROW_H
#define PP_POOL_ROW_H

#include <stdbool.h>

#include "layout.h"

/* what the engine writes into a row beside the environment's fields */
typedef struct pp_row {
  int32_t env_id;
  int32_t elapsed;
  const double *rewards; /* of each player */
  bool terminated;
  bool truncated;
} pp_row;

void pp_row_put(const pp_layout *layout, void *memory, int32_t row, const pp_row *values);

/* zeroes all columns of a row but the env id: the row of an environment that failed */
void pp_row_blank(const pp_layout *layout, void *memory, int32_t row, int32_t env_id);

/* The columns that only some layouts have: nothing to do unless layout->has_extras. step_type: 0
 * first, 1 mid, 2 last; returns: of each player, null if the layout has no such column. */
void pp_row_put_extras(const pp_layout *layout, void *memory, int32_t row, const pp_row *values,
                       int32_t step_type, float discount, const double *returns);

/* Fills in the rows of a run after step_many, which has left the flags in their columns. Flags
 * become 0 or 1, and an episode of at least limit steps is truncated. elapsed: steps of each
 * environment's episode, this one included; rewards: count x num_players. */
void pp_row_put_run(const pp_layout *layout, void *memory, int32_t row, int32_t env_id,
                    int32_t count, const int32_t *elapsed, uint32_t limit, const double *rewards);

/* what elapsed_step is after one more step: it stays at the most that the column can show */
static inline int32_t pp_row_next_elapsed(int32_t elapsed) {
  return elapsed + (elapsed < INT32_MAX);
}

#endif
