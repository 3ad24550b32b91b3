/* Lane operations: everything that a pool asks of its lanes. Lanes are threads of this process
 * (threads/) or worker processes (processes/). The functions in create.c decide which. */
#ifndef PP_POOL_LANE_OPS_H
#define PP_POOL_LANE_OPS_H

#include <stdbool.h>

#include "pp_pool.h"
#include "ring.h"
#include "track.h"

/* Null may be: the functions by which the caller steps environments itself, alloc_rollout,
 * stop_spinning, free_track and is_recording. For all others, lanes that need nothing done have an
 * empty function. Functions whose names end in _locked are called with the pool's lock held. */
typedef struct pp_lane_ops {
  /* ---- sending */

  /* Returns an error if one of the environments can't be sent to. */
  int (*check_locked)(const pp_pool *pool, const int32_t *env_ids, int32_t count, pp_error *error);

  /* Checks and stores one action for each environment named, which are idle. Returns PP_OK,
   * PP_ERR_TYPE or PP_ERR_ARGUMENT. */
  int (*store_actions_locked)(pp_pool *pool, const int32_t *env_ids, int32_t count,
                              const void *actions, int32_t dtype, pp_error *error);

  /* Checks and stores the seeds and options of a reset, one of which is not null. */
  int (*store_reset_locked)(pp_pool *pool, const int32_t *env_ids, int32_t count,
                            const uint32_t *seed_words, const int32_t *seed_sizes,
                            const pp_value *options, pp_error *error);

  /* Drops the payloads of a send that was refused. env_ids are unchecked. */
  void (*refuse_locked)(pp_pool *pool, const int32_t *env_ids, int32_t count);

  /* Queues accepted environments and wakes workers. caller_helps: the caller's thread will step
   * environments too. */
  void (*queue_locked)(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                       bool caller_helps);

  /* ---- blocks of results */

  /* Allocates a block. Returns null if there is no memory. */
  void *(*alloc)(pp_pool *pool);

  /* Allocates memory for `batches` batches of a rollout. Returns null if there is no memory. The
   * function is null if the rows of these lanes are always in blocks of their own. */
  void *(*alloc_rollout)(pp_pool *pool, int32_t batches);

  /* Returns whether this memory can be a block of the pool. */
  bool (*is_block)(const pp_pool *pool, const void *memory);

  /* offered: the block that was offered last may be filled from here on. set: the block's target
   * was set. */
  void (*block_offered_locked)(pp_pool *pool, const pp_ring_slot *slot);
  void (*target_set_locked)(pp_pool *pool, const pp_ring_slot *slot);

  /* Unordered: what pp_ring_cut_locked does, for the way in which these lanes claim rows. */
  bool (*cut_locked)(pp_pool *pool, int32_t rows);

  /* ---- receiving */

  /* Returns whether all rows are written. Sequentially consistent, so that the caller may check it
   * last before it sleeps. */
  bool (*is_complete)(const pp_pool *pool, const pp_ring_slot *slot);

  /* Unordered: returns how many rows of the block that is received next are written. Sequentially
   * consistent, as is_complete. */
  int32_t (*count_written)(const pp_pool *pool, const pp_ring_slot *slot);

  /* Called after a wait without a result. Returns an error if the batch can never reach `rows`
   * rows, although enough environments are in flight. */
  int (*check_progress)(pp_pool *pool, const pp_ring_slot *slot, int32_t rows, pp_error *error);

  /* Marks the environments of a complete or cut batch as idle, lists those that failed in
   * pool->failed and returns how many failed. */
  int32_t (*collect_locked)(pp_pool *pool, const pp_ring_slot *slot, int32_t rows);

  /* ---- stepping in the caller's thread: all null if the environments are not in this process */

  /* Returns whether the caller should step this many environments itself, without the queues. */
  bool (*is_inline)(const pp_pool *pool, int32_t count);

  /* Steps environments in the caller's thread, in order. Returns how many; the rest is queued. */
  int32_t (*step_inline)(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place);

  /* Lets the caller step one chunk. Returns false if nothing is queued, or if helping would delay
   * the batch. now: the time (pp_os_now), updated after the chunk. */
  bool (*step_chunk)(pp_pool *pool, int64_t *now);

  /* For a receive with a timeout: returns whether other threads step all that is queued, and the
   * caller must not help. */
  bool (*is_replaced)(pp_pool *pool);

  /* Returns whether the batch is expected to take longer than a thread spins. */
  bool (*expects_long_wait)(const pp_pool *pool, const pp_ring_slot *slot);

  /* ---- the rest */

  /* Returns the environments, for calls that read or change them (native/natives.h); null and an
   * error if they live in worker processes. */
  struct pp_natives *(*natives)(const pp_pool *pool, pp_error *error);

  /* Returns the number of cores on which this process's threads may run, and so may spin. */
  int32_t (*spin_cores)(const pp_pool *pool);

  /* Lets threads and the caller sleep at once from now on; null: worker processes look at the cores
   * of all of them themselves. */
  void (*stop_spinning)(pp_pool *pool);

  void (*stats)(const pp_pool *pool, pp_stats *stats);

  /* Traces: the spans for which a track has room; how many threads or workers have tracks; makes a
   * track, null if there is no memory, and frees it (null: it goes with the memory that workers
   * share, as one of them may still write to it); sets the track of the i-th, null to end its
   * recording; and returns whether one of them has yet to record steps whose rows may have been
   * received (null: steps are recorded before their rows are published). */
  int32_t track_capacity;
  int32_t (*num_tracks)(const pp_pool *pool);
  pp_track *(*alloc_track)(pp_pool *pool);
  void (*free_track)(pp_track *track);
  void (*set_track)(pp_pool *pool, int32_t i, pp_track *track);
  bool (*is_recording)(const pp_pool *pool);

  /* Writes which environments threads are stepping now: for each thread the first and their number.
   * Returns how many threads. */
  int32_t (*stepping)(const pp_pool *pool, int32_t *env_ids, int32_t *counts, int32_t room);

  /* Makes all workers end, and waits until the time end (pp_os_now; INT64_MAX: no limit) at most
   * for those that are threads. Returns whether these have ended. May be called again. */
  bool (*stop)(pp_pool *pool, int64_t end);

  /* After stop has returned true: frees what init made, even if init failed halfway. */
  void (*fini)(pp_pool *pool);
} pp_lane_ops;

#endif
