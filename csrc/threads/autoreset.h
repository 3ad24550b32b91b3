/* Autoreset: decides whether one environment is stepped or reset next, and does it. */
#ifndef PP_THREADS_AUTORESET_H
#define PP_THREADS_AUTORESET_H

#include "native/natives.h"

/* the result of a step or reset, before it is written to a row */
typedef struct pp_outcome {
  double reward[PP_MAX_PLAYERS];
  float discount;
  bool terminated;
  bool truncated;
  bool is_reset;
  int status; /* negative: the callback failed, and the environment's error has the reason */
} pp_outcome;

/* Steps or resets an environment, depending on its command and phase. */
void pp_autoreset_advance(pp_natives *natives, int32_t env_id, pp_outcome *outcome);

/* Starts the next episode of an environment whose episode has just ended (SAME_STEP). Returns a
 * pp_status. */
int pp_autoreset_restart(pp_natives *natives, int32_t env_id);

/* Returns the number of steps after which an environment's episode is truncated; UINT32_MAX, which
 * elapsed can't reach, if there is no limit. */
static inline uint32_t pp_autoreset_limit(const pp_natives *natives, int32_t env_id) {
  int32_t limit = natives->envs[env_id].max_episode_steps;
  return limit > 0 ? (uint32_t)limit : UINT32_MAX;
}

/* Records that a callback, named for an error without a text, failed. The state of the environment
 * is then unknown, and it must be reset. */
void pp_autoreset_fail(pp_natives *natives, int32_t env_id, const char *callback, int status);

#endif
