/* Padding: moves rows of a field into the larger rows of a wider one, in place. */
#ifndef PP_NATIVE_PADDING_H
#define PP_NATIVE_PADDING_H

#include "pp_env.h"

/* How a field lies in a wider one with as many axes: lines of elements that follow each other in
 * both, and zeros after them. */
typedef struct pp_padding {
  size_t line;      /* bytes of a line of the field; the same as wide_line: nothing is padded */
  size_t wide_line; /* bytes of a line of the wider field */
  int32_t num_axes; /* the axes above a line, without rows */
  int64_t shape[PP_MAX_NDIM];      /* lengths of these axes in the field */
  int64_t wide_shape[PP_MAX_NDIM]; /* lengths of these axes in the wider field */
} pp_padding;

/* wide has the axes of field, each at least as long. */
void pp_padding_init(pp_padding *padding, const pp_field *field, const pp_field *wide);

/* Spreads count rows of the field, which lie at the beginning of memory for as many rows of the
 * wider one. */
void pp_padding_spread(const pp_padding *padding, void *rows, int32_t count);

#endif
