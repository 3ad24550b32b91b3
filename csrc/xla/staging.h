/* Staging: page-locked memory through which a call passes its arguments and results from and to a
 * GPU. One lends itself to one call at a time, and to the next when the GPU has read it. */
#ifndef PP_XLA_STAGING_H
#define PP_XLA_STAGING_H

#include <stdbool.h>

#include "cuda_driver.h"

typedef struct pp_staging {
  struct pp_staging *next;
  void *context; /* the context of CUDA in which the event is */
  void *event;   /* an event behind the copies from and to this memory */
  void *memory;
  size_t size;
  bool is_taken; /* a call has taken it */
} pp_staging;

/* Takes one with at least `size` bytes for a call, once the GPU has read what the call before has
 * left there. context: CUDA's, which is the current one. Returns PP_OK, PP_ERR_MEMORY, or
 * PP_ERR_SYSTEM if CUDA refuses. */
int pp_staging_take(const pp_cuda_driver *cuda, void *context, size_t size, pp_staging **out,
                    pp_error *error);

/* Gives it to later calls. The event is behind all copies. One with copies that no event is behind
 * is never given back. */
void pp_staging_return(pp_staging *staging);

#endif
