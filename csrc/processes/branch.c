/* Branch: how a lane without a worker gets one that was forked from another lane's worker. */
#include "lanes.h"
#include "pool/error.h"
#include "worker_death.h"

static int check_branch(const pp_pool *pool, int32_t lane, int32_t env_id, pp_error *error) {
  int status = pp_processes_check_lane(pool, lane, error);
  if (status >= 0) status = pp_processes_check_env(pool, env_id, error);
  if (status < 0) return status;
  if (pool->processes->lanes[lane].count == 1) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT, "lane %d has %d environments: a branch has one", lane,
                      pool->processes->lanes[lane].count);
}

int pp_pool_worker_branched(pp_pool *pool, int32_t lane, int32_t env_id, pp_error *error) {
  int status = check_branch(pool, lane, env_id, error);
  pp_process_lane *branch;
  if (status < 0) return status;
  branch = &pool->processes->lanes[lane];
  pthread_mutex_lock(&pool->lock);
  if (pool->is_in_flight[branch->first] || pool->is_in_flight[env_id]) {
    status = pp_error_set(error, PP_ERR_STATE, "environment %d or %d is in flight", branch->first,
                          env_id);
  } else {
    pp_board_clear_mailbox(&pool->processes->board, lane);
    pp_board_copy_row(&pool->processes->board, env_id, branch->first);
    pool->fleet.phase[branch->first] = pool->fleet.phase[env_id];
    pool->processes->num_dead -= branch->is_dead;
    branch->is_dead = false;
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}
