/* Natives: the environments of a pool that live in this process, their states side by side, and
 * what the engine keeps for each of them. */
#ifndef PP_NATIVE_NATIVES_H
#define PP_NATIVE_NATIVES_H

#include <stdbool.h>

#include "draws.h"
#include "option_sets.h"
#include "pictures.h"
#include "pool/fleet.h"

enum { PP_SEED_WORDS = 16 /* a seed has at most 512 bits */ };

/* Arrays have one entry per environment, which belongs to one thread at a time, as entries of the
 * fleet do. */
typedef struct pp_natives {
  pp_fleet *fleet; /* the pool's records of the same environments */
  const pp_env_def *def;
  pp_option_sets option_sets;
  pp_draws draws;
  pp_pictures pictures;
  bool has_step_many;        /* the definition has it, and it can step these environments */
  bool has_configs;          /* runs must not cross environments whose shared differs */
  bool has_limits;           /* max_episode_steps differs between environments, or is drawn */
  bool keeps_returns;        /* the layout shows them */
  int32_t max_episode_steps; /* the limit of all environments, if has_limits is not set */
  int32_t num_live;          /* environments whose init succeeded */
  pp_value *reset_options;   /* values of the last reset with options */
  int64_t action_elements;   /* numbers in the action of one environment, all players */
  int64_t action_bytes;      /* bytes of these in the action's own dtype */

  char *states;
  size_t stride;      /* bytes from one state to the next */
  size_t states_size; /* bytes of states */
  pp_env *envs;
  pp_rng *rngs;
  int32_t *elapsed; /* steps of the running episode */
  double *returns;  /* num_players each, kept only if keeps_returns is set */
  char *actions;    /* actions in the action's own dtype, whatever else the definition accepts */
  double *wide;     /* Box actions of other dtypes; null if the definition takes none */
  uint8_t *action_dtypes; /* the dtype of the action that the next step takes */
  int32_t common_dtype; /* the value of all action_dtypes, -1: they differ. Under the pool's lock */
  uint32_t (*seeds)[PP_SEED_WORDS];
  uint8_t *seed_sizes; /* words of the seed that the next reset takes, 0: none */
  char *candidate;     /* see snapshot.c; null until a snapshot is checked. Under the pool's lock */
  struct pp_visits *visits; /* see visit.h; null: environments keep their states */
} pp_natives;

/* Runs configure, describes the fleet and computes sizes; makes no environment yet. Returns a
 * pp_status. */
int pp_natives_init(pp_natives *natives, pp_fleet *fleet, const pp_env_def *def,
                    const pp_value *values, const pp_pool_options *options, pp_error *error);

/* Returns an estimate of the bytes that pp_natives_init and pp_natives_make allocate, with the
 * fleet's; a double, as the product may be huge. */
double pp_natives_bytes(const pp_natives *natives, const pp_pool_options *options);

/* Makes the environments and the fleet's records; limits: max_episode_steps of each, null: one for
 * all. Returns a pp_status. */
int pp_natives_make(pp_natives *natives, const int32_t *limits, pp_error *error);

/* Ends the environments, before the fleet's records are freed; after a failure, too. */
void pp_natives_fini(pp_natives *natives);

/* Returns the action of one environment, as its step callback takes it. */
void *pp_natives_action(const pp_natives *natives, int32_t env_id);

#endif
