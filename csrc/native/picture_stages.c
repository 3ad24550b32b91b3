/* Picture stages: what is made of a picture before it is observed, gray or of another size.
 *
 * The results are those of gymnasium 1.4.0 with NumPy and OpenCV, bit by bit. */
#include "picture_stages.h"

#include <string.h>

#include "pool/error.h"

enum { RGB = 3 };

_Static_assert((int)PP_MAX_PICTURE_SIDE == (int)PP_RESIZE_MAX_SIDE, "one limit of sides");

size_t pp_picture_bytes(pp_picture_shape shape) {
  return (size_t)shape.height * (size_t)shape.width * (size_t)(shape.colors ? shape.colors : 1);
}

/* ---------------------------------------------------------------------------------- making -- */

static int make_gray(pp_picture_stages *stages, int32_t i, pp_error *error) {
  pp_picture_shape from = stages->shapes[i], to = from;
  if (from.colors != RGB) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "gray is made of red, green and blue, and a pixel has %d values",
                        from.colors ? from.colors : 1);
  }
  to.colors = stages->kinds[i] == PP_STAGE_GRAY_AXIS;
  stages->shapes[i + 1] = to;
  return PP_OK;
}

static int make_resize(pp_picture_stages *stages, int32_t i, const pp_stage *wanted,
                       pp_error *error) {
  pp_picture_shape from = stages->shapes[i], to = {wanted->height, wanted->width, from.colors};
  if (from.colors > 1 && from.colors != RGB) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "a picture with %d values of a pixel can't be resized: 1 and 3 can",
                        from.colors);
  }
  if (from.height > PP_RESIZE_MAX_SOURCE || from.width > PP_RESIZE_MAX_SOURCE || to.height < 1 ||
      to.width < 1 || to.height > PP_MAX_PICTURE_SIDE || to.width > PP_MAX_PICTURE_SIDE) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "%d x %d pixels can't be resized to %d x %d: sides have 1 to %d pixels, "
                        "and then 1 to %d",
                        from.height, from.width, to.height, to.width, PP_RESIZE_MAX_SOURCE,
                        PP_MAX_PICTURE_SIDE);
  }
  stages->plans[i] =
      pp_resize_create(from.height, from.width, to.height, to.width, true, pp_isa_best());
  stages->shapes[i + 1] = to;
  return stages->plans[i]
             ? PP_OK
             : pp_error_set(error, PP_ERR_MEMORY, "no memory for the plan of a resize");
}

int pp_picture_stages_init(pp_picture_stages *stages, const pp_picture_options *options,
                           pp_picture_shape shape, pp_error *error) {
  int status = PP_OK;
  memset(stages, 0, sizeof(*stages));
  if (options->num_stages < 0 || options->num_stages > PP_MAX_STAGES) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "num_stages=%d: choose 0 to %d",
                        options->num_stages, PP_MAX_STAGES);
  }
  stages->shapes[0] = shape;
  for (; status >= 0 && stages->count < options->num_stages; stages->count++) {
    int32_t i = stages->count;
    stages->kinds[i] = options->stages[i].kind;
    switch (stages->kinds[i]) {
      case PP_STAGE_GRAY:
      case PP_STAGE_GRAY_AXIS: status = make_gray(stages, i, error); break;
      case PP_STAGE_RESIZE: status = make_resize(stages, i, &options->stages[i], error); break;
      default:
        status = pp_error_set(error, PP_ERR_ARGUMENT,
                              "the kind %d of a stage: choose a "
                              "pp_stage_kind",
                              stages->kinds[i]);
    }
  }
  if (status < 0) pp_picture_stages_fini(stages);
  return status;
}

void pp_picture_stages_fini(pp_picture_stages *stages) {
  for (int32_t i = 0; i < PP_MAX_STAGES; i++) pp_resize_destroy(stages->plans[i]);
  memset(stages, 0, sizeof(*stages));
}

/* --------------------------------------------------------------------------------- running -- */

/* NumPy's sum of three products in float64, without its fraction: GrayscaleObservation. */
static void run_gray(const uint8_t *picture, size_t pixels, uint8_t *out) {
  for (size_t i = 0; i < pixels; i++, picture += RGB) {
    double sum = picture[0] * 0.2125 + picture[1] * 0.7154;
    out[i] = (uint8_t)(sum + picture[2] * 0.0721);
  }
}

/* Resizes each color by itself: OpenCV's sums of one color do not depend on the others. */
static void run_resize_colors(const pp_resize *plan, const uint8_t *picture, size_t pixels,
                              size_t pixels_out, uint8_t *scratch, uint8_t *out) {
  uint8_t *plane = scratch, *resized = scratch + pixels;
  for (size_t color = 0; color < RGB; color++) {
    for (size_t i = 0; i < pixels; i++) plane[i] = picture[RGB * i + color];
    pp_resize_apply(plan, plane, NULL, NULL, resized);
    for (size_t i = 0; i < pixels_out; i++) out[RGB * i + color] = resized[i];
  }
}

static size_t pixels_of(pp_picture_shape shape) {
  return (size_t)shape.height * (size_t)shape.width;
}

/* returns the bytes of a plane of one color, before and after any stage */
static size_t planes_bytes(const pp_picture_stages *stages) {
  size_t largest = 0;
  for (int32_t i = 0; i < stages->count; i++) {
    size_t both = pixels_of(stages->shapes[i]) + pixels_of(stages->shapes[i + 1]);
    if (stages->plans[i] && stages->shapes[i].colors == RGB && both > largest) largest = both;
  }
  return largest;
}

/* returns the bytes of the largest picture between two stages */
static size_t between_bytes(const pp_picture_stages *stages) {
  size_t largest = 0;
  for (int32_t i = 1; i < stages->count; i++) {
    size_t bytes = pp_picture_bytes(stages->shapes[i]);
    if (bytes > largest) largest = bytes;
  }
  return largest;
}

size_t pp_picture_stages_scratch(const pp_picture_stages *stages) {
  return planes_bytes(stages) + 2 * between_bytes(stages);
}

void pp_picture_stages_run(const pp_picture_stages *stages, const uint8_t *picture,
                           uint8_t *scratch, uint8_t *out) {
  uint8_t *between = scratch + planes_bytes(stages);
  size_t room = between_bytes(stages);
  for (int32_t i = 0; i < stages->count; i++) {
    pp_picture_shape from = stages->shapes[i], to = stages->shapes[i + 1];
    uint8_t *made = i + 1 < stages->count ? between + room * (size_t)(i % 2) : out;
    if (!stages->plans[i]) {
      run_gray(picture, pixels_of(from), made);
    } else if (from.colors == RGB) {
      run_resize_colors(stages->plans[i], picture, pixels_of(from), pixels_of(to), scratch, made);
    } else {
      pp_resize_apply(stages->plans[i], picture, NULL, NULL, made);
    }
    picture = made;
  }
}
