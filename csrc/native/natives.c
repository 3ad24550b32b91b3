/* Natives: the environments of a pool that live in this process, their states side by side, and
 * what the engine keeps for each of them. */
#include "natives.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "pool/error.h"
#include "pool/field.h"
#include "visit.h"

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

double pp_natives_bytes(const pp_natives *natives, const pp_pool_options *options) {
  const pp_fleet *fleet = natives->fleet;
  size_t records = sizeof(*natives->envs) + sizeof(*natives->rngs) + sizeof(*natives->elapsed) +
                   sizeof(*fleet->phase) + sizeof(*fleet->command) +
                   sizeof(*natives->returns) * (size_t)fleet->num_players +
                   sizeof(*natives->seeds) + sizeof(*natives->seed_sizes);
  return ((double)natives->stride + (double)natives->pictures.stride +
          (double)natives->action_bytes + (double)records) *
             fleet->num_envs +
         pp_draws_bytes(natives->def, options);
}

/* Memory is zeroed lazily, so pages that are never touched (seeds) cost nothing. */
static bool alloc_arrays(pp_natives *natives) {
  const pp_fleet *fleet = natives->fleet;
  size_t n = (size_t)fleet->num_envs;
  bool has_wide = natives->def->action_dtypes && fleet->config.action.space == PP_BOX;
  natives->states_size = natives->stride * n;
  natives->states = pp_os_pages_alloc(natives->states_size);
  natives->envs = calloc(n, sizeof(*natives->envs));
  natives->rngs = calloc(n, sizeof(*natives->rngs));
  natives->elapsed = calloc(n, sizeof(*natives->elapsed));
  natives->returns = calloc(n * (size_t)fleet->num_players, sizeof(*natives->returns));
  natives->actions = calloc(n, (size_t)natives->action_bytes);
  natives->action_dtypes = calloc(n, sizeof(*natives->action_dtypes));
  if (has_wide) natives->wide = calloc(n * (size_t)natives->action_elements, sizeof(double));
  natives->seeds = calloc(n, sizeof(*natives->seeds));
  natives->seed_sizes = calloc(n, sizeof(*natives->seed_sizes));
  natives->reset_options =
      calloc((size_t)natives->def->num_reset_options + 1, sizeof(*natives->reset_options));
  return natives->states && natives->envs && natives->rngs && natives->elapsed &&
         natives->returns && natives->actions && natives->action_dtypes &&
         (natives->wide || !has_wide) && natives->seeds && natives->seed_sizes &&
         natives->reset_options;
}

/* returns the time limit of an environment before its first reset */
static int32_t first_limit(const pp_natives *natives, const int32_t *limits, int32_t i) {
  int32_t limit = limits ? limits[i] : natives->max_episode_steps;
  pp_draws_first_limit(&natives->draws, &limit);
  return limit;
}

static int init_env(pp_natives *natives, int32_t i, const int32_t *limits, pp_error *error) {
  pp_fleet *fleet = natives->fleet;
  pp_env *env = &natives->envs[i];
  int status = PP_OK;

  env->state = natives->states + natives->stride * (size_t)i;
  env->cache = (char *)env->state + state_room(&fleet->config);
  env->shared = pp_option_sets_shared(&natives->option_sets, i);
  env->options = natives->draws.count
                     ? natives->draws.values + (size_t)i * (size_t)natives->def->num_options
                     : pp_option_sets_values(&natives->option_sets, i);
  env->rng = &natives->rngs[i];
  env->elapsed = &natives->elapsed[i];
  env->action_dtype = &natives->action_dtypes[i];
  env->error = &fleet->errors[i];
  env->id = i;
  env->max_episode_steps = first_limit(natives, limits, i);
  // the seed 0, which the first reset takes: with a generator of zeros, some draws would never end
  natives->seed_sizes[i] = 1;
  fleet->phase[i] = PP_FRESH;
  if (natives->def->init) status = natives->def->init(env);
  if (status < 0) {
    pp_error_explain(&fleet->errors[i], "init", status);
    pp_error_set(error, status, "%s: environment %d can't be made: %s", natives->def->id, i,
                 fleet->errors[i].text);
    if (error) error->env_id = i;
  }
  return status;
}

int pp_natives_init(pp_natives *natives, pp_fleet *fleet, const pp_env_def *def,
                    const pp_value *values, const pp_pool_options *options, pp_error *error) {
  const pp_variation *variation = options->variation;
  pp_config config;
  int status;

  memset(natives, 0, sizeof(*natives));
  natives->fleet = fleet;
  natives->def = def;
  natives->keeps_returns = (options->extras & PP_WITH_STATISTICS) != 0;
  natives->max_episode_steps =
      options->max_episode_steps < 0 ? def->max_episode_steps : options->max_episode_steps;
  status = pp_option_sets_init(&natives->option_sets, def, values, options, &config, error);
  if (status >= 0) status = pp_pictures_init(&natives->pictures, options->pictures, &config, error);
  if (status < 0) return status;
  pp_fleet_init(fleet, &config, options);
  status = pp_draws_init(&natives->draws, def, options, &natives->option_sets, error);
  if (status < 0) return status;
  // a run writes its rows itself, where pictures go another way
  natives->has_step_many = def->step_many && !config.avoids_runs && !natives->pictures.num_frames;
  natives->has_configs = natives->option_sets.num_shared > 1;
  natives->has_limits =
      variation && (variation->limits || pp_draws_has(&natives->draws, def->num_options));
  natives->action_elements = pp_field_elements(&config.action, config.num_players);
  natives->action_bytes = natives->action_elements * pp_dtype_size(config.action.dtype);
  natives->stride = state_stride(&config);
  return PP_OK;
}

int pp_natives_make(pp_natives *natives, const int32_t *limits, pp_error *error) {
  pp_fleet *fleet = natives->fleet;
  if (pp_fleet_alloc(fleet) < 0 || !alloc_arrays(natives) ||
      pp_pictures_make(&natives->pictures, fleet->num_envs) < 0) {
    return pp_error_set(error, PP_ERR_MEMORY,
                        "no memory for num_envs=%d environments with states of %zu bytes: choose "
                        "fewer",
                        fleet->num_envs, fleet->config.state_size + fleet->config.cache_size);
  }
  natives->common_dtype = fleet->config.action.dtype;
  memset(natives->action_dtypes, natives->common_dtype, (size_t)fleet->num_envs);
  for (; natives->num_live < fleet->num_envs; natives->num_live++) {
    int status = init_env(natives, natives->num_live, limits, error);
    if (status < 0) return status;
  }
  return PP_OK;
}

void pp_natives_fini(pp_natives *natives) {
  if (natives->def) {
    if (natives->def->fini) {
      for (int32_t i = 0; i < natives->num_live; i++) natives->def->fini(&natives->envs[i]);
    }
    pp_draws_fini(&natives->draws);
    pp_option_sets_fini(&natives->option_sets, natives->def);
  }
  pp_pictures_fini(&natives->pictures);
  pp_os_pages_free(natives->states, natives->states_size);
  free(natives->envs);
  free(natives->rngs);
  free(natives->elapsed);
  free(natives->returns);
  free(natives->actions);
  free(natives->wide);
  free(natives->action_dtypes);
  free(natives->seeds);
  free(natives->seed_sizes);
  free(natives->candidate);
  pp_visits_free(natives->visits);
  free(natives->reset_options);
  memset(natives, 0, sizeof(*natives));
}

void *pp_natives_action(const pp_natives *natives, int32_t env_id) {
  if (natives->wide && natives->action_dtypes[env_id] != natives->fleet->config.action.dtype) {
    return natives->wide + natives->action_elements * env_id;
  }
  return natives->actions + natives->action_bytes * env_id;
}
