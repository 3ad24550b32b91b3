/* Error: fills in pp_error, and names statuses. */
#ifndef PP_POOL_ERROR_H
#define PP_POOL_ERROR_H

#include "pp_pool.h"

/* Fills in error, unless it is null. Returns status, so that callers can write
 * `return pp_error_set(...)`. */
__attribute__((format(printf, 3, 4))) int pp_error_set(pp_error *error, int status,
                                                       const char *format, ...);

/* Ends the text that a callback wrote before it returned status. If it wrote none, the text becomes
 * one that names the callback and the status. */
void pp_error_explain(pp_error *error, const char *callback, int status);

#endif
