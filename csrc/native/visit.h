/* Visit: an environment takes on a state that the caller brings, does one step or reset, and gives
 * the new state back. So the caller can have more states than the pool has environments, and step
 * one state twice. */
#ifndef PP_NATIVE_VISIT_H
#define PP_NATIVE_VISIT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "natives.h"

/* The present visit is written by the thread that sends, while no environment is in flight; an
 * entry of stages, sums, copies and scratch belongs to whoever has the environment.
 *
 * The memory of a visit is the caller's, who may leave before the threads have ended it: then they
 * must not touch it any more. So a thread that is about to touch it sets touched of its first
 * environment and then looks at is_left, and the caller sets is_left and then waits until nothing
 * is touched. Each writes one and then reads the other, which only sequential consistency keeps in
 * order: either the thread sees that the caller has left, or the caller sees that it must wait. */
typedef struct pp_visits {
  pp_visit visit;
  /* Set by the caller when it leaves, sequentially consistent; cleared with the next visit,
   * relaxed, as no thread has an environment then, and the queue that gives it one publishes this
   * too. */
  _Atomic bool is_left;
  /* One flag for each environment. Set by the thread that has the environment, sequentially
   * consistent; cleared with release, so that the caller, who reads it with acquire at least, frees
   * or reads the memory after the thread's last access. */
  _Atomic bool *touched;
  uint64_t identity; /* identity of all snapshots */
  char *fresh;       /* a snapshot of an environment that was just made: resets begin with it */
  int64_t fresh_size;
  uint8_t *stages; /* stage of each environment; see visit.c */
  uint64_t *sums;  /* checksum of the snapshot in whose state each environment is, 0: none */
  char *scratch;   /* memory of each environment for pp_snapshot_restore */
  size_t stride;   /* bytes from the scratch of one environment to that of the next */
  /* Copies of the environments' states, on which save and load callbacks work: these may take any
   * time (they repeat an episode), in which nothing of the caller's may be touched. Null without
   * such callbacks, and before the first visit. */
  char *copies;
  int64_t copy_size; /* bytes that a copy has room for */
} pp_visits;

void pp_visits_free(pp_visits *visits);

/* Restores what consecutive environments bring, each once in a visit. Returns whether all could be;
 * those that could not have failed: they are PP_FRESH and their error says why. */
bool pp_visits_begin(pp_natives *natives, int32_t env_id, int32_t count);

/* Saves the states of those that have not failed. Returns how many fail because of that. */
int32_t pp_visits_end(pp_natives *natives, int32_t env_id, int32_t count);

#endif
