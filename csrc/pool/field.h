/* Field: the size of dtypes and of the fields that have them, and whether two are equal. */
#ifndef PP_POOL_FIELD_H
#define PP_POOL_FIELD_H

#include <stdbool.h>

#include "pp_env.h"

/* Returns the bytes of one element, or 0 if this is not a pp_dtype. */
int64_t pp_dtype_size(int32_t dtype);

/* Returns whether this is a dtype of floating-point numbers. */
bool pp_dtype_is_float(int32_t dtype);

/* Returns the elements of a field in one row, all players together. */
int64_t pp_field_elements(const pp_field *field, int32_t num_players);

/* Returns whether two fields have the same name, place and space. */
bool pp_field_equal(const pp_field *a, const pp_field *b, int32_t num_players);

#endif
