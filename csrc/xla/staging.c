/* Staging: lends page-locked memory to calls on a GPU. */
#include "staging.h"

#include <pthread.h>
#include <stdlib.h>

#include "pool/error.h"

/* guards the list and each is_taken; other members belong to the call that took the staging */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pp_staging *all; /* as many as calls were in progress at once; never freed */

/* in a forked child, where CUDA does not work: a thread of the parent may have held the lock */
static void forget(void) {
  pthread_mutex_init(&lock, NULL);
  all = NULL;
}

static pthread_once_t forget_once = PTHREAD_ONCE_INIT;
static bool has_no_memory; /* set once, before any reader passes pthread_once */

static void forget_at_fork(void) {
  has_no_memory = pthread_atfork(NULL, NULL, forget) != 0;
}

/* takes an idle one of a context, one that is large enough if there is any; null: there is none */
static pp_staging *take_idle(const void *context, size_t size) {
  pp_staging *found = NULL;
  pthread_mutex_lock(&lock);
  for (pp_staging *each = all; each; each = each->next) {
    if (each->is_taken || each->context != context) continue;
    if (!found || (found->size < size && each->size >= size)) found = each;
  }
  if (found) found->is_taken = true;
  pthread_mutex_unlock(&lock);
  return found;
}

static void add(pp_staging *staging) {
  pthread_mutex_lock(&lock);
  staging->next = all;
  all = staging;
  pthread_mutex_unlock(&lock);
}

static int make(const pp_cuda_driver *cuda, void *context, pp_staging **out, pp_error *error) {
  pp_staging *staging = calloc(1, sizeof(*staging));
  int failed;
  if (!staging) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a call on a GPU");
  staging->context = context;
  staging->is_taken = true;
  failed = cuda->create_event(&staging->event, PP_CUDA_NO_TIMING);
  if (failed) {
    free(staging);
    return pp_cuda_driver_failed(cuda, failed, "making an event for a call on a GPU", error);
  }
  add(staging);
  *out = staging;
  return PP_OK;
}

/* Replaces memory that no copy uses. If that fails there is none. */
static int grow(const pp_cuda_driver *cuda, pp_staging *staging, size_t size, pp_error *error) {
  int failed = staging->memory ? cuda->free_host(staging->memory) : 0;
  staging->memory = NULL;
  staging->size = 0;
  if (!failed) failed = cuda->alloc_host(&staging->memory, size, PP_CUDA_PORTABLE);
  if (failed) {
    return pp_cuda_driver_failed(cuda, failed, "locking memory for a call on a GPU", error);
  }
  staging->size = size;
  return PP_OK;
}

int pp_staging_take(const pp_cuda_driver *cuda, void *context, size_t size, pp_staging **out,
                    pp_error *error) {
  pp_staging *staging;
  int status = PP_OK, failed;
  pthread_once(&forget_once, forget_at_fork);
  if (has_no_memory) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a call on a GPU");
  staging = take_idle(context, size);
  if (!staging) status = make(cuda, context, &staging, error);
  if (status < 0) return status;
  // the GPU may still be reading the results of the call before, on another stream than this one's
  failed = cuda->wait_event(staging->event);
  if (failed) {
    // copies may still use the memory: nobody takes it again
    return pp_cuda_driver_failed(cuda, failed, "waiting for the copies of an earlier call", error);
  }
  if (staging->size < size) status = grow(cuda, staging, size, error);
  if (status < 0) {
    pp_staging_return(staging);
    return status;
  }
  *out = staging;
  return PP_OK;
}

void pp_staging_return(pp_staging *staging) {
  pthread_mutex_lock(&lock);
  staging->is_taken = false;
  pthread_mutex_unlock(&lock);
}
