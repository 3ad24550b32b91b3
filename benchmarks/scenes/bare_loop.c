/* Bare loop: an environment's callbacks without the engine, to measure what the engine adds.
 *
 * It uses the pool's internal structures, because it steps the pool's own environments. */
#include "bare_loop.h"

#include <stdlib.h>
#include <string.h>

#include "native/natives.h"
#include "pool/error.h"
#include "pool/pool.h"

/* Steps all environments once, then resets those whose episode terminated. */
static int bare_round(pp_natives *natives, const pp_layout *layout, const void *actions,
                      void *memory, double *rewards) {
  pp_fleet *fleet = natives->fleet;
  void *fields[PP_MAX_FIELDS];
  uint8_t *terminated = pp_layout_at(layout, memory, layout->terminated, 0);
  pp_failures failures = {.errors = fleet->errors};
  pp_reset reset = {0};
  pp_run run = {.states = natives->states,
                .state_stride = natives->stride,
                .actions = actions,
                .reward = rewards,
                .terminated = terminated,
                .truncated = pp_layout_at(layout, memory, layout->truncated, 0),
                .fields = fields,
                .count = fleet->num_envs,
                .action_dtype = fleet->config.action.dtype,
                .rngs = natives->rngs,
                .elapsed = natives->elapsed,
                .ended = fleet->phase,
                .failures = &failures};
  int status;

  for (int32_t f = 0; f < layout->num_fields; f++) fields[f] = pp_layout_at(layout, memory, f, 0);
  memset(terminated, 0, (size_t)fleet->num_envs);
  status = natives->def->step_many(fleet->config.shared, &run);
  for (int32_t i = 0; i < fleet->num_envs && status >= 0; i++) {
    if (!terminated[i]) continue;
    status = natives->def->reset(&natives->envs[i], &reset);
    for (int32_t f = 0; f < layout->num_fields; f++) {
      fields[f] = pp_layout_at(layout, memory, f, i);
    }
    if (status >= 0) status = natives->def->observe(&natives->envs[i], fields, 1);
  }
  return status;
}

int bare_loop(pp_pool *pool, const void *actions, int32_t num_actions, int64_t rounds,
              pp_error *error) {
  int status = pp_pool_check(pool, error);
  pp_natives *natives;
  double *rewards;
  void *memory;

  if (status < 0) return status;
  natives = pool->ops.natives(pool, error);
  if (!natives) return error->code;
  if (!natives->def->step_many || !pool->ring.is_ordered || pp_pool_count(pool)) {
    return pp_error_set(error, PP_ERR_STATE,
                        "the bare loop needs an ordered pool with nothing in flight, of "
                        "environments with step_many");
  }
  memory = pp_batch_alloc(pool);
  rewards = calloc((size_t)pool->fleet.num_envs * (size_t)pool->fleet.num_players, sizeof(double));
  if (!memory || !rewards) status = pp_error_set(error, PP_ERR_MEMORY, "no memory for a batch");
  // it resets at once what has ended
  memset(pool->fleet.phase, PP_RUNNING, (size_t)pool->fleet.num_envs);
  for (int64_t i = 0; i < rounds && status >= 0; i++) {
    const char *now =
        (const char *)actions + i % num_actions * natives->action_bytes * pool->fleet.num_envs;
    status = bare_round(natives, &pool->layout, now, memory, rewards);
  }
  // the engine has not seen these steps, so every environment starts with a reset
  memset(pool->fleet.phase, PP_FRESH, (size_t)pool->fleet.num_envs);
  free(rewards);
  pp_batch_free(memory, pool->layout.size);
  return status;
}
