/* Queueing: lists the environments of a send as entries, and queues them with their lanes. */
#include "queueing.h"

#include "lanes.h"

/* lists all environments of a lane, `length` in an entry; place: of the pool's first environment */
static int32_t list_all(const pp_lane *lane, int32_t place, int32_t length, pp_entry *entries) {
  int32_t listed = 0;
  for (int32_t i = lane->first_env; i < lane->end_env; i += length) {
    int32_t left = lane->end_env - i;
    entries[listed++] = PP_ENTRY(place + i, i, left < length ? left : length);
  }
  return listed;
}

/* writes one entry for each named environment of this lane, in the caller's order */
static int32_t list_named(const pp_lane *lane, const int32_t *env_ids, int32_t count, int32_t place,
                          pp_entry *entries) {
  int32_t listed = 0;
  for (int32_t i = 0; i < count; i++) {
    if (env_ids[i] < lane->first_env || env_ids[i] >= lane->end_env) continue;
    entries[listed++] = PP_ENTRY(place + i, env_ids[i], 1);
  }
  return listed;
}

void pp_threads_queue_locked(pp_pool *pool, const int32_t *env_ids, int32_t count, int32_t place,
                             bool caller_helps) {
  pp_threads *threads = pool->threads;
  for (int32_t l = 0; l < threads->num_lanes; l++) {
    pp_lane *lane = &threads->lanes[l];
    int32_t length = pp_cost_entry(&lane->cost), queued, envs;
    if (!env_ids) {
      envs = lane->end_env - lane->first_env;
      queued = list_all(lane, place, length, pool->entries);
    } else if (pool->ring.is_ordered || length == 1) {
      length = 1;
      envs = queued = list_named(lane, env_ids, count, place, pool->entries);
    } else {
      // Unordered rows may come in any order, so cheap environments are sorted by id and stepped in
      // runs. In the order in which they were received, the runs of several threads would mix and
      // become shorter with every send.
      envs = pp_idset_add(&lane->named, env_ids, count);
      queued = pp_idset_take(&lane->named, length, pool->entries);
    }
    if (!queued) continue;
    pp_queue_push_locked(&lane->queue, pool->entries, queued, length);
    pp_lane_wake(lane, envs, caller_helps && l == threads->home_lane);
  }
}
