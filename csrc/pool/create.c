/* Create: checks the options of a pool and makes its parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "error.h"
#include "os/os.h"
#include "pool.h"
#include "processes/processes.h"
#include "threads/lanes.h"

/* --------------------------------------------------------------------------------- checks -- */

static int check_options(const void *source, const pp_pool_options *o, pp_pool **out,
                         pp_error *error) {
  if (!out)
    return pp_error_set(error, PP_ERR_ARGUMENT, "out is null: give the address of a pool pointer");
  *out = NULL;
  if (!source || !o) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s is null: give it",
                        o ? "the definition or configuration" : "options");
  }
  if (o->num_envs < 1 || o->num_envs > PP_MAX_ENVS) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "num_envs=%d: choose 1 to %d", o->num_envs,
                        PP_MAX_ENVS);
  }
  if (o->batch_size < 1 || o->batch_size > o->num_envs) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "batch_size=%d, num_envs=%d: choose 1 <= batch_size <= num_envs",
                        o->batch_size, o->num_envs);
  }
  if (o->num_threads < 0 || o->num_threads > PP_MAX_CPUS) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "num_threads=%d: choose 1 to %d, or 0 for what the machine has",
                        o->num_threads, PP_MAX_CPUS);
  }
  if (o->autoreset < PP_NEXT_STEP || o->autoreset > PP_DISABLED) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "autoreset=%d: choose a pp_autoreset",
                        o->autoreset);
  }
  if (o->max_episode_steps < -1) {
    return pp_error_set(
        error, PP_ERR_ARGUMENT,
        "max_episode_steps=%d: choose 1 or more, 0 for no limit, or -1 for the default",
        o->max_episode_steps);
  }
  return PP_OK;
}

/* returns the bytes of one row; infinity if the shape, which is unchecked here, is invalid */
static double field_bytes(const pp_field *field) {
  double bytes = (double)pp_dtype_size(field->dtype);
  if (field->ndim < 0 || field->ndim > PP_MAX_NDIM || field->per_player) return INFINITY;
  for (int32_t axis = 0; axis < field->ndim; axis++) {
    if (field->shape[axis] < 0) return INFINITY;
    bytes *= (double)field->shape[axis];
  }
  return bytes;
}

/* checks the configuration and the options of a pool with worker processes */
static int check_config(const pp_config *config, const pp_pool_options *o, int32_t num_lanes,
                        pp_error *error) {
  const double most_bytes = 0x1p48;
  double bytes = field_bytes(&config->action);
  if (num_lanes < 1 || num_lanes > o->num_envs) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "num_workers=%d, num_envs=%d: choose 1 to num_envs",
                        num_lanes, o->num_envs);
  }
  if (o->variation) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "variation: environments in worker processes have their own options: "
                        "choose null");
  }
  if (config->num_players != 1) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "num_players=%d: environments in worker processes have one player",
                        config->num_players);
  }
  if (o->extras) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "extras=%d: worker processes write no such columns: choose 0", o->extras);
  }
  if (o->max_episode_steps > 0) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "max_episode_steps=%d: environments in worker processes have their own "
                        "limits: choose -1",
                        o->max_episode_steps);
  }
  if (config->num_fields < 0 || config->num_fields > PP_MAX_FIELDS) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "num_fields=%d: choose 0 to %d", config->num_fields,
                        PP_MAX_FIELDS);
  }
  for (int32_t i = 0; i < config->num_fields; i++) bytes += field_bytes(&config->fields[i]);
  if (bytes * o->num_envs <= most_bytes) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "fields of %.3g bytes in num_envs=%d environments: choose shapes that are "
                      "not negative, and fewer than 2^48 bytes in all",
                      bytes, o->num_envs);
}

/* --------------------------------------------------------------------------------- making -- */

/* allocates the pool's arrays and its ring */
static int make_records(pp_pool *pool, const pp_pool_options *options) {
  size_t n = (size_t)options->num_envs;
  pool->failed = calloc(n, sizeof(*pool->failed));
  pool->is_in_flight = calloc(n, sizeof(*pool->is_in_flight));
  pool->entries = calloc(n, sizeof(*pool->entries));
  pool->sent_ids = calloc(n, sizeof(*pool->sent_ids));
  pool->step_ids = calloc(n, sizeof(*pool->step_ids));
  if (!pool->failed || !pool->is_in_flight || !pool->entries || !pool->sent_ids ||
      !pool->step_ids) {
    return PP_ERR_MEMORY;
  }
  return pp_ring_init(&pool->ring, options->num_envs, options->batch_size);
}

/* makes the part that both kinds of pools share; returns null if there is no memory */
static pp_pool *make_pool(const pp_lane_ops *ops, const char *topology_root) {
  pp_pool *pool = aligned_alloc(64, (sizeof(*pool) + 63) / 64 * 64);
  if (!pool) return NULL;
  memset(pool, 0, sizeof(*pool));
  pool->ops = *ops;
  pool->caller = &pool->gate;
  pool->fork_generation = pp_os_fork_generation();
  pthread_mutex_init(&pool->lock, NULL);
  pthread_mutex_init(&pool->closing, NULL);
  pp_gate_init(&pool->gate, false);
  pp_topology_read(&pool->topology, topology_root);
  return pool;
}

int pp_pool_create(const pp_env_def *def, const pp_value *values, const pp_pool_options *options,
                   pp_pool **out, pp_error *error) {
  int status = check_options(def, options, out, error);
  const int32_t *limits;
  pp_pool *pool;

  if (status >= 0) status = pp_env_check(def, error);
  if (status < 0) return status;
  pool = make_pool(&pp_threads_ops, options->topology_root);
  if (!pool) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a pool");

  limits = options->variation ? options->variation->limits : NULL;
  status = pp_fleet_init(&pool->fleet, def, values, options, error);
  if (status >= 0) {
    status =
        pp_layout_init(&pool->layout, &pool->fleet.config, options, options->batch_size, error);
  }
  if (status >= 0) status = pp_budget_check(pool, options, error);
  if (status >= 0) status = pp_fleet_make(&pool->fleet, limits, error);
  if (status >= 0) {
    status = make_records(pool, options);
    if (status >= 0) status = pp_threads_init(pool, options);
    if (status < 0) {
      pp_error_set(error, status, "no memory or threads for num_envs=%d, num_threads=%d",
                   options->num_envs, pool->num_threads);
    }
  }
  if (status < 0) {
    pp_pool_destroy(pool);
    return status;
  }
  *out = pool;
  return PP_OK;
}

int pp_pool_create_processes(const pp_config *config, const pp_pool_options *options,
                             int32_t num_lanes, int32_t saves_rows, const pp_address_space *room,
                             pp_pool **out, pp_error *error) {
  const pp_address_space any = {0, 0};
  int status = check_options(config, options, out, error);
  pp_pool *pool;

  if (status >= 0) status = check_config(config, options, num_lanes, error);
  if (status < 0) return status;
  pool = make_pool(&pp_processes_ops, options->topology_root);
  if (!pool) return pp_error_set(error, PP_ERR_MEMORY, "no memory for a pool");
  pool->num_threads = num_lanes;
  status = pp_fleet_init_processes(&pool->fleet, config, options, error);
  if (status >= 0) {
    status = pp_layout_init(&pool->layout, config, options, options->batch_size, error);
  }
  if (status >= 0) status = pp_budget_check(pool, options, error);
  if (status >= 0 && make_records(pool, options) < 0) {
    status = pp_error_set(error, PP_ERR_MEMORY, "no memory for num_envs=%d", options->num_envs);
  }
  if (status >= 0) {
    status = pp_processes_init(pool, options, num_lanes, saves_rows, room ? room : &any, error);
  }
  if (status < 0) {
    pp_pool_destroy(pool);
    return status;
  }
  *out = pool;
  return PP_OK;
}
