/* Pictures: what becomes of the pictures that the environments of a pool show, and the last frames
 * of each environment.
 *
 * An environment has an index of its oldest frame, a ring of frames, the picture that it writes,
 * and room for the stages. Without stages the picture is written straight into the ring. */
#include "pictures.h"

#include <stdlib.h>
#include <string.h>

#include "base/frame_stack.h"
#include "os/os.h"
#include "pool/error.h"

enum { LINE = 64 /* bytes of a cache line, on which each part starts */ };

/* ------------------------------------------------------------------------------------ sizes -- */

static size_t lines(size_t bytes) {
  return (bytes + LINE - 1) / LINE * LINE;
}

static size_t ring_bytes(const pp_pictures *pictures) {
  return pictures->frame_bytes * (size_t)pictures->num_frames;
}

/* returns the bytes of the picture that an environment writes, unless that is a frame */
static size_t written_bytes(const pp_pictures *pictures) {
  return pictures->stages.count ? pp_picture_bytes(pictures->stages.shapes[0]) : 0;
}

/* ------------------------------------------------------------------------------ description -- */

static bool is_picture(const pp_config *config) {
  const pp_field *field = &config->fields[0];
  for (int32_t i = 1; i < config->num_fields; i++) {
    if (!config->fields[i].is_info) return false;
  }
  return config->num_fields && !field->is_info && !field->per_player && field->dtype == PP_UINT8 &&
         field->space == PP_BOX && (field->ndim == 2 || field->ndim == 3) && !field->lows &&
         !field->highs && field->low == 0 && field->high == 255;
}

/* returns the shape of a picture whose sides are in range */
static int read_shape(const pp_config *config, pp_picture_shape *shape, pp_error *error) {
  const pp_field *field = &config->fields[0];
  const int64_t max_side = 1 << 14;
  if (!is_picture(config)) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "the observation is no picture, a single uint8 array from 0 to 255 of "
                        "shape (height, width) or (height, width, colors)");
  }
  for (int32_t i = 0; i < field->ndim; i++) {
    if (field->shape[i] >= 1 && field->shape[i] <= max_side) continue;
    return pp_error_set(error, PP_ERR_ARGUMENT, "a side of the picture has %lld pixels: 1 to %lld",
                        (long long)field->shape[i], (long long)max_side);
  }
  *shape = (pp_picture_shape){(int32_t)field->shape[0], (int32_t)field->shape[1],
                              field->ndim == 3 ? (int32_t)field->shape[2] : 0};
  return PP_OK;
}

/* changes the observation's shape into that of stacked frames */
static void set_shape(pp_field *field, pp_picture_shape shape, int32_t stack) {
  int32_t axis = 0;
  if (stack) field->shape[axis++] = stack;
  field->shape[axis++] = shape.height;
  field->shape[axis++] = shape.width;
  if (shape.colors) field->shape[axis++] = shape.colors;
  field->ndim = axis;
}

int pp_pictures_init(pp_pictures *pictures, const pp_picture_options *options, pp_config *config,
                     pp_error *error) {
  pp_picture_shape shape;
  int status;

  memset(pictures, 0, sizeof(*pictures));
  if (!options) return PP_OK;
  if (options->stack < 0 || options->stack > PP_MAX_FRAMES || options->padding < PP_PAD_RESET ||
      options->padding > PP_PAD_ZERO) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "stack=%d, padding=%d: choose 0 to %d frames, and a pp_frame_padding",
                        options->stack, options->padding, PP_MAX_FRAMES);
  }
  status = read_shape(config, &shape, error);
  if (status >= 0) status = pp_picture_stages_init(&pictures->stages, options, shape, error);
  if (status < 0) return status;
  pictures->options = *options;
  pictures->num_frames = options->stack ? options->stack : 1;
  shape = pp_picture_stages_result(&pictures->stages);
  pictures->frame_bytes = pp_picture_bytes(shape);
  set_shape(&config->fields[0], shape, options->stack);
  pictures->stride = LINE + lines(ring_bytes(pictures)) + lines(written_bytes(pictures)) +
                     lines(pp_picture_stages_scratch(&pictures->stages));
  return PP_OK;
}

int pp_pictures_describe(const pp_picture_options *options, pp_config *config, pp_error *error) {
  pp_pictures described;
  int status = pp_pictures_init(&described, options, config, error);
  if (status >= 0) pp_pictures_fini(&described);
  return status;
}

int pp_pictures_convert(const pp_picture_options *options, const uint8_t *picture, int32_t height,
                        int32_t width, int32_t colors, uint8_t *out, pp_error *error) {
  const pp_picture_shape shape = {height, width, colors};
  pp_picture_stages stages;
  int status;
  if (!options || !picture || !out || height < 1 || width < 1 || colors < 0) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "options, picture or out is null, or height=%d, width=%d, colors=%d",
                        height, width, colors);
  }
  status = pp_picture_stages_init(&stages, options, shape, error);
  if (status < 0) return status;
  uint8_t *scratch = malloc(pp_picture_stages_scratch(&stages) + 1);
  if (!scratch) {
    status = pp_error_set(error, PP_ERR_MEMORY, "no memory for a picture");
  } else if (stages.count) {
    pp_picture_stages_run(&stages, picture, scratch, out);
  } else {
    memcpy(out, picture, pp_picture_bytes(stages.shapes[0]));
  }
  free(scratch);
  pp_picture_stages_fini(&stages);
  return status;
}

/* ----------------------------------------------------------------------------------- memory -- */

int pp_pictures_make(pp_pictures *pictures, int32_t num_envs) {
  if (!pictures->num_frames) return PP_OK;
  pictures->size = pictures->stride * (size_t)num_envs;
  pictures->memory = pp_os_pages_alloc(pictures->size);
  return pictures->memory ? PP_OK : PP_ERR_MEMORY;
}

void pp_pictures_fini(pp_pictures *pictures) {
  pp_os_pages_free(pictures->memory, pictures->size);
  pp_picture_stages_fini(&pictures->stages);
  memset(pictures, 0, sizeof(*pictures));
}

static char *memory_of(const pp_pictures *pictures, int32_t env_id) {
  return pictures->memory + pictures->stride * (size_t)env_id;
}

static pp_stack stack_of(const pp_pictures *pictures, int32_t env_id) {
  char *memory = memory_of(pictures, env_id);
  return (pp_stack){(uint8_t *)memory + LINE, (int32_t *)(void *)memory, pictures->num_frames,
                    pictures->frame_bytes};
}

/* ----------------------------------------------------------------------------------- frames -- */

void *pp_pictures_target(const pp_pictures *pictures, int32_t env_id) {
  if (!pictures->stages.count) return pp_stack_oldest(stack_of(pictures, env_id));
  return memory_of(pictures, env_id) + LINE + lines(ring_bytes(pictures));
}

/* fills the stack of an episode that has one frame */
static void pad(const pp_pictures *pictures, pp_stack stack) {
  for (int32_t i = 1; i < stack.count; i++) {
    if (pictures->options.padding == PP_PAD_RESET) {
      pp_stack_push_again(stack);
    } else {
      memset(stack.frames + stack.frame_bytes * (size_t)((*stack.oldest + i - 1) % stack.count), 0,
             stack.frame_bytes);
    }
  }
}

void pp_pictures_take(pp_pictures *pictures, int32_t env_id, bool is_reset) {
  uint8_t *picture = pp_pictures_target(pictures, env_id);
  pp_stack stack = stack_of(pictures, env_id);
  uint8_t *frame = pp_stack_push(stack);
  if (pictures->stages.count) {
    uint8_t *scratch = picture + lines(written_bytes(pictures));
    pp_picture_stages_run(&pictures->stages, picture, scratch, frame);
  }
  if (is_reset) pad(pictures, stack);
}

void pp_pictures_show(const pp_pictures *pictures, int32_t env_id, void *row) {
  pp_stack_copy(stack_of(pictures, env_id), row);
}

/* -------------------------------------------------------------------------------- snapshots -- */

size_t pp_pictures_saved_size(const pp_pictures *pictures) {
  return ring_bytes(pictures);
}

void pp_pictures_save(const pp_pictures *pictures, int32_t env_id, char *bytes) {
  if (pictures->num_frames) pp_pictures_show(pictures, env_id, bytes);
}

void pp_pictures_load(pp_pictures *pictures, int32_t env_id, const char *bytes) {
  if (!pictures->num_frames) return;
  pp_stack stack = stack_of(pictures, env_id);
  *stack.oldest = 0;
  memcpy(stack.frames, bytes, ring_bytes(pictures));
}
