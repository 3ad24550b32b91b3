/* Blackjack-v1: hit or stick against a dealer who sticks on 17, with an infinite deck.
 *
 * Equals gymnasium 1.4.0 (envs/toy_text/blackjack.py) bit for bit, with the draws of suit and face
 * that only its pictures show. Model: Sutton and Barto, "Reinforcement Learning: An Introduction",
 * example 5.1. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/run.h"
#include "base/state_check.h"
#include "pp_env.h"

enum { STICK, HIT, NUM_ACTIONS };
enum { DECK = 13, TEN = 10, SUITS = 4, FACES = 3, LIMIT = 21, DEALER_STICKS = 17 };

enum { NATURAL, SAB, NUM_OPTIONS };

typedef struct hand {
  int32_t total; /* aces count 1 */
  int32_t num_cards;
  int32_t first;
  int32_t has_ace;
} hand;

/* An environment's state. parallel_pool/_families/toy_text_renderer.py reads it. */
typedef struct hand_pair {
  hand player;
  hand dealer;
  int32_t suit; /* of the dealer's first card: clubs, diamonds, hearts, spades */
  int32_t face; /* if it is a ten: jack, queen, king */
} hand_pair;

/* what all environments share */
typedef struct rules {
  bool pays_natural;
  bool is_sab;
} rules;

/* the player's sum, the dealer's first card, whether the player has a usable ace */
static const int64_t nvec[3] = {32, 11, 2};

static const pp_field fields[] = {
    {.name = "obs",
     .dtype = PP_INT64,
     .space = PP_DISCRETE_TUPLE,
     .ndim = 1,
     .shape = {3},
     .nvec = nvec},
};

static const pp_option options[NUM_OPTIONS] = {
    [NATURAL] = {.name = "natural",
                 .type = PP_OPT_BOOL,
                 .doc = "whether winning with an ace and a ten gives 1.5, unless sab"},
    [SAB] = {.name = "sab",
             .type = PP_OPT_BOOL,
             .number = 1,
             .doc = "whether an ace and a ten win against all but the same, as in the book"},
};

/* ------------------------------------------------------------------------------------ hands -- */

static void draw_card(pp_rng *rng, hand *it) {
  /* an ace, 2 to 10, and three faces that count 10 */
  int32_t card = (int32_t)pp_rng_integers(rng, 0, DECK) + 1;
  card = card > TEN ? TEN : card;
  if (!it->num_cards) it->first = card;
  it->num_cards++;
  it->total += card;
  it->has_ace |= card == 1;
}

static bool has_usable_ace(const hand *it) {
  return it->has_ace && it->total + TEN <= LIMIT;
}

static int32_t sum(const hand *it) {
  return it->total + (has_usable_ace(it) ? TEN : 0);
}

static int32_t score(const hand *it) {
  return sum(it) > LIMIT ? 0 : sum(it);
}

static bool is_natural(const hand *it) {
  return it->num_cards == 2 && it->has_ace && it->total == TEN + 1;
}

static double final_reward(const hand_pair *it, const rules *shared) {
  int32_t ours = score(&it->player), theirs = score(&it->dealer);
  double reward = (ours > theirs) - (ours < theirs);
  if (shared->is_sab) return is_natural(&it->player) && !is_natural(&it->dealer) ? 1 : reward;
  return shared->pays_natural && is_natural(&it->player) && reward == 1 ? 1.5 : reward;
}

/* hits or sticks; returns the reward */
static double play(hand_pair *it, const rules *shared, pp_rng *rng, int64_t action,
                   uint8_t *terminated) {
  if (action == HIT) {
    draw_card(rng, &it->player);
    *terminated = sum(&it->player) > LIMIT;
    return *terminated ? -1 : 0;
  }
  while (sum(&it->dealer) < DEALER_STICKS) draw_card(rng, &it->dealer);
  *terminated = 1;
  return final_reward(it, shared);
}

static void show(const hand_pair *it, int64_t *obs) {
  obs[0] = sum(&it->player);
  obs[1] = it->dealer.first;
  obs[2] = has_usable_ace(&it->player);
}

/* ------------------------------------------------------------------------------- callbacks -- */

static int configure(pp_config *config) {
  rules *shared = malloc(sizeof(*shared));
  if (!shared) return PP_ERR_MEMORY;
  shared->pays_natural = config->options[NATURAL].i != 0;
  shared->is_sab = config->options[SAB].i != 0;
  config->shared = shared;
  return PP_OK;
}

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  hand_pair *it = env->state;
  *it = (hand_pair){0};
  for (int i = 0; i < 2; i++) draw_card(env->rng, &it->dealer);
  for (int i = 0; i < 2; i++) draw_card(env->rng, &it->player);
  it->suit = (int32_t)pp_rng_integers(env->rng, 0, SUITS);
  if (it->dealer.first == TEN) it->face = (int32_t)pp_rng_integers(env->rng, 0, FACES);
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  result->reward[0] =
      play(env->state, env->shared, env->rng, *(const int64_t *)action, &result->terminated);
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  if (rows[0]) show(env->state, rows[0]);
  return PP_OK;
}

static int step_many(void *shared, const pp_run *run) {
  const int64_t *actions = run->actions;
  int64_t *row = run->fields[0];
  for (int32_t i = 0; i < run->count; i++) {
    /* a third of all rows are resets */
    if (run->ended[i]) continue;
    hand_pair *it = pp_run_state(run, i);
    run->reward[i] = play(it, shared, &run->rngs[i], actions[i], &run->terminated[i]);
    if (row) show(it, row + 3 * i);
  }
  return PP_OK;
}

/* A negative total would let the dealer draw for seconds. */
static bool is_hand(const pp_env *env, const hand *it) {
  enum { MOST = LIMIT + TEN };
  return pp_state_check_range(env, "total", it->total, 0, MOST) &&
         pp_state_check_range(env, "num_cards", it->num_cards, 0, MOST) &&
         pp_state_check_range(env, "first", it->first, 0, TEN) &&
         pp_state_check_range(env, "has_ace", it->has_ace, 0, 1);
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const hand_pair *it = saved->state;
  return is_hand(env, &it->player) && is_hand(env, &it->dealer) &&
                 pp_state_check_range(env, "suit", it->suit, 0, SUITS - 1) &&
                 pp_state_check_range(env, "face", it->face, 0, FACES - 1)
             ? PP_OK
             : PP_ERR_ARGUMENT;
}

/* ------------------------------------------------------------------------------ definition -- */

const pp_env_def pp_env_blackjack_v1 = {
    .abi = PP_ENV_ABI,
    .size = sizeof(pp_env_def),
    .id = "Blackjack-v1",
    .family = "toy_text",
    .reference = "gymnasium 1.4.0 Blackjack-v1",
    .options = options,
    .num_options = NUM_OPTIONS,
    .state_size = sizeof(hand_pair),
    .num_fields = 1,
    .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = NUM_ACTIONS},
    .configure = configure,
    .release = free,
    .reset = reset,
    .step = step,
    .observe = observe,
    .step_many = step_many,
    .check_state = check_state,
};
