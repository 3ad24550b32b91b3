/* The functions of late_cuda.h as the driver of a C program. */
#ifndef PP_TESTS_LATE_DRIVER_H
#define PP_TESTS_LATE_DRIVER_H

#include "late_cuda.h"
#include "xla/cuda_driver.h"

static int late_copy_bytes(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  return cuMemcpyAsync(to, from, bytes, stream);
}

static const pp_cuda_driver late_driver = {.stream_context = cuStreamGetCtx,
                                           .push_context = cuCtxPushCurrent_v2,
                                           .pop_context = cuCtxPopCurrent_v2,
                                           .alloc_host = cuMemHostAlloc,
                                           .free_host = cuMemFreeHost,
                                           .copy = late_copy_bytes,
                                           .create_event = cuEventCreate,
                                           .record_event = cuEventRecord,
                                           .wait_event = cuEventSynchronize,
                                           .error_name = cuGetErrorName};

#endif
