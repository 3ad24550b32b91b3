/* Fail: how a callback says why it fails. */
#ifndef PP_BASE_FAIL_H
#define PP_BASE_FAIL_H

#include <stdarg.h>
#include <stdio.h>

#include "pp_env.h"

/* Writes the reason, as printf would, and returns the status, so that a callback can end with
 * `return pp_fail(env->error, PP_ERR_ENV, "speed=%g: ...", speed)`. Longer texts are cut. */
__attribute__((format(printf, 3, 4))) static inline int pp_fail(pp_error *error, int status,
                                                                const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->text, sizeof(error->text), format, arguments);
  va_end(arguments);
  return status;
}

#endif
