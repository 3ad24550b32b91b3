/* Create: checks the options of a pool, and makes what both kinds of pools have. */
#ifndef PP_POOL_CREATE_H
#define PP_POOL_CREATE_H

#include "pool.h"

/* Checks what both kinds of pools ask of the arguments of a create call, and sets *out to null.
 * source: the definition or configuration. */
int pp_pool_check_options(const void *source, const pp_pool_options *options, pp_pool **out,
                          pp_error *error);

/* Returns a pool with these lanes and nothing else, null if there is no memory. pp_pool_destroy
 * frees it, and all that is made later. */
pp_pool *pp_pool_make(const pp_lane_ops *ops, const char *topology_root);

/* Allocates the pool's arrays and its ring. Returns PP_OK or PP_ERR_MEMORY. */
int pp_pool_make_records(pp_pool *pool, const pp_pool_options *options);

#endif
