/* Rollout: memory for consecutive batches, in which each column is one array over all of them. */
#include "rollout.h"

#include <stdint.h>

#include "error.h"
#include "pool.h"

int32_t pp_rollout_find(const pp_rollout *rollout, const void *address) {
  uintptr_t first = (uintptr_t)rollout->memory, named = (uintptr_t)address;
  if (!first || named < first || named - first >= (uintptr_t)rollout->layout.size) return -1;
  return (int32_t)((named - first) / ((uintptr_t)rollout->layout.size / (size_t)rollout->batches));
}

/* ----------------------------------------------------------------------------------- calls -- */

void *pp_rollout_alloc(pp_pool *pool, int32_t batches) {
  if (!pool->ops.alloc_rollout || batches < 1 || batches > INT32_MAX / pool->ring.batch_size) {
    return NULL;
  }
  return pool->ops.alloc_rollout(pool, batches);
}

static int check(const pp_pool *pool, const void *memory, int32_t batches, void *const *blocks,
                 pp_error *error) {
  int status = pp_pool_check(pool, error);
  if (status < 0) return status;
  if (!pool->ops.alloc_rollout || !pool->ring.is_ordered) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "batches of this pool can't be written into a rollout: it needs threads, "
                        "and batch_size == num_envs");
  }
  if (memory && (batches < 1 || batches > INT32_MAX / pool->ring.batch_size)) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "batches=%d: choose 1 to %d", batches,
                        INT32_MAX / pool->ring.batch_size);
  }
  if (!blocks) return pp_error_set(error, PP_ERR_ARGUMENT, "blocks is null");
  for (int32_t i = 0; status >= 0 && i < pool->ring.capacity; i++) {
    status = pp_pool_check_block(pool, blocks[i], error);
  }
  return status;
}

/* puts blocks into the ring, in place of those that are there, to which nothing was written */
static void replace_blocks_locked(pp_pool *pool, void *const *blocks) {
  pool->ring.offered = pool->ring.received;
  for (int32_t i = 0; i < pool->ring.capacity; i++) {
    pool->ops.block_offered_locked(pool, pp_ring_offer_locked(&pool->ring, blocks[i]));
  }
}

int pp_pool_roll(pp_pool *pool, void *memory, int32_t batches, void *const *blocks,
                 pp_error *error) {
  int status = check(pool, memory, batches, blocks, error);
  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  if (pp_pool_count(pool)) {
    status = pp_error_set(error, PP_ERR_STATE,
                          "results of an earlier call are pending (%d environments): receive them "
                          "first",
                          pp_pool_count(pool));
  } else {
    pool->ring.rollout.memory = memory;
    pool->ring.rollout.batches = memory ? batches : 0;
    pp_layout_repeat(&pool->ring.rollout.layout, &pool->layout, memory ? batches : 1);
    replace_blocks_locked(pool, blocks);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}
