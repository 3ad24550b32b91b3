/* Cameras: make OpenGL contexts, hand them to threads, and draw. */
#include "camera.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* EGL's and MuJoCo's constants, the same in all versions */
enum {
  OPENGL_API = 0x30A2,
  DRAW = 0x3059,
  READ = 0x305A,
  FIXED_CAMERA = 2,
  OFFSCREEN = 1,
  ALL_CATEGORIES = 7,
  FONT_SCALE = 150,
  MOST_SHAPES = 1000,
};

/* Bytes for one of MuJoCo's structs, whose sizes only its headers say: the largest of 3.1 to 4.0
 * has 61512. Their last quarter is a guard. */
enum { ROOM = 1 << 18, GUARDED = ROOM / 4, GUARD = 0xA5 };

/* the first members of MuJoCo's mjvCamera */
typedef struct camera_head {
  int type;
  int fixed_id;
} camera_head;

/* one camera */
typedef struct suite_camera {
  void *context; /* EGL's */
  bool has_scene;
  bool has_renderer;
  uint8_t *pixels; /* height x width x 3, the lowest row first */
  char view[1024]; /* an mjvCamera, and so on */
  char option[1024];
  char perturb[1024];
  char *scene;
  char *renderer;
} suite_camera;

/* what a thread had current */
typedef struct current {
  void *display;
  void *context;
  void *draw;
  void *read;
} current;

/* ------------------------------------------------------------------------------------- link -- */

#define NAMED(name) {#name, offsetof(suite_opengl, name)}

static const struct {
  const char *name;
  size_t offset;
} functions[] = {
    NAMED(eglBindAPI),
    NAMED(eglCreateContext),
    NAMED(eglDestroyContext),
    NAMED(eglMakeCurrent),
    NAMED(eglGetCurrentContext),
    NAMED(eglGetCurrentDisplay),
    NAMED(eglGetCurrentSurface),
    NAMED(mjv_defaultOption),
    NAMED(mjv_defaultPerturb),
    NAMED(mjv_defaultCamera),
    NAMED(mjv_defaultFreeCamera),
    NAMED(mjv_defaultScene),
    NAMED(mjv_makeScene),
    NAMED(mjv_freeScene),
    NAMED(mjv_updateScene),
    NAMED(mjr_defaultContext),
    NAMED(mjr_makeContext),
    NAMED(mjr_freeContext),
    NAMED(mjr_setBuffer),
    NAMED(mjr_render),
    NAMED(mjr_readPixels),
};

int suite_cameras_init(suite_cameras *it, const pp_value *link, const mujoco_library *library,
                       pp_error *error) {
  int64_t address = 0;
  int status = PP_OK;

  it->library = library;
  for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
    status = mujoco_link_number(link, functions[i].name, &address, error);
    if (status < 0) return status;
    memcpy((char *)&it->opengl + functions[i].offset, &address, sizeof(address));
  }
  status = mujoco_link_number(link, "egl_display", &address, error);
  it->display = (void *)(uintptr_t)address;
  if (status >= 0) status = mujoco_link_number(link, "egl_config", &address, error);
  it->config = (void *)(uintptr_t)address;
  if (status >= 0) status = mujoco_link_number(link, "picture_model", &address, error);
  it->model = (const mjModel *)(uintptr_t)address;
  return status;
}

/* ------------------------------------------------------------------------------- one camera -- */

static current get_current(const suite_opengl *opengl) {
  return (current){.display = opengl->eglGetCurrentDisplay(),
                   .context = opengl->eglGetCurrentContext(),
                   .draw = opengl->eglGetCurrentSurface(DRAW),
                   .read = opengl->eglGetCurrentSurface(READ)};
}

static void restore(const suite_cameras *it, const current *before) {
  if (before->context) {
    it->opengl.eglMakeCurrent(before->display, before->draw, before->read, before->context);
  } else {
    it->opengl.eglMakeCurrent(it->display, NULL, NULL, NULL);
  }
}

/* one call of make or draw */
typedef struct request {
  suite_cameras *all;
  suite_camera *camera;
  mjData *data;
} request;

static void make(void *argument) {
  const request *it = argument;
  const suite_opengl *opengl = &it->all->opengl;
  suite_camera *camera = it->camera;

  opengl->mjv_defaultOption(camera->option);
  opengl->mjv_defaultPerturb(camera->perturb);
  opengl->mjv_defaultCamera(camera->view);
  if (it->all->camera_id < 0) {
    opengl->mjv_defaultFreeCamera(it->all->model, camera->view);
  } else {
    camera_head head = {FIXED_CAMERA, it->all->camera_id};
    memcpy(camera->view, &head, sizeof(head));
  }
  opengl->mjv_defaultScene(camera->scene);
  opengl->mjv_makeScene(it->all->model, camera->scene, MOST_SHAPES);
  camera->has_scene = true;
  opengl->mjr_defaultContext(camera->renderer);
  opengl->mjr_makeContext(it->all->model, camera->renderer, FONT_SCALE);
  camera->has_renderer = true;
  opengl->mjr_setBuffer(OFFSCREEN, camera->renderer);
}

static void draw(void *argument) {
  const request *it = argument;
  const suite_opengl *opengl = &it->all->opengl;
  suite_camera *camera = it->camera;
  suite_rectangle all = {0, 0, it->all->width, it->all->height};

  opengl->mjv_updateScene(it->all->model, it->data, camera->option, camera->perturb, camera->view,
                          ALL_CATEGORIES, camera->scene);
  opengl->mjr_render(all, camera->scene, camera->renderer);
  opengl->mjr_readPixels(camera->pixels, NULL, all, camera->renderer);
}

/* Frees a camera, whose context is current unless EGL has ended. */
static void discard(const suite_cameras *it, suite_camera *camera, bool is_current) {
  if (camera->has_scene) it->opengl.mjv_freeScene(camera->scene);
  if (camera->has_renderer && is_current) it->opengl.mjr_freeContext(camera->renderer);
  if (camera->context) {
    it->opengl.eglMakeCurrent(it->display, NULL, NULL, NULL);
    it->opengl.eglDestroyContext(it->display, camera->context);
  }
  free(camera->scene);
  free(camera->renderer);
  free(camera->pixels);
  free(camera);
}

static bool is_guarded(const char *room) {
  for (int32_t i = ROOM - GUARDED; i < ROOM; i++) {
    if (room[i] != (char)GUARD) return false;
  }
  return true;
}

static suite_camera *allocate(const suite_cameras *it) {
  suite_camera *camera = calloc(1, sizeof(*camera));
  if (!camera) return NULL;
  camera->scene = calloc(1, ROOM);
  camera->renderer = calloc(1, ROOM);
  camera->pixels = malloc(3 * (size_t)it->width * (size_t)it->height);
  if (!camera->scene || !camera->renderer || !camera->pixels) {
    discard(it, camera, false);
    return NULL;
  }
  memset(camera->scene + ROOM - GUARDED, GUARD, GUARDED);
  memset(camera->renderer + ROOM - GUARDED, GUARD, GUARDED);
  return camera;
}

/* MuJoCo loads OpenGL's functions into variables of its own whenever it makes a context. */
static atomic_flag is_making = ATOMIC_FLAG_INIT;

static int make_alone(request *making, char *text) {
  while (atomic_flag_test_and_set_explicit(&is_making, memory_order_acquire)) sched_yield();
  int status = mujoco_call(making->all->library, make, making, text);
  atomic_flag_clear_explicit(&is_making, memory_order_release);
  return status;
}

/* Makes a camera, whose context is current afterwards. Returns null on failure. */
static suite_camera *make_camera(suite_cameras *it, pp_error *error) {
  char text[PP_ERROR_TEXT] = "EGL can't make a context";
  suite_camera *camera = allocate(it);
  request making = {.all = it, .camera = camera};

  if (!camera) return NULL;
  camera->context = it->opengl.eglCreateContext(it->display, it->config, NULL, NULL);
  bool is_current =
      camera->context && it->opengl.eglMakeCurrent(it->display, NULL, NULL, camera->context);
  if (is_current && make_alone(&making, text) >= 0) {
    if (is_guarded(camera->scene) && is_guarded(camera->renderer)) return camera;
    snprintf(text, sizeof(text), "its structs are larger than %d bytes", ROOM - GUARDED);
  }
  pp_fail(error, PP_ERR_SYSTEM, "MuJoCo can't draw: %.200s", text);
  discard(it, camera, is_current);
  return NULL;
}

/* ------------------------------------------------------------------------------------- use -- */

static void copy_planes(const suite_cameras *it, const uint8_t *from, uint8_t *pixels) {
  size_t width = (size_t)it->width, height = (size_t)it->height;
  for (size_t row = 0; row < height; row++) {
    // OpenGL's first row is the lowest
    const uint8_t *line = from + 3 * width * (height - 1 - row);
    for (size_t column = 0; column < width; column++) {
      for (size_t plane = 0; plane < 3; plane++) {
        pixels[(plane * height + row) * width + column] = line[3 * column + plane];
      }
    }
  }
}

int suite_cameras_draw(suite_cameras *it, mjData *data, uint8_t *pixels, pp_error *error) {
  current before = get_current(&it->opengl);
  suite_camera *camera = pp_idle_take(&it->idle);
  char text[PP_ERROR_TEXT];
  int status = PP_OK;

  it->opengl.eglBindAPI(OPENGL_API);
  if (!camera) {
    camera = make_camera(it, error);
    if (!camera) status = PP_ERR_SYSTEM;
  } else if (!it->opengl.eglMakeCurrent(it->display, NULL, NULL, camera->context)) {
    status = pp_fail(error, PP_ERR_SYSTEM, "EGL has lost a context");
  }
  if (status >= 0) {
    request drawing = {.all = it, .camera = camera, .data = data};
    status = mujoco_call(it->library, draw, &drawing, text);
    if (status < 0) pp_fail(error, status, "MuJoCo: %.240s", text);
    if (status >= 0) copy_planes(it, camera->pixels, pixels);
  }
  restore(it, &before);
  if (!camera) return status;
  if (status < 0 || !pp_idle_put_back(&it->idle, camera)) discard(it, camera, false);
  return status;
}

void suite_cameras_fini(suite_cameras *it) {
  suite_camera *camera = pp_idle_take(&it->idle);
  if (!camera) return;
  current before = get_current(&it->opengl);
  it->opengl.eglBindAPI(OPENGL_API);
  for (; camera; camera = pp_idle_take(&it->idle)) {
    bool is_current = it->opengl.eglMakeCurrent(it->display, NULL, NULL, camera->context) != 0;
    discard(it, camera, is_current);
  }
  restore(it, &before);
}
