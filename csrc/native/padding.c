/* Padding: moves rows of a field into the larger rows of a wider one, in place. */
#include "padding.h"

#include <stdbool.h>
#include <string.h>

#include "pool/field.h"

void pp_padding_init(pp_padding *padding, const pp_field *field, const pp_field *wide) {
  int32_t axes = field->ndim;
  size_t size = (size_t)pp_dtype_size(field->dtype);
  memset(padding, 0, sizeof(*padding));
  // axes that are equal up to the last are part of a line, and so is the one before them
  while (axes > 0 && field->shape[axes - 1] == wide->shape[axes - 1]) {
    size *= (size_t)field->shape[--axes];
  }
  padding->line = padding->wide_line = size;
  if (!axes) return;
  axes--;
  padding->line = size * (size_t)field->shape[axes];
  padding->wide_line = size * (size_t)wide->shape[axes];
  padding->num_axes = axes;
  memcpy(padding->shape, field->shape, sizeof(field->shape[0]) * (size_t)axes);
  memcpy(padding->wide_shape, wide->shape, sizeof(wide->shape[0]) * (size_t)axes);
}

/* Returns the number of the field's line that belongs at a line of the wider one, -1 if none. */
static int64_t line_of(const pp_padding *padding, int64_t at) {
  int64_t line = 0, step = 1;
  for (int32_t axis = padding->num_axes - 1; axis >= 0; axis--) {
    int64_t index = at % padding->wide_shape[axis];
    if (index >= padding->shape[axis]) return -1;
    at /= padding->wide_shape[axis];
    line += index * step;
    step *= padding->shape[axis];
  }
  // what is left is the number of the row
  return line + at * step;
}

void pp_padding_spread(const pp_padding *padding, void *rows, int32_t count) {
  int64_t lines = count;
  if (padding->line == padding->wide_line) return;
  for (int32_t axis = 0; axis < padding->num_axes; axis++) lines *= padding->wide_shape[axis];
  // from the last line on: none is written before what lies there has been moved
  for (int64_t at = lines - 1; at >= 0; at--) {
    char *to = (char *)rows + padding->wide_line * (size_t)at;
    int64_t line = line_of(padding, at);
    size_t used = line < 0 ? 0 : padding->line;
    if (line > 0) memmove(to, (char *)rows + padding->line * (size_t)line, used);
    memset(to + used, 0, padding->wide_line - used);
  }
}
