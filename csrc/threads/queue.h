/* Action queue: environments waiting to be stepped, one producer, any number of consumers. */
#ifndef PP_THREADS_QUEUE_H
#define PP_THREADS_QUEUE_H

#include <stdatomic.h>
#include <stdint.h>

#include "grain.h"
#include "pool/entry.h"

/* Part of a queue: what one thread takes first, so that an environment's state stays in the caches
 * of one core as long as nobody has to help out. */
typedef struct pp_shard {
  /* Both only grow, so that a compare-and-swap can't mistake an old value for a new one.
   * head: moved by consumers, release and acquire: who takes the next entries knows those before
   * to be read, and says so when its rows are done. So the producer, which sends only to
   * environments whose rows it has, never writes over an entry that is still to be read, and need
   * not look at head. */
  _Alignas(64) _Atomic uint64_t head;
  /* tail: moved by the producer, release: the entries and everything that they speak of (actions,
   * environment states) are visible first. */
  _Alignas(64) _Atomic uint64_t tail;
  /* written by the producer, read by consumers, relaxed: a consumer may read an entry that is being
   * replaced, and throws it away when its swap of head fails */
  _Alignas(64) _Atomic uint64_t *entries;
  uint64_t mask;
} pp_shard;

typedef struct pp_queue {
  pp_shard *shards;
  int32_t num_shards;
  int32_t first_env; /* environments first_env .. first_env+num_envs-1 may be queued */
  int32_t num_envs;
  /* Moved by the producer after the tails, and by whoever leaves a rest (rest.h) after that; read
   * by consumers before they look at shards and rests: whoever finds all of them empty sleeps until
   * it moves. Sequentially consistent, so that a
   * producer that then looks for sleepers can't miss one that went to sleep before it saw this move
   * (park.h). */
  _Alignas(64) _Atomic uint64_t pushes;
  /* environments per entry in the last push; relaxed, a hint for the size of chunks */
  _Atomic int32_t length;
} pp_queue;

/* a shard for each thread that takes; returns a pp_status */
int pp_queue_init(pp_queue *queue, int32_t first_env, int32_t num_envs, int32_t num_shards);
void pp_queue_fini(pp_queue *queue);

/* Queues entries of about this many environments each. The caller holds the pool's lock, and queues
 * no environment that is queued already. */
void pp_queue_push_locked(pp_queue *queue, const pp_entry *entries, int32_t count, int32_t length);

/* takes a chunk (at most PP_GRAIN_ROWS entries, and of about most environments, yet at least one
 * entry) into out, from shard home if it has any, else from the next that has; returns its length,
 * 0: all are empty */
int32_t pp_queue_take(pp_queue *queue, int32_t home, const pp_grain *grain, int32_t most,
                      pp_entry *out);

/* entries that wait in a shard, as of some moment ago */
int64_t pp_queue_waiting(const pp_queue *queue, int32_t shard);

/* there is something to take outside the shards */
void pp_queue_announce(pp_queue *queue);

/* the number of pushes so far */
uint64_t pp_queue_pushes(pp_queue *queue);

#endif
