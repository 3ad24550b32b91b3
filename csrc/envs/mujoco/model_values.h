/* Model values: what environments change in the model, without a model for each of them.
 *
 * A workspace has a model of its own. An environment keeps the values of its model that can differ
 * from the file's: parts of mjModel, some 20 KB without meshes and textures. Before a step they are
 * copied into the workspace's model; but only lines of 64 bytes that differ from the file's in some
 * environment of the pool, which are a few. */
#ifndef PP_ENVS_MUJOCO_MODEL_VALUES_H
#define PP_ENVS_MUJOCO_MODEL_VALUES_H

#include <stdatomic.h>

#include "library.h"

/* a part of mjModel that environments may change */
typedef struct mujoco_segment {
  int64_t place;  /* offset in bytes of the values, or of the pointer to them */
  bool is_inline; /* the values themselves are there */
  int64_t size;   /* bytes */
} mujoco_segment;

typedef struct mujoco_line {
  int32_t segment;
  int32_t size; /* bytes, at most MUJOCO_LINE */
  int64_t at;   /* in the segment */
} mujoco_line;

enum { MUJOCO_LINE = 64 };

typedef struct mujoco_model_values {
  const mjModel *file; /* the pool's model, which nobody changes */
  mujoco_segment *segments;
  mujoco_line *lines; /* of all segments */
  int32_t num_segments;
  int32_t num_lines;
  /* One bit for each line: it differs from the file's in some environment. Bits are set by the
   * thread that resets an environment, and read by all threads, relaxed: who sees an environment or
   * a workspace also sees the bits of what it has changed, since both are passed on with release
   * and acquire. */
  _Atomic uint64_t *changed;
} mujoco_model_values;

/* Reads the segments of the link, and adds those of the layout. it is zeroed, and needs fini even
 * if init fails. */
int mujoco_model_values_init(mujoco_model_values *it, const pp_value *link,
                             const pp_robot_layout *layout, const mjModel *file, pp_error *error);
void mujoco_model_values_fini(mujoco_model_values *it);

/* bytes that an environment keeps */
size_t mujoco_model_values_size(const mujoco_model_values *it);

/* gives a workspace's model the file's values */
void mujoco_model_values_clear(const mujoco_model_values *it, mjModel *model);

/* Keeps the values of a workspace's model, which an environment has written. */
void mujoco_model_values_keep(mujoco_model_values *it, const mjModel *model, void *kept);

/* gives a workspace's model the values that an environment has kept */
void mujoco_model_values_apply(const mujoco_model_values *it, const void *kept, mjModel *model);

#endif
