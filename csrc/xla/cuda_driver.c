/* CUDA driver: finds CUDA's driver at run time. */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "pool/error.h"
#include "pp_xla.h"

/* Written once, release, by whoever has filled in the table that it points to; read by calls,
 * acquire, so that they see the table filled in. */
static const pp_cuda_driver *_Atomic used;

/* where a pointer of the table is, and the symbol that it points to */
static const struct {
  const char *symbol;
  size_t offset;
} functions[] = {
    {"cuStreamGetCtx", offsetof(pp_cuda_driver, stream_context)},
    {"cuCtxPushCurrent_v2", offsetof(pp_cuda_driver, push_context)},
    {"cuCtxPopCurrent_v2", offsetof(pp_cuda_driver, pop_context)},
    {"cuMemHostAlloc", offsetof(pp_cuda_driver, alloc_host)},
    {"cuMemFreeHost", offsetof(pp_cuda_driver, free_host)},
    {"cuMemcpyAsync", offsetof(pp_cuda_driver, copy)},
    {"cuEventCreate", offsetof(pp_cuda_driver, create_event)},
    {"cuEventRecord", offsetof(pp_cuda_driver, record_event)},
    {"cuEventSynchronize", offsetof(pp_cuda_driver, wait_event)},
    {"cuGetErrorName", offsetof(pp_cuda_driver, error_name)},
};

static int fill(pp_cuda_driver *driver, void *library, const char *path, pp_error *error) {
  for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
    void *address = dlsym(library, functions[i].symbol);
    if (!address) {
      return pp_error_set(error, PP_ERR_SYSTEM,
                          "%.120s has no %s: install a driver of CUDA 11 or newer", path,
                          functions[i].symbol);
    }
    // C has no conversion of a pointer to an object into one to a function
    memcpy((char *)driver + functions[i].offset, &address, sizeof(address));
  }
  return PP_OK;
}

/* makes the table the one that is used, unless another thread was first */
static int publish(pp_cuda_driver *driver, pp_error *error) {
  const pp_cuda_driver *none = NULL;
  // release: see `used`; relaxed on failure, where nothing is read through the pointer
  if (atomic_compare_exchange_strong_explicit(&used, &none, driver, memory_order_release,
                                              memory_order_relaxed)) {
    return PP_OK;
  }
  free(driver);
  return pp_error_set(error, PP_ERR_STATE,
                      "CUDA's driver is loaded already: name another one before the first call");
}

static int load(const char *path, pp_error *error) {
  // the library is never closed: XLA uses it, too
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  pp_cuda_driver *driver;
  int status;
  if (!library) {
    const char *reason = dlerror();
    return pp_error_set(error, PP_ERR_SYSTEM, "CUDA's driver can't be loaded: %.200s",
                        reason ? reason : path);
  }
  driver = calloc(1, sizeof(*driver));
  if (!driver) return pp_error_set(error, PP_ERR_MEMORY, "no memory for CUDA's driver");
  status = fill(driver, library, path, error);
  if (status >= 0) return publish(driver, error);
  free(driver);
  return status;
}

const pp_cuda_driver *pp_cuda_driver_find(pp_error *error) {
  const pp_cuda_driver *driver = atomic_load_explicit(&used, memory_order_acquire);
  if (driver) return driver;
  // another thread may be the one that loads it
  (void)load("libcuda.so.1", error);
  return atomic_load_explicit(&used, memory_order_acquire);
}

void pp_cuda_driver_use(const pp_cuda_driver *driver) {
  atomic_store_explicit(&used, driver, memory_order_release);
}

int pp_xla_cuda_driver(const char *path, pp_error *error) {
  return load(path, error);
}

int pp_cuda_driver_failed(const pp_cuda_driver *driver, int number, const char *what,
                          pp_error *error) {
  const char *name = NULL;
  (void)driver->error_name(number, &name);
  return pp_error_set(error, PP_ERR_SYSTEM, "%s failed with %.60s (%d)", what,
                      name ? name : "an error of CUDA's", number);
}
