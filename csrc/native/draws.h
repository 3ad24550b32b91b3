/* Draws: option values that are drawn anew at each reset of an environment.
 *
 * Each environment has a generator for them, which its seed determines: that of
 * numpy.random.SeedSequence(seed).spawn(1)[0]. The environment's own generator draws nothing more
 * than without them. */
#ifndef PP_NATIVE_DRAWS_H
#define PP_NATIVE_DRAWS_H

#include <stdbool.h>

#include "option_sets.h"

typedef struct pp_draws {
  int32_t count; /* 0: nothing is drawn, and all pointers are null */
  int32_t num_options;
  pp_draw *list;
  pp_value *choices; /* choices of all draws, one after another */
  pp_rng *rngs;      /* generator of each environment */
  pp_value *values;  /* num_options values of each environment: those that are in force */
} pp_draws;

/* Checks and copies what a variation draws; until their first reset the environments have the
 * first value that can be drawn. Returns a pp_status; on failure there is nothing to free. */
int pp_draws_init(pp_draws *draws, const pp_env_def *def, const pp_pool_options *options,
                  const pp_option_sets *sets, pp_error *error);

void pp_draws_fini(pp_draws *draws);

/* Returns an estimate of the bytes that pp_draws_init allocates. */
double pp_draws_bytes(const pp_env_def *def, const pp_pool_options *options);

/* Gives an environment's seed (words as in pp_seed) to the generator of its draws. */
void pp_draws_seed(pp_draws *draws, int32_t env_id, const uint32_t *words, int32_t count);

/* Draws the options of an environment, in the order of the list. Before its reset. */
void pp_draws_options(pp_draws *draws, int32_t env_id);

/* Draws max_episode_steps, if it is drawn. After a reset that has begun an episode. Before the
 * first one, pp_draws_first_limit gives the first value that can be drawn. */
void pp_draws_first_limit(const pp_draws *draws, int32_t *limit);
void pp_draws_limit(pp_draws *draws, int32_t env_id, int32_t *limit);

/* Returns whether an option is drawn; option num_options is max_episode_steps. */
bool pp_draws_has(const pp_draws *draws, int32_t option);

/* Snapshots: the generator and the values that are in force. check returns whether bytes hold a
 * generator and values that an environment can have; is_seeded: its seed has been taken. read puts
 * the values over those of an environment, and changes nothing else. */
size_t pp_draws_saved_size(const pp_draws *draws);
void pp_draws_save(const pp_draws *draws, int32_t env_id, int32_t limit, char *bytes);
bool pp_draws_check(const pp_draws *draws, const char *bytes, bool is_seeded, int32_t elapsed);
void pp_draws_read(const pp_draws *draws, const char *bytes, pp_value *values, int32_t *limit);
void pp_draws_load(pp_draws *draws, int32_t env_id, int32_t *limit, const char *bytes);

#endif
