/* CUDA driver: all that calls on a GPU ask of CUDA. It is found at run time, so the engine is
 * linked without it. */
#ifndef PP_XLA_CUDA_DRIVER_H
#define PP_XLA_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "pp_pool.h"

/* Functions of CUDA's driver interface, under the names that cuda_driver.c gives. Each returns 0 or
 * an error's number. Addresses are those of the unified address space, of a GPU or of the host. */
typedef struct pp_cuda_driver {
  int (*stream_context)(void *stream, void **context);
  int (*push_context)(void *context);
  int (*pop_context)(void **context);
  int (*alloc_host)(void **memory, size_t bytes, unsigned int flags);
  int (*free_host)(void *memory);
  int (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream);
  int (*create_event)(void **event, unsigned int flags);
  int (*record_event)(void *event, void *stream);
  int (*wait_event)(void *event);
  int (*error_name)(int number, const char **name);
} pp_cuda_driver;

/* flags: memory that is locked for the GPUs of all contexts; an event that takes no time */
enum { PP_CUDA_PORTABLE = 1, PP_CUDA_NO_TIMING = 2 };

/* Returns CUDA's driver, which is loaded at the first call; null and the error if there is none. */
const pp_cuda_driver *pp_cuda_driver_find(pp_error *error);

/* Sets the driver, which must live as long as the process; for tests. */
void pp_cuda_driver_use(const pp_cuda_driver *driver);

/* Fills in the error of a call of the driver that returned this number. Returns its status. */
int pp_cuda_driver_failed(const pp_cuda_driver *driver, int number, const char *what,
                          pp_error *error);

#endif
