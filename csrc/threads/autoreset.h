/* Autoreset: what one environment does next, a step or a new episode, and what it came to. */
#ifndef PP_THREADS_AUTORESET_H
#define PP_THREADS_AUTORESET_H

#include "pool/fleet.h"

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

/* Learns the time of one reset. The shortest counts, because a thread may lose its core in the
 * middle of a reset. Only definitions with step_many need it: nothing interrupts the resets of a
 * run and no thread shares them, so environments with dear resets are kept out of runs. */
void pp_autoreset_learn(pp_fleet *fleet, int64_t nanoseconds);

/* Learns the time of all resets of one run. A long one replaces what was learnt before. */
void pp_autoreset_learn_run(pp_fleet *fleet, int64_t nanoseconds, int32_t count);

/* 1: one reset is work enough for a thread */
int pp_autoreset_is_expensive(const pp_fleet *fleet);

/* starts the next episode of an environment that has just ended one (SAME_STEP); returns a status
 */
int pp_autoreset_restart(pp_fleet *fleet, int32_t env_id);

/* steps after which an episode is truncated, more than elapsed can be for none */
uint32_t pp_autoreset_limit(const pp_fleet *fleet);

/* after a callback failed: nothing is known of the environment but that it must be reset */
void pp_autoreset_fail(pp_fleet *fleet, int32_t env_id, int status);

#endif
