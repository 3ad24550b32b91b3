/* The part of XLA's foreign function interface that handlers of ours need: the layout of what XLA
 * passes to a handler, of interface versions 0.1 (jaxlib 0.5) to 0.3. XLA extends these structs at
 * their end only, and each tells its size. tests/apis/jax/test_xla_abi.py compares them with
 * jaxlib's own header. */
#ifndef PP_XLA_ABI_H
#define PP_XLA_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { PP_XLA_MAJOR = 0, PP_XLA_MINOR = 3 };

/* what the first extension of a frame may be: a question about the handler, instead of a call */
enum { PP_XLA_METADATA = 1 };

/* stages in which XLA calls a handler; ours have work in the last one only */
enum { PP_XLA_EXECUTE = 3 };

enum { PP_XLA_BUFFER = 1, PP_XLA_ATTR_ARRAY = 1, PP_XLA_ATTR_SCALAR = 3 };

/* dtypes of buffers and attributes */
enum pp_xla_dtype {
  PP_XLA_PRED = 1,
  PP_XLA_S8 = 2,
  PP_XLA_S16 = 3,
  PP_XLA_S32 = 4,
  PP_XLA_S64 = 5,
  PP_XLA_U8 = 6,
  PP_XLA_U16 = 7,
  PP_XLA_U32 = 8,
  PP_XLA_U64 = 9,
  PP_XLA_F32 = 11,
  PP_XLA_F64 = 12
};

/* codes of errors, which decide the name that JAX shows */
enum pp_xla_code {
  PP_XLA_INVALID_ARGUMENT = 3,
  PP_XLA_DEADLINE_EXCEEDED = 4,
  PP_XLA_RESOURCE_EXHAUSTED = 8,
  PP_XLA_FAILED_PRECONDITION = 9,
  PP_XLA_ABORTED = 10,
  PP_XLA_INTERNAL = 13
};

typedef struct pp_xla_extension {
  size_t struct_size;
  int type;
  struct pp_xla_extension *next;
} pp_xla_extension;

typedef struct pp_xla_version {
  size_t struct_size;
  pp_xla_extension *extensions;
  int major;
  int minor;
} pp_xla_version;

typedef struct pp_xla_metadata {
  size_t struct_size;
  pp_xla_version version;
  uint32_t traits;
  int64_t state_type;
} pp_xla_metadata;

typedef struct pp_xla_metadata_extension {
  pp_xla_extension base;
  pp_xla_metadata *metadata;
} pp_xla_metadata_extension;

typedef struct pp_xla_buffer {
  size_t struct_size;
  pp_xla_extension *extensions;
  int dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
} pp_xla_buffer;

/* arguments and results alike */
typedef struct pp_xla_list {
  size_t struct_size;
  pp_xla_extension *extensions;
  int64_t size;
  int *types;
  void **items;
} pp_xla_list;

typedef struct pp_xla_text {
  const char *ptr;
  size_t len;
} pp_xla_text;

typedef struct pp_xla_attrs {
  size_t struct_size;
  pp_xla_extension *extensions;
  int64_t size;
  int *types;
  pp_xla_text **names;
  void **items;
} pp_xla_attrs;

typedef struct pp_xla_scalar {
  int dtype;
  void *value;
} pp_xla_scalar;

typedef struct pp_xla_array {
  int dtype;
  size_t size;
  void *data;
} pp_xla_array;

typedef struct pp_xla_error_args {
  size_t struct_size;
  pp_xla_extension *extensions;
  const char *message;
  int code;
} pp_xla_error_args;

typedef struct pp_xla_stream_args {
  size_t struct_size;
  pp_xla_extension *extensions;
  void *context;
  void *stream; /* written by XLA */
} pp_xla_stream_args;

/* The beginning of XLA's table of functions. Both return an error: the first what it has made, the
 * second null if there is none. */
typedef struct pp_xla_api {
  size_t struct_size;
  pp_xla_extension *extensions;
  pp_xla_version version;
  const void *internal;
  void *(*create_error)(pp_xla_error_args *args);
  void *others[3];
  void *(*get_stream)(pp_xla_stream_args *args);
} pp_xla_api;

typedef struct pp_xla_frame {
  size_t struct_size;
  pp_xla_extension *extensions;
  const pp_xla_api *api;
  void *context;
  int stage;
  pp_xla_list arguments;
  pp_xla_list results;
  pp_xla_attrs attributes;
} pp_xla_frame;

#endif
