/* Fleet: what the engine records of each environment of a pool, wherever the environment lives. */
#include "fleet.h"

#include <stdlib.h>
#include <string.h>

void pp_fleet_init(pp_fleet *fleet, const pp_config *config, const pp_pool_options *options) {
  memset(fleet, 0, sizeof(*fleet));
  fleet->config = *config;
  fleet->num_envs = options->num_envs;
  fleet->num_players = config->num_players;
  fleet->autoreset = options->autoreset;
}

/* Memory is zeroed lazily, so errors that are never written cost nothing. */
int pp_fleet_alloc(pp_fleet *fleet) {
  size_t n = (size_t)fleet->num_envs;
  fleet->phase = calloc(n, sizeof(*fleet->phase));
  fleet->command = calloc(n, sizeof(*fleet->command));
  fleet->errors = calloc(n, sizeof(*fleet->errors));
  return fleet->phase && fleet->command && fleet->errors ? PP_OK : PP_ERR_MEMORY;
}

void pp_fleet_fini(pp_fleet *fleet) {
  free(fleet->phase);
  free(fleet->command);
  free(fleet->errors);
  memset(fleet, 0, sizeof(*fleet));
}

bool pp_fleet_needs_reset(const pp_fleet *fleet, int32_t env_id) {
  return fleet->phase[env_id] != PP_RUNNING;
}
