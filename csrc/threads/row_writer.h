/* Row writer: steps environments into rows of a batch, and resets those whose episodes end. */
#ifndef PP_THREADS_ROW_WRITER_H
#define PP_THREADS_ROW_WRITER_H

#include "autoreset.h"
#include "pool/layout.h"

/* consecutive rows of a block, and the environments with consecutive ids that they are of */
typedef struct pp_rows {
  pp_natives *natives;
  const pp_layout *layout;
  void *memory;  /* the block */
  int32_t first; /* the first of these rows */
  int32_t env_id;
  int32_t count;
} pp_rows;

/* Writes the row of one environment that pp_autoreset_advance has stepped or reset: fields (through
 * observe) and the engine's columns. With SAME_STEP, the fields of an ended episode go to the final
 * columns, and the next episode is started. Returns a negative status if a callback failed, now or
 * in pp_autoreset_advance; the row is then zero except for its env id. */
int pp_rows_write(const pp_rows *rows, pp_outcome *outcome);

/* Steps at most PP_MAX_CHUNK environments straight into their rows through step_many. All have one
 * configuration and the command to step, and none is PP_FRESH. Those whose episode has ended are
 * reset instead. rewards has room for count x num_players values. Returns how many environments
 * failed: their phase is PP_FRESH, and their rows are zero except for the env id. */
int32_t pp_rows_step(const pp_rows *rows, double *rewards);

#endif
