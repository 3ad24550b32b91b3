/* Step rows: steps environments, resets them when their episodes end, and writes their rows. */
#ifndef PP_THREADS_STEP_ROWS_H
#define PP_THREADS_STEP_ROWS_H

#include "autoreset.h"
#include "pool/layout.h"

/* Writes the row of an environment that pp_autoreset_advance has stepped or reset: the fields
 * (through observe), the reward, the flags and the rest. With SAME_STEP an ended episode goes to
 * the final columns, and the next one is started. Returns a negative status if a callback failed,
 * now or before; the row is then zero but for its env id. */
int pp_step_row_write(pp_fleet *fleet, const pp_layout *layout, void *memory, int32_t row,
                      int32_t env_id, pp_outcome *outcome);

/* Steps a run of environments straight into their rows through step_many. All of them have the
 * command to step, none is PP_FRESH, and ids and rows are consecutive; those whose episode has
 * ended are reset instead. rewards is scratch memory for count x num_players values, and count is
 * at most PP_GRAIN_ROWS. Returns how many failed: their phase is PP_FRESH, and their rows are zero
 * but for the env id. */
int32_t pp_step_rows(pp_fleet *fleet, const pp_layout *layout, void *memory, int32_t row,
                     int32_t env_id, int32_t count, double *rewards);

#endif
