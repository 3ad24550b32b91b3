/* Fleet: the environments of a pool, their states and the engine's records of each of them. */
#ifndef PP_POOL_FLEET_H
#define PP_POOL_FLEET_H

#include <stdbool.h>

#include "configs.h"
#include "draws.h"
#include "pp_pool.h"

enum {
  PP_MAX_PLAYERS = 64,
  PP_SEED_WORDS = 16 /* a seed has at most 512 bits */
};

/* Arrays have one entry per environment. An entry belongs to the caller while the environment is
 * idle, and to the thread that took it from the queue while it is in flight. Queue and batch hand
 * it over with release and acquire, so entries are not atomic. */
typedef struct pp_fleet {
  const pp_env_def *def;
  pp_config config; /* of environment 0; all have the same fields, action and players */
  pp_configs configs;
  pp_draws draws;
  bool has_step_many;      /* the definition has it, and it can step these environments */
  bool has_configs;        /* runs must not cross environments whose shared differs */
  bool has_limits;         /* max_episode_steps differs, or is drawn */
  pp_value *reset_options; /* of the last reset with options */
  int32_t num_envs;
  int32_t num_players;
  bool is_in_processes;      /* the environments live in worker processes */
  int32_t num_live;          /* environments whose init succeeded */
  int32_t autoreset;         /* pp_autoreset */
  int32_t max_episode_steps; /* if has_limits is not set */
  int64_t action_elements;   /* of one environment, all players */
  int64_t action_bytes;      /* the same in the action's own dtype */

  char *states;
  size_t stride; /* bytes from one state to the next */
  pp_env *envs;
  pp_rng *rngs;
  int32_t *elapsed; /* steps of the running episode */
  uint8_t *phase;   /* pp_phase */
  uint8_t *command; /* pp_command */
  double *returns;  /* num_players each, kept only if the layout shows them */
  bool keeps_returns;
  char *actions;          /* in the action's own dtype, whatever else the definition accepts */
  double *wide;           /* Box actions of other dtypes; null if the definition takes none */
  uint8_t *action_dtypes; /* the dtype of the action that the next step takes */
  int32_t common_dtype;   /* what all action_dtypes are, -1: they differ. Under the pool's lock */
  uint32_t (*seeds)[PP_SEED_WORDS];
  uint8_t *seed_sizes; /* words of the seed that the next reset takes, 0: none */
  pp_error *errors;
  char *candidate;    /* see snapshot.c; null until a snapshot is checked. Under the pool's lock */
  size_t states_size; /* bytes of states */
} pp_fleet;

/* Runs configure and computes sizes; makes no environment yet. Returns a pp_status. */
int pp_fleet_init(pp_fleet *fleet, const pp_env_def *def, const pp_value *values,
                  const pp_pool_options *options, pp_error *error);

/* Returns an estimate of the bytes that pp_fleet_make allocates; a double, as the product may be
 * huge. */
double pp_fleet_bytes(const pp_fleet *fleet);

/* Makes the environments; limits: max_episode_steps of each, null: one for all. Returns a
 * pp_status; on failure all is undone, configure included. */
int pp_fleet_make(pp_fleet *fleet, const int32_t *limits, pp_error *error);

/* Makes only the records, for environments that live in worker processes. actions stays null.
 * Returns a pp_status. */
int pp_fleet_init_processes(pp_fleet *fleet, const pp_config *config,
                            const pp_pool_options *options, pp_error *error);

void pp_fleet_fini(pp_fleet *fleet);

/* Returns whether an environment must be reset before it can be stepped. */
bool pp_fleet_needs_reset(const pp_fleet *fleet, int32_t env_id);

/* Returns PP_ERR_ARGUMENT if a seed has more words than PP_SEED_WORDS. */
int pp_fleet_check_seed(int32_t env_id, int32_t count, pp_error *error);

/* Stores a checked seed for the next reset; with count 0 the current generator stays. */
void pp_fleet_seed(pp_fleet *fleet, int32_t env_id, const uint32_t *words, int32_t count);

/* Returns the action of one environment, as its step callback takes it. */
void *pp_fleet_action(const pp_fleet *fleet, int32_t env_id);

#endif
