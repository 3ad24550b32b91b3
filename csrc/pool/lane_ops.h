/* Lane operations: all that a pool asks of its lanes, which are threads of this process (threads/)
 * or worker processes (processes/). Chosen when the pool is made. */
#ifndef PP_POOL_LANE_OPS_H
#define PP_POOL_LANE_OPS_H

#include <stdbool.h>

#include "batch.h"
#include "pp_pool.h"

/* Every function is there: a kind of lane that has nothing to do for one has an empty function.
 * Those that end in _locked are called with the pool's lock held. */
typedef struct pp_lane_ops {
  /* null if the environments are in this process, which can seed, save, restore and draw them; else
   * the message for a caller who tries */
  const char *why_not_local;

  /* ---- sending */

  /* refuses environments that can't be sent to */
  int (*check_locked)(const pp_pool *pool, const int32_t *env_ids, int32_t count, pp_error *error);

  /* drops what was prepared for a send that was refused; env_ids are as the caller gave them */
  void (*refuse_locked)(pp_pool *pool, const int32_t *env_ids, int32_t count);

  /* queues accepted environments and wakes workers; caller_helps: the caller is about to work, too
   */
  void (*queue_locked)(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                       bool caller_helps);

  /* whether a step of so many environments is better done by the caller, without the queues; and
   * that step, after which all of them are stepped or queued */
  bool (*is_inline)(const pp_pool *pool, int32_t count);
  void (*step_inline)(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place);

  /* ---- blocks of results */

  /* allocates a block, null: no memory; and tells whether memory can be one */
  void *(*alloc)(pp_pool *pool);
  bool (*is_block)(const pp_pool *pool, const void *memory);

  /* the block that was offered last may be filled from here on; no rows are added to this one */
  void (*open_locked)(pp_pool *pool, const pp_batch *batch);
  void (*close_locked)(pp_pool *pool, const pp_batch *batch);

  /* ---- receiving */

  /* whether every row is there, for the last look before going to sleep: sequentially consistent */
  bool (*is_complete)(const pp_pool *pool, pp_batch *batch);

  /* whether the batch, by all that is known, takes longer than a spin lasts */
  bool (*is_far)(const pp_pool *pool, const pp_batch *batch);

  /* Lets the caller step one chunk. Returns false if nothing is queued or helping is not worth it.
   * now: the time (pp_os_now) before, and then after the chunk. */
  bool (*help)(pp_pool *pool, int64_t *now);

  /* after a wait in vain: an error if the batch can't come any more */
  int (*check_progress)(pp_pool *pool, pp_batch *batch, pp_error *error);

  /* ends the flight of the environments in a complete batch; lists those that failed in
   * pool->failed and returns how many */
  int32_t (*collect_locked)(pp_pool *pool, pp_batch *batch, int32_t rows);

  /* ---- the rest */

  /* cores that this process's own threads may have */
  int32_t (*cores)(const pp_pool *pool);

  void (*stats)(const pp_pool *pool, pp_stats *stats);

  /* makes all workers end, and waits for threads; may be called again */
  void (*stop)(pp_pool *pool);

  /* after stop: frees what init made, however far that came */
  void (*fini)(pp_pool *pool);
} pp_lane_ops;

#endif
