/* Stepper: steps the environments of a chunk and delivers their rows. */
#ifndef PP_THREADS_STEPPER_H
#define PP_THREADS_STEPPER_H

#include "claims.h"
#include "cost.h"
#include "leftover.h"
#include "pool/gate.h"
#include "pool/layout.h"
#include "pool/track.h"
#include "queue.h"
#include "row_writer.h"

/* What every thread of a pool needs to step. These pointers never change; what they point to has
 * its own rules. */
typedef struct pp_stepper {
  pp_natives *natives;
  const pp_ring *ring;
  pp_claims *claims;
  pp_gate *caller; /* where the caller sleeps until a batch is complete */
} pp_stepper;

/* The state of a thread that steps, a worker or the caller. Other threads use only what is atomic,
 * and the leftover. */
typedef struct pp_step_thread {
  int32_t home;          /* the shard of the lane's queue that this thread takes from first */
  int64_t ended;         /* when the last chunk ended (pp_os_now); 0: the thread has slept since */
  pp_leftover *leftover; /* rest of a chunk that was cut short; other threads may take from it */
  pp_entry entries[PP_MAX_CHUNK]; /* the chunk that it steps */
  bool is_cut;                    /* the thread may have left a part of its last chunk */
  double *rewards;                /* PP_MAX_CHUNK x num_players */
  pp_recorder *recorder;          /* recorder of the steps of this thread */
  /* What this thread is stepping: a run of environments with place 1, or 0 for nothing. Written by
   * this thread, read by one that closes the pool; relaxed, as it only names them in a message. */
  _Atomic pp_entry stepping;
  /* chunks taken so far; written by this thread, read by any for statistics, relaxed */
  _Atomic int64_t chunks;
} pp_step_thread;

/* Returns PP_OK or PP_ERR_MEMORY; pp_step_thread_fini frees either result. */
int pp_step_thread_init(pp_step_thread *self, int32_t num_players);
void pp_step_thread_fini(pp_step_thread *self);

/* Steps the chunk of the first count entries in self->entries, in order, and delivers the rows.
 * Returns how many environments it stepped. Stops early once the time (pp_os_now_roughly) is past
 * the deadline: the size of a chunk follows from an estimate, which may be wrong. */
int32_t pp_stepper_run(const pp_stepper *stepper, pp_step_thread *self, int32_t count,
                       int64_t deadline);

#endif
