/* Values: copies of option values, with defaults filled in. */
#ifndef PP_NATIVE_VALUES_H
#define PP_NATIVE_VALUES_H

#include "pp_pool.h"

/* Sets value to the option's default. */
void pp_value_default(pp_value *value, const pp_option *option);

/* Returns one block with the values and with every text and byte string in them, defaults filled
 * in; values may be null. The caller passes it to free(). Null if there is no memory. */
pp_value *pp_values_copy(const pp_option *options, int32_t count, const pp_value *values);

#endif
