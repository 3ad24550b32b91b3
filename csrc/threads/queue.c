/* Action queue: environments that wait to be stepped; one producer, any number of consumers. */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

#include "pp_env.h"

/* returns the shard that an environment is always queued in */
static pp_shard *shard_of(const pp_queue *queue, int32_t env_id) {
  int64_t at = (int64_t)(env_id - queue->first_env) * queue->num_shards / queue->num_envs;
  return &queue->shards[at];
}

int pp_queue_init(pp_queue *queue, int32_t first_env, int32_t num_envs, int32_t num_shards) {
  // each environment is queued at most once, so a shard never needs more room than this
  uint64_t room = 16, needed = (uint64_t)((num_envs + num_shards - 1) / num_shards);
  while (room < needed) room *= 2;

  memset(queue, 0, sizeof(*queue));
  queue->first_env = first_env;
  queue->num_envs = num_envs;
  queue->num_shards = num_shards;
  queue->shards = aligned_alloc(64, sizeof(*queue->shards) * (size_t)num_shards);
  if (!queue->shards) return PP_ERR_MEMORY;
  memset(queue->shards, 0, sizeof(*queue->shards) * (size_t)num_shards);
  for (int32_t i = 0; i < num_shards; i++) {
    pp_shard *shard = &queue->shards[i];
    shard->mask = room - 1;
    shard->entries = calloc(room, sizeof(*shard->entries));
    if (!shard->entries) return PP_ERR_MEMORY;
  }
  atomic_init(&queue->length, 1);
  return PP_OK;
}

void pp_queue_fini(pp_queue *queue) {
  for (int32_t i = 0; queue->shards && i < queue->num_shards; i++) free(queue->shards[i].entries);
  free(queue->shards);
  queue->shards = NULL;
}

void pp_queue_push_locked(pp_queue *queue, const pp_entry *entries, int32_t count, int32_t length) {
  // relaxed loads of tail: only the holder of the lock moves it
  atomic_store_explicit(&queue->length, length, memory_order_relaxed);
  for (int32_t i = 0; i < count;) {
    pp_shard *shard = shard_of(queue, PP_ENTRY_ENV(entries[i]));
    uint64_t tail = atomic_load_explicit(&shard->tail, memory_order_relaxed);
    // consumers read tail all the time, so it is moved once for all entries of a shard
    do {
      atomic_store_explicit(&shard->entries[tail & shard->mask], entries[i], memory_order_relaxed);
      tail++;
      i++;
    } while (i < count && shard_of(queue, PP_ENTRY_ENV(entries[i])) == shard);
    atomic_store_explicit(&shard->tail, tail, memory_order_release);
  }
  pp_queue_announce(queue);
}

void pp_queue_announce(pp_queue *queue) {
  atomic_fetch_add_explicit(&queue->pushes, 1, memory_order_seq_cst);
}

static int32_t take_from(pp_shard *shard, int32_t length, bool is_shared, const pp_cost *cost,
                         int32_t max_envs, pp_entry *out) {
  uint64_t head = atomic_load_explicit(&shard->head, memory_order_relaxed);
  for (;;) {
    // acquire: makes visible what the producer wrote before it moved tail
    uint64_t tail = atomic_load_explicit(&shard->tail, memory_order_acquire);
    int64_t available = (int64_t)(tail - head);
    int32_t count;

    if (available <= 0) return 0;
    count = pp_cost_chunk(cost, available * length, is_shared);
    count = (count < max_envs ? count : max_envs) / length;
    if (count < 1) count = 1;
    for (int32_t i = 0; i < count; i++) {
      out[i] = atomic_load_explicit(&shard->entries[(head + (uint64_t)i) & shard->mask],
                                    memory_order_relaxed);
    }
    // on success no other thread has taken them meanwhile, so what was read is valid
    if (atomic_compare_exchange_weak_explicit(&shard->head, &head, head + (uint64_t)count,
                                              memory_order_acq_rel, memory_order_relaxed)) {
      return count;
    }
  }
}

int32_t pp_queue_take(pp_queue *queue, int32_t home, const pp_cost *cost, int32_t max_envs,
                      pp_entry *out) {
  int32_t length = atomic_load_explicit(&queue->length, memory_order_relaxed);
  for (int32_t i = 0; i < queue->num_shards; i++) {
    pp_shard *shard = &queue->shards[(home + i) % queue->num_shards];
    int32_t count = take_from(shard, length, queue->num_shards > 1, cost, max_envs, out);
    if (count) return count;
  }
  return 0;
}

int64_t pp_queue_waiting(const pp_queue *queue, int32_t shard) {
  // relaxed: a hint
  uint64_t head = atomic_load_explicit(&queue->shards[shard].head, memory_order_relaxed);
  uint64_t tail = atomic_load_explicit(&queue->shards[shard].tail, memory_order_relaxed);
  return (int64_t)(tail - head);
}

uint64_t pp_queue_pushes(pp_queue *queue) {
  return atomic_load_explicit(&queue->pushes, memory_order_seq_cst);
}
