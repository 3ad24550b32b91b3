/* Run: access to the environments of a step_many. */
#ifndef PP_BASE_RUN_H
#define PP_BASE_RUN_H

#include "pp_env.h"

/* Returns the state of environment i, 0 to run->count - 1. */
static inline void *pp_run_state(const pp_run *run, int32_t i) {
  return run->states + (size_t)i * run->state_stride;
}

#endif
