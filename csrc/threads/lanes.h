/* Lanes: those of a pool whose environments are stepped by threads of this process. */
#ifndef PP_THREADS_LANES_H
#define PP_THREADS_LANES_H

#include "pool/pool.h"
#include "thread.h"

typedef struct pp_threads {
  pp_stepper stepper; /* shared by all threads */
  pp_claims claims;
  pp_natives natives;
  pp_lane *lanes;
  int32_t num_lanes;
  int32_t num_workers; /* threads of all lanes, without the caller */
  int32_t home_lane;   /* lane on the node where the pool was made: the caller helps there first */
  bool caller_steps;   /* the caller is one of num_threads */
  /* A thread of the home lane steps in place of the caller, in receives with a timeout. Set by the
   * thread that receives, release, under pool->closing; read by any, acquire. */
  _Atomic bool has_stand_in;

  /* Used by the receiving thread only: the one that has set pool->receiving. Apart from what is
   * above, as the caller writes here while workers read that. */
  _Alignas(PP_EXCHANGED_BYTES) pp_step_thread caller;
  uint32_t inline_steps; /* steps done without the queues */
  int32_t other_shard;   /* the other shard of the home lane that the caller looked at last */
} pp_threads;

extern const pp_lane_ops pp_threads_ops;

/* Makes the lanes of a pool that has its environments, and starts their threads. Returns a
 * pp_status. */
int pp_threads_init(pp_pool *pool, const pp_pool_options *options);

#endif
