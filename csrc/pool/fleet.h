/* Fleet: what the engine records of each environment of a pool, wherever the environment lives. */
#ifndef PP_POOL_FLEET_H
#define PP_POOL_FLEET_H

#include <stdbool.h>

#include "pp_pool.h"

enum { PP_MAX_PLAYERS = 64 };

/* Arrays have one entry per environment. An entry belongs to the caller while the environment is
 * idle, and to the thread that took it from the queue while it is in flight. Queue and batch hand
 * it over with release and acquire, so entries are not atomic. Worker processes see none of this;
 * their entries are the caller's, under the pool's lock. */
typedef struct pp_fleet {
  pp_config config; /* environment 0's; all have the same fields, action and players */
  int32_t num_envs;
  int32_t num_players;
  int32_t autoreset; /* pp_autoreset */
  uint8_t *phase;    /* pp_phase */
  uint8_t *command;  /* pp_command */
  pp_error *errors;
} pp_fleet;

/* Describes the environments; allocates nothing yet. */
void pp_fleet_init(pp_fleet *fleet, const pp_config *config, const pp_pool_options *options);

/* Allocates the records, with all environments PP_RUNNING. Returns PP_OK or PP_ERR_MEMORY;
 * pp_fleet_fini frees either result. */
int pp_fleet_alloc(pp_fleet *fleet);
void pp_fleet_fini(pp_fleet *fleet);

/* Returns whether an environment must be reset before it can be stepped. */
bool pp_fleet_needs_reset(const pp_fleet *fleet, int32_t env_id);

#endif
