/* Inspect: reads an environment between its steps: observe, render and expose. */
#include "inspect.h"

#include <string.h>

#include "pool/error.h"
#include "pool/pool.h"

int pp_natives_find_idle_locked(const pp_pool *pool, int32_t env_id, pp_natives **out,
                                pp_error *error) {
  if (env_id < 0 || env_id >= pool->fleet.num_envs) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "env_id %d: choose 0 to %d", env_id,
                        pool->fleet.num_envs - 1);
  }
  if (pool->is_in_flight[env_id]) {
    return pp_error_set(error, PP_ERR_STATE,
                        "environment %d is in flight: receive its result first", env_id);
  }
  *out = pool->ops.natives(pool, error);
  return *out ? PP_OK : PP_ERR_STATE;
}

int pp_natives_explain_failure(pp_natives *natives, int32_t env_id, int status,
                               const char *callback, const char *what, pp_error *error) {
  char *text = natives->fleet->errors[env_id].text;
  pp_error_explain(&natives->fleet->errors[env_id], callback, status);
  pp_error_set(error, status, "environment %d can't be %s: %s", env_id, what, text);
  text[0] = '\0';
  return status;
}

/* refuses an environment that was never reset or has failed: it has no state to show */
static int check_reset(const pp_natives *natives, int32_t env_id, pp_error *error) {
  if (natives->fleet->phase[env_id] != PP_FRESH) return PP_OK;
  return pp_error_set(error, PP_ERR_STATE,
                      "environment %d is not reset: there is nothing to see until it is reset",
                      env_id);
}

static int find_reset_locked(const pp_pool *pool, int32_t env_id, pp_natives **out,
                             pp_error *error) {
  int status = pp_natives_find_idle_locked(pool, env_id, out, error);
  return status < 0 ? status : check_reset(*out, env_id, error);
}

static int observe(const pp_natives *natives, int32_t env_id, void *const *fields) {
  void *rest[PP_MAX_FIELDS];
  if (!natives->pictures.num_frames) {
    return natives->def->observe(&natives->envs[env_id], fields, 0);
  }
  memcpy(rest, fields, sizeof(*rest) * (size_t)natives->fleet->config.num_fields);
  rest[0] = NULL;
  if (fields[0]) pp_pictures_show(&natives->pictures, env_id, fields[0]);
  return natives->def->observe(&natives->envs[env_id], rest, 0);
}

int pp_pool_observe(pp_pool *pool, int32_t env_id, void *const *fields, pp_error *error) {
  int status = pp_pool_check(pool, error);
  pp_natives *natives = NULL;

  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  status = find_reset_locked(pool, env_id, &natives, error);
  if (status >= 0 && !fields) {
    status = pp_error_set(error, PP_ERR_ARGUMENT, "fields are null: give one address for each");
  } else if (status >= 0) {
    status = observe(natives, env_id, fields);
    if (status < 0)
      pp_natives_explain_failure(natives, env_id, status, "observe", "observed", error);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

int pp_pool_option_values(pp_pool *pool, int32_t env_id, pp_value *values, int32_t *limit,
                          pp_error *error) {
  int status = pp_pool_check(pool, error);
  pp_natives *natives = NULL;

  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  status = pp_natives_find_idle_locked(pool, env_id, &natives, error);
  // drawn values are those of an episode
  if (status >= 0 && natives->draws.count) status = check_reset(natives, env_id, error);
  if (status >= 0 && (!values || !limit)) {
    status = pp_error_set(error, PP_ERR_ARGUMENT, "values or limit is null: give both");
  } else if (status >= 0) {
    memcpy(values, natives->envs[env_id].options,
           sizeof(*values) * (size_t)natives->def->num_options);
    *limit = natives->envs[env_id].max_episode_steps;
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

int pp_pool_render(pp_pool *pool, int32_t env_id, pp_image *image, pp_error *error) {
  int status = pp_pool_check(pool, error);
  pp_natives *natives = NULL;

  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  status = pp_natives_find_idle_locked(pool, env_id, &natives, error);
  if (status >= 0 && !natives->def->render) {
    status = pp_error_set(error, PP_ERR_STATE, "%s draws no pictures", natives->def->id);
  } else if (status >= 0 && !image) {
    status = pp_error_set(error, PP_ERR_ARGUMENT, "image is null: give the address of a pp_image");
  } else if (status >= 0) {
    status = natives->def->render(&natives->envs[env_id], image);
    if (status < 0) pp_natives_explain_failure(natives, env_id, status, "render", "drawn", error);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

int pp_pool_expose(pp_pool *pool, int32_t env_id, void *target, pp_error *error) {
  int status = pp_pool_check(pool, error);
  pp_natives *natives = NULL;

  if (status < 0) return status;
  pthread_mutex_lock(&pool->lock);
  status = find_reset_locked(pool, env_id, &natives, error);
  if (status >= 0 && !target) {
    status = pp_error_set(error, PP_ERR_ARGUMENT, "address 0: give the address of an object");
  } else if (status >= 0 && !natives->def->expose) {
    status = pp_error_set(error, PP_ERR_STATE,
                          "%s keeps its simulation to itself: use observe or get_state",
                          natives->def->id);
  } else if (status >= 0) {
    status = natives->def->expose(&natives->envs[env_id], target);
    if (status < 0) pp_natives_explain_failure(natives, env_id, status, "expose", "exposed", error);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}
