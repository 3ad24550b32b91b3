/* Error texts: how the engine says what went wrong. */
#ifndef PP_POOL_ERROR_H
#define PP_POOL_ERROR_H

#include "pp_pool.h"

/* fills in error (null is fine) and returns status, so that `return pp_error_set(...)` reads well
 */
__attribute__((format(printf, 3, 4))) int pp_error_set(pp_error *error, int status,
                                                       const char *format, ...);

#endif
