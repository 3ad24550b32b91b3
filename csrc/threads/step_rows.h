/* Step rows: steps environments into rows of a batch, and resets those whose episodes end. */
#ifndef PP_THREADS_STEP_ROWS_H
#define PP_THREADS_STEP_ROWS_H

#include "autoreset.h"
#include "pool/layout.h"

/* Writes the row of an environment that pp_autoreset_advance has stepped or reset: fields (through
 * observe) and the engine's columns. With SAME_STEP, the fields of an ended episode go to the final
 * columns, and the next episode is started. Returns a negative status if a callback failed, now or
 * in pp_autoreset_advance; the row is then zero except for its env id. */
int pp_step_row_write(pp_fleet *fleet, const pp_layout *layout, void *memory, int32_t row,
                      int32_t env_id, pp_outcome *outcome);

/* Steps a run of count environments (at most PP_MAX_CHUNK) straight into their rows through
 * step_many. Ids and rows are consecutive; all have one configuration, all environments have the
 * command to step, and none is PP_FRESH. Those whose episode has ended are reset instead. rewards
 * is scratch memory for count x num_players values. Returns how many environments failed: their
 * phase is PP_FRESH, and their rows are zero except for the env id. */
int32_t pp_step_rows(pp_fleet *fleet, const pp_layout *layout, void *memory, int32_t row,
                     int32_t env_id, int32_t count, double *rewards);

#endif
