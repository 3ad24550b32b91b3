/* Cameras: MuJoCo's renderer in the threads that step, for observations that are pictures.
 *
 * A thread takes a camera, which has an OpenGL context of its own, and draws with it. EGL's objects
 * and functions, and the model with its textures, come from Python through the link. */
#ifndef PP_ENVS_MUJOCO_SUITE_CAMERA_H
#define PP_ENVS_MUJOCO_SUITE_CAMERA_H

#include "../library.h"
#include "base/idle.h"

/* MuJoCo's mjrRect */
typedef struct suite_rectangle {
  int left;
  int bottom;
  int width;
  int height;
} suite_rectangle;

/* EGL's and MuJoCo's functions, under their own names. Handles of EGL are pointers. */
typedef struct suite_opengl {
  unsigned (*eglBindAPI)(unsigned api);
  void *(*eglCreateContext)(void *display, void *config, void *shared, const int32_t *attributes);
  unsigned (*eglDestroyContext)(void *display, void *context);
  unsigned (*eglMakeCurrent)(void *display, void *draw, void *read, void *context);
  void *(*eglGetCurrentContext)(void);
  void *(*eglGetCurrentDisplay)(void);
  void *(*eglGetCurrentSurface)(int32_t which);
  void (*mjv_defaultOption)(void *option);
  void (*mjv_defaultPerturb)(void *perturb);
  void (*mjv_defaultCamera)(void *camera);
  void (*mjv_defaultFreeCamera)(const mjModel *model, void *camera);
  void (*mjv_defaultScene)(void *scene);
  void (*mjv_makeScene)(const mjModel *model, void *scene, int most_shapes);
  void (*mjv_freeScene)(void *scene);
  void (*mjv_updateScene)(const mjModel *model, mjData *data, const void *option,
                          const void *perturb, void *camera, int categories, void *scene);
  void (*mjr_defaultContext)(void *context);
  void (*mjr_makeContext)(const mjModel *model, void *context, int font_scale);
  void (*mjr_freeContext)(void *context);
  void (*mjr_setBuffer)(int buffer, void *context);
  void (*mjr_render)(suite_rectangle viewport, void *scene, const void *context);
  void (*mjr_readPixels)(unsigned char *rgb, float *depth, suite_rectangle viewport,
                         const void *context);
} suite_opengl;

/* Only read once the pool is made, except for the idle cameras. */
typedef struct suite_cameras {
  const mujoco_library *library;
  suite_opengl opengl;
  void *display;
  void *config;
  const mjModel *model; /* Python's, with textures */
  int32_t width;
  int32_t height;
  int32_t camera_id; /* -1: the free camera */
  pp_idle idle;
} suite_cameras;

/* Reads the link. it is zeroed, and needs fini even if init fails. */
int suite_cameras_init(suite_cameras *it, const pp_value *link, const mujoco_library *library,
                       pp_error *error);
void suite_cameras_fini(suite_cameras *it);

/* Draws an mjData, 3 x height x width bytes, the highest row first. Must not be called within
 * mujoco_call. */
int suite_cameras_draw(suite_cameras *it, mjData *data, uint8_t *pixels, pp_error *error);

#endif
