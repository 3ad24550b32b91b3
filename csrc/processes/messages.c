/* Messages: bytes of any size, as payloads from the parent and as replies from worker processes. */
#include <string.h>

#include "lanes.h"
#include "os/os.h"
#include "pool/error.h"

/* -------------------------------------------------------------------------------- payloads -- */

int pp_processes_write_message(pp_pool *pool, pp_message *message, const void *bytes, int64_t size,
                               pp_error *error) {
  pp_shared_heap *heap = pool->processes->heap;
  int64_t offset;

  if (size < 0 || (size && !bytes)) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%lld bytes at address %p: give bytes",
                        (long long)size, bytes);
  }
  if (message->size) pp_shared_heap_free(heap, message->offset, message->size);
  *message = (pp_message){0, 0};
  if (!size) return PP_OK;
  offset = pp_shared_heap_alloc(heap, size);
  if (offset < 0) {
    return pp_error_set(error, (int)offset, "no shared memory for a message of %lld bytes",
                        (long long)size);
  }
  memcpy(pp_shared_heap_at(heap, offset), bytes, (size_t)size);
  *message = (pp_message){offset, size};
  return PP_OK;
}

int pp_pool_set_payload(pp_pool *pool, int32_t env_id, const void *bytes, int64_t size,
                        pp_error *error) {
  int status = pp_processes_check_env(pool, env_id, error);
  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  if (pool->is_in_flight[env_id]) {
    status = pp_error_set(error, PP_ERR_STATE,
                          "environment %d is already in flight: receive its result before sending "
                          "to it again",
                          env_id);
  } else {
    status = pp_processes_write_message(pool, &pool->processes->envs[env_id].payload, bytes, size,
                                        error);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

/* --------------------------------------------------------------------------------- replies -- */

bool pp_processes_read_message(pp_pool *pool, int32_t lane, const pp_message *from,
                               pp_message *message) {
  pp_process_lane *worker = &pool->processes->lanes[lane];
  const volatile pp_message *shared = from;
  int64_t known = atomic_load_explicit(&worker->replies_size, memory_order_relaxed);
  int64_t reserve = pool->processes->board.shape.reply_reserve;

  *message = (pp_message){shared->offset, shared->size};
  if (!message->size) {
    message->offset = 0;
    return true;
  }
  if (message->size < 0 || message->size > reserve || message->offset < 0 ||
      message->offset > reserve - message->size) {
    return false;
  }
  if (message->offset + message->size > known) {
    known = pp_os_shared_size(worker->reply_fd);
    atomic_store_explicit(&worker->replies_size, known, memory_order_relaxed);
  }
  return message->offset + message->size <= known;
}

const int32_t *pp_pool_replied(const pp_pool *pool, int32_t *count) {
  if (count) *count = pool->processes ? pool->processes->num_replied : 0;
  return pool->processes ? pool->processes->replied : NULL;
}

const void *pp_pool_reply(const pp_pool *pool, int32_t env_id, int64_t *size) {
  const pp_message none = {0, 0};
  bool is_there = pool->processes && env_id >= 0 && env_id < pool->fleet.num_envs;
  pp_message reply = is_there ? pool->processes->envs[env_id].reply : none;
  if (size) *size = reply.size;
  if (reply.size <= 0) return NULL;
  return pool->processes->lanes[pp_processes_lane_of(pool, env_id)].replies + reply.offset;
}
