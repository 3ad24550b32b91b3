/* Action queue: environments that wait to be stepped; one producer, any number of consumers. */
#ifndef PP_THREADS_QUEUE_H
#define PP_THREADS_QUEUE_H

#include <stdatomic.h>
#include <stdint.h>

#include "cost.h"
#include "pool/entry.h"

/* One part of a queue. Each thread takes from its own shard first, so that an environment's state
 * stays in the caches of one core unless another thread must help. */
typedef struct pp_shard {
  /* Both numbers only grow, so that a compare-and-swap can't mistake an old value for a new one.
   * head: moved by consumers, release and acquire. A thread that takes the next entries knows that
   * the entries before them have been read, and publishes that when its rows are done. So the
   * producer, which sends only to environments whose rows it has received, never overwrites an
   * entry that is still to be read, and need not read head. */
  _Alignas(64) _Atomic uint64_t head;
  /* tail: moved by the producer, release: the entries and everything that they refer to (actions,
   * environment states) are visible first. */
  _Alignas(64) _Atomic uint64_t tail;
  /* Written by the producer, read by consumers, relaxed: a consumer may read an entry that is being
   * replaced, and discards it when its compare-and-swap of head fails. */
  _Alignas(64) _Atomic uint64_t *entries;
  uint64_t mask;
} pp_shard;

typedef struct pp_queue {
  pp_shard *shards;
  int32_t num_shards;
  int32_t first_env; /* environments first_env .. first_env+num_envs-1 may be queued */
  int32_t num_envs;
  /* Raised by the producer after the tails, and by a thread that opens its leftover (leftover.h)
   * after that. Read by consumers before they look at shards and leftovers: a thread that finds all
   * of them empty sleeps until this changes. Sequentially consistent, so that a producer that then
   * looks for sleepers can't miss one that went to sleep before it saw the change (gate.h). */
  _Alignas(64) _Atomic uint64_t pushes;
  /* environments per entry in the last push; relaxed, a hint for the size of chunks */
  _Atomic int32_t length;
} pp_queue;

/* Makes one shard for each thread that takes from the queue. Returns PP_OK or PP_ERR_MEMORY. */
int pp_queue_init(pp_queue *queue, int32_t first_env, int32_t num_envs, int32_t num_shards);
void pp_queue_fini(pp_queue *queue);

/* Queues entries of about `length` environments each. The caller holds the pool's lock, and queues
 * no environment that is queued already. */
void pp_queue_push_locked(pp_queue *queue, const pp_entry *entries, int32_t count, int32_t length);

/* Takes a chunk: 1 to PP_MAX_CHUNK entries, of up to about `max_envs` environments in all. Takes
 * from shard `home`, or from the next shard that is not empty. Returns the number of entries, 0 if
 * all shards are empty. */
int32_t pp_queue_take(pp_queue *queue, int32_t home, const pp_cost *cost, int32_t max_envs,
                      pp_entry *out);

/* Returns the number of entries in a shard, which may be out of date. */
int64_t pp_queue_waiting(const pp_queue *queue, int32_t shard);

/* Raises pushes, for something to take that is outside the shards. */
void pp_queue_announce(pp_queue *queue);

/* Returns the number of pushes and announcements so far. */
uint64_t pp_queue_pushes(pp_queue *queue);

#endif
