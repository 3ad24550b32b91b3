/* Stepper: what a thread does with a chunk of the action queue. */
#ifndef PP_THREADS_STEPPER_H
#define PP_THREADS_STEPPER_H

#include "grain.h"
#include "leftover.h"
#include "pool/batch.h"
#include "pool/gate.h"
#include "pool/layout.h"
#include "queue.h"
#include "step_rows.h"

/* what every thread of a pool needs to step; read-only but for what the members guard themselves */
typedef struct pp_stepper {
  pp_fleet *fleet;
  const pp_layout *layout;
  pp_ring *ring;
  pp_gate *caller; /* where the caller sleeps until a batch is complete */
} pp_stepper;

/* one thread's own room */
typedef struct pp_scratch {
  int32_t home;  /* the shard of the lane's queue that this thread takes from first */
  int64_t ended; /* when the last chunk did, 0: the thread has done something else since */
  pp_leftover
      *leftover; /* of a chunk that was cut short; the thread's own, but others may take of it */
  pp_entry entries[PP_GRAIN_ROWS];
  double *rewards;   /* PP_GRAIN_ROWS x num_players */
  int32_t used_runs; /* step_many was called in the last chunk */
  /* grabs so far; written by the thread alone, read by any for statistics, relaxed */
  _Atomic int64_t chunks;
} pp_scratch;

int pp_scratch_init(pp_scratch *scratch, int32_t num_players);
void pp_scratch_fini(pp_scratch *scratch);

/* Steps the environments of a chunk in their order and delivers their rows; returns how many they
 * were. Stops early when it is later than late (pp_os_now_roughly): a chunk is cut by an estimate,
 * which may turn out to be wrong */
int32_t pp_stepper_run(const pp_stepper *stepper, const pp_entry *entries, int32_t count,
                       int64_t late, pp_scratch *scratch);

/* Learns from the time of a chunk whether step_many may be called. Nothing can interrupt a call, so
 * after a long one environments are stepped one by one until they are seen to be cheap. */
void pp_stepper_learn(const pp_stepper *stepper, const pp_scratch *scratch, int64_t nanoseconds,
                      int32_t count);

#endif
