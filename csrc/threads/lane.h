/* Lane: an action queue, the environments it owns and the threads that serve it. */
#ifndef PP_THREADS_LANE_H
#define PP_THREADS_LANE_H

#include <pthread.h>

#include "os/topology.h"
#include "pool/idset.h"
#include "queue.h"
#include "stepper.h"

typedef struct pp_lane {
  pp_queue queue;
  pp_idset named; /* the sender's, under the pool's lock: what a send names; empty between sends */
  pp_gate gate;   /* where idle workers sleep */
  pp_grain grain;
  const pp_stepper *stepper;
  struct pp_thread *workers;
  pp_scratch *caller;  /* of the caller, if it helps this lane first; else null */
  int32_t num_workers; /* with a room of their own */
  int32_t num_started; /* of them, running until the lane is stopped */
  int32_t num_threads; /* that take from the queue: the workers, and the caller if it helps */
  int32_t first_env;   /* owns first_env .. end_env-1 */
  int32_t end_env;
  int32_t node;
  int32_t cores; /* of the whole process, for the decision to spin */
  /* set by close, read by workers: sequentially consistent before they sleep, like the pushes of
   * the queue; relaxed between two chunks, where a look too early costs one more round */
  _Atomic int32_t is_closing;
} pp_lane;

/* a thread that serves one lane */
typedef struct pp_thread {
  pthread_t thread;
  pp_lane *lane;
  pp_scratch scratch;
  const int32_t *cpus; /* where it may run; null: anywhere */
  int32_t num_cpus;
  _Atomic int32_t was_refused; /* the system did not let it bind; relaxed, a statistic */
} pp_thread;

/* prepares a lane for environments first .. end-1 and this many threads, without starting any; one
 * of them may be the caller (is_helped) */
int pp_lane_init(pp_lane *lane, const pp_stepper *stepper, int32_t first, int32_t end,
                 int32_t num_threads, int32_t is_helped);

/* starts the workers once all of the lane is set; on failure those started are left to stop */
int pp_lane_start(pp_lane *lane);

/* ends the workers, each after its chunk's current environments; safe to call again */
void pp_lane_stop(pp_lane *lane);
void pp_lane_fini(pp_lane *lane);

/* takes one chunk, of about most environments, and steps it; returns how many environments that
 * were, 0: the queue is empty */
int32_t pp_lane_work(pp_lane *lane, pp_scratch *scratch, int32_t most);

/* leaves what a thread has not done of a chunk to whoever comes first, and wakes workers for it */
void pp_lane_share_leftover(pp_lane *lane, pp_scratch *scratch, const pp_entry *entries,
                            int32_t count, int32_t done);

/* wakes as many workers as this many queued environments are worth, spare of them excepted */
void pp_lane_wake(pp_lane *lane, int32_t queued, int32_t spare);

/* the body of a worker's thread; argument: its pp_thread */
void *pp_thread_run(void *argument);

#endif
