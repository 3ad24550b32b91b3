/* Budget: compares the memory that a pool will need with the memory that the process may use. */
#ifndef PP_POOL_BUDGET_H
#define PP_POOL_BUDGET_H

#include "pool.h"

/* Returns PP_ERR_MEMORY if the environments (states: their bytes) and result blocks of a pool need
 * more memory than this process may use. Without this check the system would kill the process
 * later, when the memory is touched. To be called once the layout is known, before anything is
 * allocated. */
int pp_budget_check(const pp_pool *pool, const pp_pool_options *options, double states,
                    pp_error *error);

#endif
