/* Remote: the creator's side of a pool whose lanes are worker processes. */
#ifndef PP_POOL_REMOTE_H
#define PP_POOL_REMOTE_H

#include "arena.h"
#include "board.h"
#include "pool.h"

/* a worker process, as its creator knows it */
typedef struct pp_remote_lane {
  int32_t first; /* its environments */
  int32_t count;
  int32_t spill;   /* descriptor of the file that it replies in, -1: none */
  char *replies;   /* the same, mapped */
  int32_t is_dead; /* under the pool's lock: nothing can be sent to it */
} pp_remote_lane;

typedef struct pp_remote {
  pp_board board;
  pp_arena *arena; /* lives as long as any of its blocks */
  pp_remote_lane *lanes;
  int32_t num_lanes;
  uint8_t *is_queued; /* by lane: room for one send */
  int32_t *replied;   /* environments of the last batch with replies, num_replied of them */
  int32_t num_replied;
  pp_message *orders; /* one for each environment, then one for each lane: what they lie in */
} pp_remote;

/* makes board and arena of a pool that has its layout, and puts its ring and actions there */
int pp_remote_init(pp_pool *pool, const pp_pool_options *options, int32_t num_lanes,
                   int32_t keeps_last, pp_error *error);
void pp_remote_fini(pp_pool *pool);

/* refuses environments whose worker is dead */
int pp_remote_check_locked(const pp_pool *pool, const int32_t *env_ids, int32_t count,
                           pp_error *error);

/* queues accepted environments and wakes their workers */
void pp_remote_queue_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place);

/* lists the environments that failed in a block of so many rows; returns how many */
int32_t pp_remote_failed(const pp_pool *pool, const int32_t *env_ids, int32_t rows,
                         int32_t *failed);

/* notes which environments of a batch have replies */
void pp_remote_list_replies_locked(pp_pool *pool, const int32_t *env_ids, int32_t rows);

/* adds what is known of workers */
void pp_remote_stats(const pp_pool *pool, pp_stats *stats);

/* tells the workers to end */
void pp_remote_close(pp_pool *pool);

/* a block for a batch, and its end; the latter returns 0 for memory of another kind */
void *pp_remote_block_alloc(pp_pool *pool);
int pp_remote_block_free(void *memory, int64_t size);

#endif
