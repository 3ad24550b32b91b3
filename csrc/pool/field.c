/* Field: the size of dtypes and of the fields that have them, and whether two are equal. */
#include "field.h"

#include <string.h>

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

static bool has_same_numbers(const double *a, const double *b, int64_t count) {
  return !a == !b && (!a || memcmp(a, b, sizeof(*a) * (size_t)count) == 0);
}

static bool has_same_integers(const int64_t *a, const int64_t *b, int64_t count) {
  return !a == !b && (!a || memcmp(a, b, sizeof(*a) * (size_t)count) == 0);
}

bool pp_field_equal(const pp_field *a, const pp_field *b, int32_t num_players) {
  int64_t elements = pp_field_elements(a, 1);
  return strcmp(a->name, b->name) == 0 && a->is_info == b->is_info && a->when == b->when &&
         a->dtype == b->dtype && a->space == b->space && a->per_player == b->per_player &&
         a->ndim == b->ndim &&
         memcmp(a->shape, b->shape, sizeof(a->shape[0]) * (size_t)a->ndim) == 0 &&
         a->low == b->low && a->high == b->high && a->n == b->n && a->follows == b->follows &&
         a->factor == b->factor && a->text == b->text &&
         has_same_numbers(a->lows, b->lows, elements) &&
         has_same_numbers(a->highs, b->highs, elements) &&
         has_same_integers(a->nvec, b->nvec, elements) &&
         has_same_integers(a->player_sizes, b->player_sizes, num_players);
}
