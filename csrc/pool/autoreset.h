/* Autoreset: what one environment does next, a step or a new episode, and what it came to. */
#ifndef PP_POOL_AUTORESET_H
#define PP_POOL_AUTORESET_H

#include "fleet.h"

/* what a step or reset came to, before it has a row */
typedef struct pp_outcome {
  double reward[PP_MAX_PLAYERS];
  float discount;
  uint8_t terminated;
  uint8_t truncated;
  uint8_t is_reset;
  int status; /* negative: the callback failed, and the environment's error says why */
} pp_outcome;

/* steps or resets an environment as it was asked and as its phase demands */
void pp_autoreset_advance(pp_fleet *fleet, int32_t env_id, pp_outcome *outcome);

/* What a reset costs is known for definitions with step_many. A run of those resets all that have
 * ended before another thread can help, or the caller look at its signals; so environments whose
 * resets are dear are stepped in other ways. A reset was seen to take so many nanoseconds. The
 * least counts, for a thread may lose its core in the middle of one. */
void pp_autoreset_learn(pp_fleet *fleet, int64_t nanoseconds);

/* so many resets took so long that they are dear from now on, whatever was learnt */
void pp_autoreset_surprise(pp_fleet *fleet, int64_t nanoseconds, int32_t count);

/* 1: a reset is work enough for a thread by itself */
int pp_autoreset_is_dear(const pp_fleet *fleet);

/* starts the next episode of an environment that has just ended one (SAME_STEP); returns a status
 */
int pp_autoreset_again(pp_fleet *fleet, int32_t env_id);

/* steps after which an episode is truncated, more than elapsed can be for none */
uint32_t pp_autoreset_limit(const pp_fleet *fleet);

/* steps of an episode after one more; those beyond what a column can show are not counted */
static inline int32_t pp_autoreset_count(int32_t elapsed) {
  return elapsed + (elapsed < INT32_MAX);
}

/* after a callback failed: nothing is known of the environment but that it must be reset */
void pp_autoreset_fail(pp_fleet *fleet, int32_t env_id, int status);

#endif
