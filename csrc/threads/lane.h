/* Lane: an action queue, the environments it owns and the threads that serve it. */
#ifndef PP_THREADS_LANE_H
#define PP_THREADS_LANE_H

#include "idset.h"
#include "queue.h"
#include "stepper.h"

typedef struct pp_lane {
  pp_queue queue;
  pp_idset named; /* ids of a send, empty between sends; the sender's, under the pool's lock */
  pp_gate gate;   /* where idle workers sleep */
  pp_cost cost;
  const pp_stepper *stepper;
  struct pp_thread *workers; /* num_threads; if the caller helps, the last is its stand-in */
  pp_step_thread *caller;    /* null if the caller does not step */
  int32_t num_workers;       /* threads of the lane, without the caller and its stand-in */
  int32_t num_started;       /* workers that were started and not joined */
  int32_t num_threads; /* threads that take from the queue: workers, and the caller if it helps */
  int32_t first_env;   /* owns first_env .. end_env-1 */
  int32_t end_env;
  int32_t node; /* NUMA node */
  /* Threads spin only while no more than this many are awake: the cores of the process, or 0. The
   * caller writes it, threads read it; relaxed, as a stale number costs some spinning only. */
  _Atomic int32_t spin_cores;
  /* Set by close, read by workers: sequentially consistent before they sleep, like the pushes of
   * the queue; relaxed between two chunks, where an old value costs one more round. */
  _Atomic bool is_closing;
  /* Workers that have not ended. Raised before they start; lowered by each as it ends, and read by
   * those who wait for that: sequentially consistent, as the gate needs. */
  _Atomic int32_t num_running;
} pp_lane;

/* Prepares a lane for environments first .. end-1 and num_threads threads, without starting any.
 * is_helped: one of the threads is the caller. Returns PP_OK or PP_ERR_MEMORY. */
int pp_lane_init(pp_lane *lane, const pp_stepper *stepper, int32_t first, int32_t end,
                 int32_t num_threads, bool is_helped);

/* Starts the first count of num_threads workers, without those that run, once all members are set.
 * Returns a pp_status; on failure some workers may run, until the lane is stopped. */
int pp_lane_start(pp_lane *lane, int32_t count);

/* Tells the workers to end, each after its chunk. May be called again. */
void pp_lane_stop(pp_lane *lane);

/* After pp_lane_stop: waits until the time end (pp_os_now) at most, INT64_MAX for no limit, for
 * the workers to end. Returns whether they have. */
bool pp_lane_wait(pp_lane *lane, int64_t end);

/* Returns whether no worker runs. */
bool pp_lane_has_ended(const pp_lane *lane);

/* Joins the workers, which have ended. Only one thread at a time may call it, or pp_lane_start. */
void pp_lane_join(pp_lane *lane);
void pp_lane_fini(pp_lane *lane);

/* Called by a worker that ends. Its thread must be joined before the lane is freed. */
void pp_lane_leave(pp_lane *lane);

/* Takes one chunk of up to about `max_envs` environments, and steps it. Returns how many it
 * stepped, 0 if there is nothing to take. */
int32_t pp_lane_work(pp_lane *lane, pp_step_thread *self, int32_t max_envs);

/* Steps the chunk of the first count entries in self->entries. What is left at the deadline
 * (pp_os_now_roughly) becomes the thread's leftover, for which workers are woken. Returns how many
 * environments it stepped. */
int32_t pp_lane_step(pp_lane *lane, pp_step_thread *self, int32_t count, int64_t deadline);

/* Wakes workers for this many queued environments: as many as the work is worth, less spare. */
void pp_lane_wake(pp_lane *lane, int32_t queued, int32_t spare);

#endif
