/* Budget: the memory that a pool will need, and what there is. */
#ifndef PP_POOL_BUDGET_H
#define PP_POOL_BUDGET_H

#include "pool.h"

/* Refuses a pool whose environments and blocks of results are more than the machine's memory, so
 * that it fails at once, by an exception, and not later by the system's ending of the process.
 * Fleet and layout are described, and nothing is allocated yet. */
int pp_budget_check(const pp_pool *pool, const pp_pool_options *options, pp_error *error);

#endif
