/* Rows: writing what became of an environment into its row of a batch. */
#ifndef PP_POOL_ROW_H
#define PP_POOL_ROW_H

#include "layout.h"
#include "threads/autoreset.h"

/* Writes a whole row: the fields (through observe), the reward, flags and the rest; with SAME_STEP
 * an ended episode goes to the final columns and the next one is started. Returns a negative status
 * when a callback failed, now or before; the row is then zero but for its env id. */
int pp_row_write(pp_fleet *fleet, const pp_layout *layout, void *memory, int32_t row,
                 int32_t env_id, pp_outcome *outcome);

/* makes a row zero but for its env id: that of an environment that failed */
void pp_row_blank(const pp_layout *layout, void *memory, int32_t row, int32_t env_id);

/* Steps a run of environments straight into rows through step_many: all of them asked for a plain
 * step, none PP_FRESH, ids and rows consecutive; those that have ended are reset instead. rewards
 * is scratch for count x num_players values, count at most PP_GRAIN_ROWS. Returns how many of them
 * failed: their phase is PP_FRESH, their rows are zero but for the env id.
 */
int32_t pp_row_write_run(pp_fleet *fleet, const pp_layout *layout, void *memory, int32_t row,
                         int32_t env_id, int32_t count, double *rewards);

#endif
