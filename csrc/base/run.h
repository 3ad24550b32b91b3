/* Run: access to the environments of a step_many. */
#ifndef PP_BASE_RUN_H
#define PP_BASE_RUN_H

#include <stdarg.h>
#include <stdio.h>

#include "pp_env.h"

/* Returns the state of environment i, 0 to run->count - 1. */
static inline void *pp_run_state(const pp_run *run, int32_t i) {
  return run->states + (size_t)i * run->state_stride;
}

/* Says that environment i fails, and why, as pp_fail does; the others of the run go on. What is
 * written of it does not count. */
__attribute__((format(printf, 4, 5))) static inline void pp_run_fail(const pp_run *run, int32_t i,
                                                                     int status, const char *format,
                                                                     ...) {
  pp_failures *failures = run->failures;
  pp_error *error = &failures->errors[i];
  int32_t known = 0;
  va_list arguments;

  while (known < failures->count && failures->at[known] != i) known++;
  if (known == failures->count) failures->at[failures->count++] = i;
  error->code = status;
  va_start(arguments, format);
  vsnprintf(error->text, sizeof(error->text), format, arguments);
  va_end(arguments);
}

#endif
