/* Padding: rows of any shape end up where they belong in wider rows, with zeros around them. */
#include <stdlib.h>

#include "check.h"
#include "native/padding.h"
#include "pool/field.h"

enum { MAX_ROWS = 4, MAX_SIDE = 4 };

/* Returns the place of an element of the field in the wider one: digits of one number in the mixed
 * radix of each. */
static int64_t wide_place(const pp_field *field, const pp_field *wide, int64_t at) {
  int64_t place = 0, step = 1;
  for (int32_t axis = field->ndim - 1; axis >= 0; axis--) {
    place += at % field->shape[axis] * step;
    at /= field->shape[axis];
    step *= wide->shape[axis];
  }
  return place;
}

/* spreads rows in memory of the exact size, and compares them with rows that are written at once */
static void compare(const pp_field *field, const pp_field *wide, int32_t rows) {
  int64_t own = pp_field_elements(field, 1), all = pp_field_elements(wide, 1);
  int32_t *found = malloc(sizeof(*found) * (size_t)(all * rows));
  int32_t *wanted = calloc((size_t)(all * rows), sizeof(*wanted));
  pp_padding padding;
  REQUIRE(found && wanted);
  memset(found, 0xff, sizeof(*found) * (size_t)(all * rows));
  for (int64_t i = 0; i < own * rows; i++) {
    found[i] = (int32_t)i + 1;
    wanted[i / own * all + wide_place(field, wide, i % own)] = (int32_t)i + 1;
  }
  pp_padding_init(&padding, field, wide);
  pp_padding_spread(&padding, found, rows);
  CHECK(memcmp(found, wanted, sizeof(*found) * (size_t)(all * rows)) == 0);
  free(found);
  free(wanted);
}

TEST(rows_of_every_small_shape_are_spread) {
  pp_field field = {.name = "obs", .dtype = PP_INT32}, wide = field;
  for (int32_t ndim = 0; ndim <= 3; ndim++) {
    // the sides of both shapes are the digits of one number
    int32_t shapes = 1;
    for (int32_t axis = 0; axis < 2 * ndim; axis++) shapes *= MAX_SIDE;
    field.ndim = wide.ndim = ndim;
    for (int32_t shape = 0; shape < shapes; shape++) {
      int32_t digits = shape;
      for (int32_t axis = 0; axis < ndim; axis++, digits /= MAX_SIDE * MAX_SIDE) {
        field.shape[axis] = 1 + digits % MAX_SIDE;
        wide.shape[axis] = field.shape[axis] + digits / MAX_SIDE % MAX_SIDE;
      }
      for (int32_t rows = 1; rows <= MAX_ROWS; rows += 3) compare(&field, &wide, rows);
    }
  }
}

TEST(an_empty_field_is_zeros) {
  pp_field field = {.name = "info", .dtype = PP_INT32, .ndim = 1, .shape = {0}}, wide = field;
  wide.shape[0] = 3;
  compare(&field, &wide, 2);
}
