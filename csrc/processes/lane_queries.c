/* Lane queries: what Python asks about worker processes and their environments. */
#include "lanes.h"

int32_t pp_pool_memory_fd(const pp_pool *pool) {
  return pool->processes ? pool->processes->heap->fd : PP_ERR_STATE;
}

int64_t pp_pool_reserve(const pp_pool *pool) {
  return pool->processes ? pool->processes->heap->reserve : PP_ERR_STATE;
}

static bool has_lane(const pp_pool *pool, int32_t lane) {
  return pool->processes && lane >= 0 && lane < pool->processes->num_lanes;
}

int32_t pp_pool_lane_of(const pp_pool *pool, int32_t env_id) {
  if (!pool->processes) return PP_ERR_STATE;
  if (env_id < 0 || env_id >= pool->fleet.num_envs) return PP_ERR_ARGUMENT;
  return pp_processes_lane_of(pool, env_id);
}

int32_t pp_pool_reply_fd(const pp_pool *pool, int32_t lane) {
  return has_lane(pool, lane) ? pool->processes->lanes[lane].reply_fd : PP_ERR_ARGUMENT;
}

void pp_pool_lane_envs(const pp_pool *pool, int32_t lane, int32_t *first, int32_t *count) {
  if (first) *first = has_lane(pool, lane) ? pool->processes->lanes[lane].first : 0;
  if (count) *count = has_lane(pool, lane) ? pool->processes->lanes[lane].count : 0;
}

int64_t pp_pool_taken_turns(const pp_pool *pool, int32_t lane) {
  if (!has_lane(pool, lane)) return PP_ERR_ARGUMENT;
  return (int64_t)atomic_load_explicit(&pool->processes->board.mailboxes[lane].head,
                                       memory_order_relaxed);
}

int64_t pp_pool_delivered_steps(const pp_pool *pool, int32_t env_id) {
  if (!pool->processes || env_id < 0 || env_id >= pool->fleet.num_envs) return PP_ERR_ARGUMENT;
  return pool->processes->board.envs[env_id].steps;
}

int64_t pp_pool_waiting_turns(const pp_pool *pool, int32_t lane) {
  const pp_mailbox *mailbox;
  uint64_t head, waiting;
  if (!has_lane(pool, lane)) return PP_ERR_ARGUMENT;
  mailbox = &pool->processes->board.mailboxes[lane];
  // relaxed, as the result is a hint; head before tail, so that the difference is not negative
  head = atomic_load_explicit(&mailbox->head, memory_order_relaxed);
  waiting = atomic_load_explicit(&mailbox->tail, memory_order_relaxed) - head;
  return waiting < (uint64_t)pool->processes->lanes[lane].count
             ? (int64_t)waiting
             : pool->processes->lanes[lane].count;
}

int32_t pp_pool_current_env(const pp_pool *pool, int32_t lane) {
  const pp_process_lane *worker;
  int32_t env_id;
  if (!has_lane(pool, lane)) return PP_ERR_ARGUMENT;
  worker = &pool->processes->lanes[lane];
  env_id = atomic_load_explicit(&pool->processes->board.mailboxes[lane].current_env,
                                memory_order_relaxed);
  return env_id >= worker->first && env_id < worker->first + worker->count ? env_id : -1;
}

int32_t pp_pool_command(pp_pool *pool, int32_t env_id) {
  int32_t command = -1;
  if (pp_processes_check_env(pool, env_id, NULL) < 0) return command;
  pthread_mutex_lock(&pool->lock);
  if (pool->is_in_flight[env_id]) command = pool->fleet.command[env_id];
  pthread_mutex_unlock(&pool->lock);
  return command;
}
