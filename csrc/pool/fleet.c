/* Fleet: the environments of a pool, their states and the engine's records of each of them. */
#include "fleet.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "layout.h"
#include "os/os.h"

/* Returns the bytes that a state takes, up to its cache or the next state. Small states lie close
 * together; larger ones start on a cache line, and so do caches. */
static size_t state_room(const pp_config *config) {
  size_t size = config->state_size ? config->state_size : 1;
  size_t unit = size <= 64 && !config->cache_size ? 16 : 64;
  return (size + unit - 1) / unit * unit;
}

/* returns the bytes from one state to the next */
static size_t state_stride(const pp_config *config) {
  return state_room(config) + (config->cache_size + 63) / 64 * 64;
}

double pp_fleet_bytes(const pp_fleet *fleet) {
  size_t records = sizeof(*fleet->envs) + sizeof(*fleet->rngs) + sizeof(*fleet->elapsed) +
                   sizeof(*fleet->phase) + sizeof(*fleet->command) +
                   sizeof(*fleet->returns) * (size_t)fleet->num_players + sizeof(*fleet->seeds) +
                   sizeof(*fleet->seed_sizes);
  return ((double)fleet->stride + (double)fleet->action_bytes + (double)records) * fleet->num_envs;
}

/* Memory is zeroed lazily, so pages that are never touched (errors, seeds) cost nothing. */
static int alloc_arrays(pp_fleet *fleet) {
  size_t n = (size_t)fleet->num_envs;
  bool has_wide = fleet->def->action_dtypes && fleet->config.action.space == PP_BOX;
  fleet->states_size = fleet->stride * n;
  fleet->states = pp_os_pages_alloc(fleet->states_size);
  fleet->envs = calloc(n, sizeof(*fleet->envs));
  fleet->rngs = calloc(n, sizeof(*fleet->rngs));
  fleet->elapsed = calloc(n, sizeof(*fleet->elapsed));
  fleet->phase = calloc(n, sizeof(*fleet->phase));
  fleet->command = calloc(n, sizeof(*fleet->command));
  fleet->returns = calloc(n * (size_t)fleet->num_players, sizeof(*fleet->returns));
  fleet->actions = calloc(n, (size_t)fleet->action_bytes);
  fleet->action_dtypes = calloc(n, sizeof(*fleet->action_dtypes));
  if (has_wide) fleet->wide = calloc(n * (size_t)fleet->action_elements, sizeof(double));
  fleet->seeds = calloc(n, sizeof(*fleet->seeds));
  fleet->seed_sizes = calloc(n, sizeof(*fleet->seed_sizes));
  fleet->errors = calloc(n, sizeof(*fleet->errors));
  fleet->reset_options =
      calloc((size_t)fleet->def->num_reset_options + 1, sizeof(*fleet->reset_options));
  return fleet->states && fleet->envs && fleet->rngs && fleet->elapsed && fleet->phase &&
         fleet->command && fleet->returns && fleet->actions && fleet->action_dtypes &&
         (fleet->wide || !has_wide) && fleet->seeds && fleet->seed_sizes && fleet->errors &&
         fleet->reset_options;
}

/* returns the time limit of an environment before its first reset */
static int32_t first_limit(const pp_fleet *fleet, const int32_t *limits, int32_t i) {
  int32_t limit = limits ? limits[i] : fleet->max_episode_steps;
  pp_draws_first_limit(&fleet->draws, &limit);
  return limit;
}

static int init_env(pp_fleet *fleet, int32_t i, const int32_t *limits, pp_error *error) {
  pp_env *env = &fleet->envs[i];
  int status = PP_OK;

  env->state = fleet->states + fleet->stride * (size_t)i;
  env->cache = (char *)env->state + state_room(&fleet->config);
  env->shared = pp_option_sets_shared(&fleet->option_sets, i);
  env->options = fleet->draws.count
                     ? fleet->draws.values + (size_t)i * (size_t)fleet->def->num_options
                     : pp_option_sets_values(&fleet->option_sets, i);
  env->rng = &fleet->rngs[i];
  env->elapsed = &fleet->elapsed[i];
  env->action_dtype = &fleet->action_dtypes[i];
  env->error = &fleet->errors[i];
  env->id = i;
  env->max_episode_steps = first_limit(fleet, limits, i);
  fleet->phase[i] = PP_FRESH;
  if (fleet->def->init) status = fleet->def->init(env);
  if (status < 0) {
    pp_error_explain(&fleet->errors[i], "init", status);
    pp_error_set(error, status, "%s: environment %d can't be made: %s", fleet->def->id, i,
                 fleet->errors[i].text);
    if (error) error->env_id = i;
  }
  return status;
}

int pp_fleet_init(pp_fleet *fleet, const pp_env_def *def, const pp_value *values,
                  const pp_pool_options *options, pp_error *error) {
  int status;

  memset(fleet, 0, sizeof(*fleet));
  fleet->def = def;
  fleet->num_envs = options->num_envs;
  fleet->autoreset = options->autoreset;
  fleet->keeps_returns = (options->extras & PP_WITH_STATISTICS) != 0;
  fleet->max_episode_steps =
      options->max_episode_steps < 0 ? def->max_episode_steps : options->max_episode_steps;
  status = pp_option_sets_init(&fleet->option_sets, def, values, options, &fleet->config, error);
  if (status >= 0) status = pp_draws_init(&fleet->draws, def, options, &fleet->option_sets, error);
  if (status < 0) {
    pp_fleet_fini(fleet);
    return status;
  }
  fleet->has_step_many = def->step_many && !fleet->config.avoids_runs;
  fleet->has_configs = fleet->option_sets.num_shared > 1;
  fleet->has_limits = options->variation &&
                      (options->variation->limits || pp_draws_has(&fleet->draws, def->num_options));
  fleet->num_players = fleet->config.num_players;
  fleet->action_elements = pp_field_elements(&fleet->config.action, fleet->num_players);
  fleet->action_bytes = fleet->action_elements * pp_dtype_size(fleet->config.action.dtype);
  fleet->stride = state_stride(&fleet->config);
  return PP_OK;
}

int pp_fleet_make(pp_fleet *fleet, const int32_t *limits, pp_error *error) {
  int32_t num_envs = fleet->num_envs;
  size_t size = fleet->config.state_size + fleet->config.cache_size;
  int status;

  if (!alloc_arrays(fleet)) {
    pp_fleet_fini(fleet);
    return pp_error_set(error, PP_ERR_MEMORY,
                        "no memory for num_envs=%d environments with states of %zu bytes: choose "
                        "fewer",
                        num_envs, size);
  }
  fleet->common_dtype = fleet->config.action.dtype;
  memset(fleet->action_dtypes, fleet->common_dtype, (size_t)fleet->num_envs);
  for (; fleet->num_live < fleet->num_envs; fleet->num_live++) {
    status = init_env(fleet, fleet->num_live, limits, error);
    if (status < 0) {
      pp_fleet_fini(fleet);
      return status;
    }
  }
  return PP_OK;
}

/* the definition of environments in worker processes: messages show its id */
static const pp_env_def python_def = {
    .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = "python", .family = "python"};

int pp_fleet_init_processes(pp_fleet *fleet, const pp_config *config,
                            const pp_pool_options *options, pp_error *error) {
  size_t n = (size_t)options->num_envs;

  memset(fleet, 0, sizeof(*fleet));
  fleet->def = &python_def;
  fleet->config = *config;
  fleet->num_envs = options->num_envs;
  fleet->num_players = config->num_players;
  fleet->autoreset = options->autoreset;
  fleet->action_elements = pp_field_elements(&config->action, config->num_players);
  fleet->action_bytes = fleet->action_elements * pp_dtype_size(config->action.dtype);
  fleet->common_dtype = config->action.dtype;
  fleet->is_in_processes = true;
  // all PP_RUNNING: workers keep the phases of their environments; see pp_processes_collect_locked
  fleet->phase = calloc(n, sizeof(*fleet->phase));
  fleet->command = calloc(n, sizeof(*fleet->command));
  fleet->errors = calloc(n, sizeof(*fleet->errors));
  if (fleet->phase && fleet->command && fleet->errors) return PP_OK;
  pp_fleet_fini(fleet);
  return pp_error_set(error, PP_ERR_MEMORY, "no memory for num_envs=%d: choose fewer",
                      options->num_envs);
}

void pp_fleet_fini(pp_fleet *fleet) {
  if (fleet->def) {
    if (fleet->def->fini) {
      for (int32_t i = 0; i < fleet->num_live; i++) fleet->def->fini(&fleet->envs[i]);
    }
    pp_draws_fini(&fleet->draws);
    pp_option_sets_fini(&fleet->option_sets, fleet->def);
  }
  pp_os_pages_free(fleet->states, fleet->states_size);
  free(fleet->envs);
  free(fleet->rngs);
  free(fleet->elapsed);
  free(fleet->phase);
  free(fleet->command);
  free(fleet->returns);
  free(fleet->actions);
  free(fleet->wide);
  free(fleet->action_dtypes);
  free(fleet->seeds);
  free(fleet->seed_sizes);
  free(fleet->errors);
  free(fleet->candidate);
  free(fleet->reset_options);
  memset(fleet, 0, sizeof(*fleet));
}

bool pp_fleet_needs_reset(const pp_fleet *fleet, int32_t env_id) {
  return fleet->phase[env_id] != PP_RUNNING;
}

int pp_fleet_check_seed(int32_t env_id, int32_t count, pp_error *error) {
  if (count >= 0 && count <= PP_SEED_WORDS) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "the seed of environment %d has %d bits: choose one of at most %d bits",
                      env_id, 32 * count, 32 * PP_SEED_WORDS);
}

void pp_fleet_seed(pp_fleet *fleet, int32_t env_id, const uint32_t *words, int32_t count) {
  if (count == 0) return;
  memcpy(fleet->seeds[env_id], words, sizeof(*words) * (size_t)count);
  fleet->seed_sizes[env_id] = (uint8_t)count;
}

void *pp_fleet_action(const pp_fleet *fleet, int32_t env_id) {
  if (fleet->wide && fleet->action_dtypes[env_id] != fleet->config.action.dtype) {
    return fleet->wide + fleet->action_elements * env_id;
  }
  return fleet->actions + fleet->action_bytes * env_id;
}
