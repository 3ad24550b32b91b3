/* Field: the size of dtypes and of the fields that have them. */
#include "field.h"

int64_t pp_dtype_size(int32_t dtype) {
  static const int64_t sizes[PP_NUM_DTYPES] = {1, 1, 4, 8, 4, 8, 1};
  return dtype >= 0 && dtype < PP_NUM_DTYPES ? sizes[dtype] : 0;
}

bool pp_dtype_is_float(int32_t dtype) {
  return dtype == PP_FLOAT32 || dtype == PP_FLOAT64;
}

int64_t pp_field_elements(const pp_field *field, int32_t num_players) {
  int64_t count = field->per_player ? num_players : 1;
  for (int32_t axis = 0; axis < field->ndim; axis++) count *= field->shape[axis];
  return count;
}
