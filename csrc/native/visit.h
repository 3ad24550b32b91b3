/* Visit: an environment takes on a state that the caller brings, does one step or reset, and gives
 * the new state back. So the caller can have more states than the pool has environments, and step
 * one state twice. */
#ifndef PP_NATIVE_VISIT_H
#define PP_NATIVE_VISIT_H

#include <stdbool.h>

#include "natives.h"

/* The present visit is written by the thread that sends, while no environment is in flight; an
 * entry of stages, sums and scratch belongs to whoever has the environment. */
typedef struct pp_visits {
  pp_visit visit;
  uint64_t identity; /* of all snapshots */
  char *fresh;       /* a snapshot of an environment that was just made: resets begin with it */
  int64_t fresh_size;
  uint8_t *stages; /* of each environment; see visit.c */
  uint64_t *sums;  /* checksum of the snapshot in whose state each environment is, 0: of none */
  char *scratch;   /* of each environment, for pp_snapshot_restore */
  size_t stride;   /* of scratch */
} pp_visits;

void pp_visits_free(pp_visits *visits);

/* Restores what consecutive environments bring, each once in a visit. Returns whether all could be;
 * those that could not have failed: they are PP_FRESH and their error says why. */
bool pp_visits_begin(pp_natives *natives, int32_t env_id, int32_t count);

/* Saves the states of those that have not failed. Returns how many fail because of that. */
int32_t pp_visits_end(pp_natives *natives, int32_t env_id, int32_t count);

#endif
