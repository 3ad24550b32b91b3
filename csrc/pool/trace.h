/* Trace: starts, reads and stops the tracks of a pool. */
#ifndef PP_POOL_TRACE_H
#define PP_POOL_TRACE_H

#include "pp_pool.h"

/* Frees the tracks of a pool whose threads have ended. */
void pp_trace_fini(pp_pool *pool);

#endif
