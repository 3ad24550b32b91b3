/* Lane operations: what a pool asks of its lanes, chosen when it is made: threads.c, remote.c. */
#ifndef PP_POOL_LANE_OPS_H
#define PP_POOL_LANE_OPS_H

#include "../include/pp_pool.h"
#include "batch.h"

/* A null function has nothing to do, so that lanes which need none of it pay for a look at most.
 * Those that end in _locked are called with the pool's lock held. */
typedef struct pp_lane_ops {
  /* null: the environments are in this process, which can seed, save, restore and show them; else
   * what to say to who tries */
  const char *away;

  /* refuses environments that can't be sent to */
  int (*check_locked)(const pp_pool *pool, const int32_t *env_ids, int32_t count, pp_error *error);

  /* forgets what was left for a send that came to nothing; env_ids are as the caller gave them */
  void (*refuse_locked)(pp_pool *pool, const int32_t *env_ids, int32_t count);

  /* queues accepted environments and wakes workers; is_helping: the caller is about to work too */
  void (*queue_locked)(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                       int32_t is_helping);

  /* memory that a batch can lie in, and whether this is such (null: all memory is) */
  void *(*alloc)(pp_pool *pool);
  int (*is_fit)(const pp_pool *pool, const void *memory);

  /* the block that was offered last may be filled from here on; no rows are added to this one */
  void (*ready_locked)(pp_pool *pool, const pp_batch *batch);
  void (*close_locked)(pp_pool *pool, const pp_batch *batch);

  /* pp_batch_is_complete, for rows that these lanes write */
  int (*is_complete)(const pp_pool *pool, pp_batch *batch);

  /* after a wait in vain: finds out whether the batch can still come */
  int (*look)(pp_pool *pool, pp_batch *batch, pp_error *error);

  /* ends the flight of the environments in a complete batch; lists those that failed in
   * pool->failed and returns how many */
  int32_t (*collect_locked)(pp_pool *pool, pp_batch *batch, int32_t rows);

  /* cores that this process's own threads may have */
  int32_t (*cores)(const pp_pool *pool);

  void (*stats)(const pp_pool *pool, pp_stats *stats);

  /* tells all that step to end, threads are waited for; may be called again */
  void (*stop)(pp_pool *pool);

  /* frees what init made, however far that came; after stop */
  void (*fini)(pp_pool *pool);
} pp_lane_ops;

#endif
