/* Registry: opening definitions, configuring them, and keeping their option values. */
#ifndef PP_POOL_REGISTRY_H
#define PP_POOL_REGISTRY_H

#include "pp_pool.h"

/* makes value the option's default */
void pp_value_default(pp_value *value, const pp_option *option);

/* one block with the values and every text and byte string in them, defaults filled in; free() it;
 * null: no memory */
pp_value *pp_values_copy(const pp_option *options, int32_t count, const pp_value *values);

#endif
