/* Option sets: the option values of a pool's environments, and what configure makes of them. */
#ifndef PP_NATIVE_OPTION_SETS_H
#define PP_NATIVE_OPTION_SETS_H

#include <stdbool.h>

#include "pp_pool.h"

/* what the environments of one configuration have of their own: the members of pp_config */
typedef struct pp_own {
  const char *task;
  int64_t num_actions;
} pp_own;

/* Environments with the same option values have one set. Sets that differ only in options with
 * .varies have one configuration: configure runs once for it. */
typedef struct pp_option_sets {
  int32_t count;
  int32_t num_shared; /* number of configurations */
  pp_value **values;  /* the values of each set, a block of pp_values_copy */
  int32_t *config_of; /* index of the configuration of each set */
  int32_t *set_of;    /* index of the set of each environment; null: all have set 0 */
  void **shared;      /* what configure made for each configuration */
  uint8_t *varying;   /* pp_config.varying; null: nothing differs */
  pp_own *own;        /* pp_own of each configuration */
  bool has_own;       /* some entry of own is not all zero */
} pp_option_sets;

/* Copies the values and runs configure; writes the configuration to config, with the largest state
 * of all. values: one per option; null or ignored if options has a variation. Returns a pp_status:
 * PP_ERR_ARGUMENT if two configurations differ in fields, action or players. On failure there is
 * nothing to free. */
int pp_option_sets_init(pp_option_sets *sets, const pp_env_def *def, const pp_value *values,
                        const pp_pool_options *options, pp_config *config, pp_error *error);

void pp_option_sets_fini(pp_option_sets *sets, const pp_env_def *def);

/* Returns the option values of an environment. */
static inline pp_value *pp_option_sets_values(const pp_option_sets *sets, int32_t env_id) {
  return sets->values[sets->set_of ? sets->set_of[env_id] : 0];
}

/* Returns what an environment's configuration has made. */
static inline void *pp_option_sets_shared(const pp_option_sets *sets, int32_t env_id) {
  return sets->shared[sets->set_of ? sets->config_of[sets->set_of[env_id]] : 0];
}

/* Returns what an environment has of its own. */
static inline const pp_own *pp_option_sets_own(const pp_option_sets *sets, int32_t env_id) {
  return &sets->own[sets->set_of ? sets->config_of[sets->set_of[env_id]] : 0];
}

#endif
