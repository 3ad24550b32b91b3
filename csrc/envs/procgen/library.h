/* The installed Procgen: its functions, and the structs that they take (libenv, version 1).
 *
 * The interface is public: gym3 publishes it. The library's own threads are not used: with the
 * option num_threads=0 a step runs in the thread that calls act. */
#ifndef PP_ENVS_PROCGEN_LIBRARY_H
#define PP_ENVS_PROCGEN_LIBRARY_H

#include <stdint.h>

#include "pp_env.h"

/* ----------------------------------------------------------------------------------- libenv -- */

enum { LIBENV_VERSION = 1, LIBENV_NAME = 128, LIBENV_AXES = 16 };

/* types of elements; a text has bytes */
enum libenv_dtype { LIBENV_UINT8 = 1, LIBENV_INT32 = 2 };

/* what get_tensortypes describes */
enum libenv_space { LIBENV_OBSERVATION = 1, LIBENV_ACTION = 2, LIBENV_INFO = 3 };

typedef struct libenv_handle libenv_handle;

typedef union libenv_value {
  uint8_t uint8;
  int32_t int32;
  float float32;
} libenv_value;

/* an array of one environment */
typedef struct libenv_tensortype {
  char name[LIBENV_NAME];
  int32_t scalar_type;
  int32_t dtype;
  int32_t shape[LIBENV_AXES];
  int32_t ndim;
  libenv_value low;
  libenv_value high;
} libenv_tensortype;

typedef struct libenv_option {
  char name[LIBENV_NAME];
  int32_t dtype;
  int32_t count; /* elements of data */
  const void *data;
} libenv_option;

typedef struct libenv_options {
  const libenv_option *items;
  int32_t count;
} libenv_options;

/* One pointer for each array of each environment, arrays first. The library keeps the pointers. */
typedef struct libenv_buffers {
  void **observations;
  float *reward;
  uint8_t *first;
  void **infos;
  void **actions;
} libenv_buffers;

/* ---------------------------------------------------------------------------------- library -- */

/* The link: addresses that parallel_pool/_families/procgen.py finds, in the order of its NAMES. */
typedef struct procgen_library {
  int32_t (*version)(void);
  libenv_handle *(*make)(int32_t num_envs, libenv_options options);
  int32_t (*get_tensortypes)(libenv_handle *handle, int32_t space, libenv_tensortype *types);
  /* resets the environments as well, which is possible once */
  void (*set_buffers)(libenv_handle *handle, libenv_buffers *buffers);
  void (*observe)(libenv_handle *handle);
  void (*act)(libenv_handle *handle);
  void (*close)(libenv_handle *handle);
  /* returns the number of bytes written; ends the process if there is no room */
  int32_t (*get_state)(libenv_handle *handle, int32_t index, char *bytes, int32_t room);
  /* ends the process if the bytes are no state of this game */
  void (*set_state)(libenv_handle *handle, int32_t index, const char *bytes, int32_t size);
} procgen_library;

/* Reads the link, and refuses a library of another version of libenv. */
int procgen_library_read(const pp_value *link, procgen_library *library, pp_error *error);

#endif
