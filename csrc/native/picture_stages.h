/* Picture stages: what is made of a picture before it is observed, gray or of another size. */
#ifndef PP_NATIVE_PICTURE_STAGES_H
#define PP_NATIVE_PICTURE_STAGES_H

#include <stddef.h>

#include "base/resize.h"
#include "pp_pool.h"

/* height x width pixels, side by side; colors: bytes of a pixel, 0: one, without an axis */
typedef struct pp_picture_shape {
  int32_t height;
  int32_t width;
  int32_t colors;
} pp_picture_shape;

typedef struct pp_picture_stages {
  int32_t count;
  int32_t kinds[PP_MAX_STAGES];
  pp_picture_shape shapes[PP_MAX_STAGES + 1]; /* shape of the picture, and of each result */
  pp_resize *plans[PP_MAX_STAGES];            /* null: the stage needs none */
} pp_picture_stages;

size_t pp_picture_bytes(pp_picture_shape shape);

/* Checks the stages and plans them for pictures of a shape. Returns PP_OK, PP_ERR_ARGUMENT if one
 * can't take what it gets, or PP_ERR_MEMORY. On failure there is nothing to free. */
int pp_picture_stages_init(pp_picture_stages *stages, const pp_picture_options *options,
                           pp_picture_shape shape, pp_error *error);

void pp_picture_stages_fini(pp_picture_stages *stages);

/* Returns the bytes that a run needs besides the picture and what it makes. */
size_t pp_picture_stages_scratch(const pp_picture_stages *stages);

/* Runs the stages, at least one, on a picture. */
void pp_picture_stages_run(const pp_picture_stages *stages, const uint8_t *picture,
                           uint8_t *scratch, uint8_t *out);

/* Returns the shape of what the stages make. */
static inline pp_picture_shape pp_picture_stages_result(const pp_picture_stages *stages) {
  return stages->shapes[stages->count];
}

#endif
