/* Entry: one element of an action queue, a run of environments that waits to be stepped. */
#ifndef PP_POOL_ENTRY_H
#define PP_POOL_ENTRY_H

#include <stdint.h>

#include "pp_env.h"

/* An entry names environments with consecutive ids (only one if a step is expensive) and, in an
 * ordered pool, the place of the first in the ring. From the highest bit: 32 bits place, 8 bits
 * length - 1, 24 bits id of the first. */
typedef uint64_t pp_entry;

enum { PP_MAX_ENVS = 1 << 24 };

_Static_assert(PP_MAX_STEP_MANY <= 1 << 8, "the length of a run has 8 bits");

#define PP_ENTRY(place, env_id, length) \
  ((uint64_t)(uint32_t)(place) << 32 | (uint64_t)((length) - 1) << 24 | (uint64_t)(env_id))
#define PP_ENTRY_ENV(entry) ((int32_t)((entry) & 0xffffff))
#define PP_ENTRY_LENGTH(entry) ((int32_t)((entry) >> 24 & 0xff) + 1)
#define PP_ENTRY_PLACE(entry) ((int32_t)((entry) >> 32))

#endif
