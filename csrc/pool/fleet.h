/* Fleet: the environments of a pool, their state and the engine's books about each of them. */
#ifndef PP_POOL_FLEET_H
#define PP_POOL_FLEET_H

#include <stdatomic.h>

#include "pp_pool.h"

enum {
  PP_MAX_PLAYERS = 64,
  PP_SEED_WORDS = 16 /* a seed may have 512 bits */
};

/* where an environment is in its episode; 0 must mean that it can be stepped */
enum pp_phase { PP_RUNNING = 0, PP_ENDED = 1, PP_FRESH = 2 };

/* Arrays have one entry per environment. Each entry belongs to the caller while the environment is
 * idle, and to the thread that took it from the queue while it is in flight; queue and batch hand
 * it over with release and acquire, so none of this is atomic. */
typedef struct pp_fleet {
  const pp_env_def *def;
  pp_config config;
  pp_value *options;       /* defaults filled in, texts owned */
  pp_value *reset_options; /* of the last reset with options */
  int32_t num_envs;
  int32_t num_players;
  int32_t is_in_processes; /* they live in worker processes */
  int32_t num_live;        /* environments whose init succeeded */
  int32_t autoreset;
  int32_t max_episode_steps;
  int64_t action_elements; /* of one environment, all players */
  int64_t action_bytes;    /* the same in the action's own dtype */

  char *states;
  size_t stride;
  pp_env *envs;
  pp_rng *rngs;
  int32_t *elapsed;
  uint8_t *phase;
  uint8_t *command;
  double *returns; /* num_players each, kept only if the layout shows them */
  int32_t keeps_returns;
  char *actions;          /* of the action's own dtype, whatever the definition knows besides */
  double *wide;           /* where a Box action of another dtype lies, null: there are none */
  uint8_t *action_dtypes; /* of the action that an environment's next step takes */
  int32_t common_dtype;   /* what all of these are, -1: they differ. Under the pool's lock */
  uint32_t (*seeds)[PP_SEED_WORDS];
  uint8_t *seed_sizes; /* words of the seed that the next reset takes, 0: none */
  pp_error *errors;
  size_t states_size; /* bytes of states */
  /* ns that a reset takes at least, 0 while unknown; written and read by every thread, relaxed: an
   * estimate (see pp_autoreset_learn) */
  _Atomic int64_t reset_cost;
  /* 1: step_many has taken long, and is not called. As above (see pp_stepper_learn) */
  _Atomic int32_t avoids_runs;
} pp_fleet;

/* runs configure: what the environments will be, and nothing made yet */
int pp_fleet_init(pp_fleet *fleet, const pp_env_def *def, const pp_value *values,
                  const pp_pool_options *options, pp_error *error);

/* bytes that pp_fleet_make allocates */
double pp_fleet_bytes(const pp_fleet *fleet);

/* makes the environments; on failure everything is undone, configure included */
int pp_fleet_make(pp_fleet *fleet, pp_error *error);

/* the books alone, of environments that live in worker processes; actions is left null */
int pp_fleet_init_processes(pp_fleet *fleet, const pp_config *config,
                            const pp_pool_options *options, pp_error *error);

void pp_fleet_fini(pp_fleet *fleet);

/* 1: this environment must be reset before it can be stepped */
int pp_fleet_needs_reset(const pp_fleet *fleet, int32_t env_id);

/* refuses a seed of more words than there is room for */
int pp_fleet_check_seed(int32_t env_id, int32_t count, pp_error *error);

/* stores a checked seed for the next reset; no words: keep the generator */
void pp_fleet_seed(pp_fleet *fleet, int32_t env_id, const uint32_t *words, int32_t count);

/* the action of one environment, as its step callback takes it */
void *pp_fleet_action(const pp_fleet *fleet, int32_t env_id);

#endif
