/* Draws: option values that are drawn anew at each reset of an environment. */
#include "draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/state_check.h"
#include "natives.h"
#include "pool/error.h"

/* --------------------------------------------------------------------------------- checks -- */

/* Returns the option that a draw chooses a value of. max_episode_steps is no option: a stand-in
 * with its range is returned for it. */
static pp_option option_of(const pp_env_def *def, const pp_draw *draw) {
  if (draw->option < def->num_options) return def->options[draw->option];
  return (pp_option){
      .name = "max_episode_steps", .type = PP_OPT_INT, .high = INT32_MAX, .varies = true};
}

static bool is_in_range(const pp_option *option, double value) {
  // low == high == 0 means no range
  if (option->low == 0 && option->high == 0) return !isnan(value);
  return option->low <= value && value <= option->high;
}

/* returns the largest value that a draw can give, and the smallest if is_lower */
static double bound_of(const pp_option *option, const pp_draw *draw, bool is_lower) {
  double bound = NAN;
  if (draw->kind == PP_DRAW_INTEGER) return (double)(is_lower ? draw->first : draw->last);
  if (draw->kind != PP_DRAW_CHOICE) return is_lower ? draw->low : draw->high;
  for (int64_t i = 0; i < draw->num_choices; i++) {
    const pp_value *choice = &draw->choices[i];
    double value = option->type == PP_OPT_FLOAT ? choice->f : (double)choice->i;
    if (isnan(value)) return NAN;
    if (!(is_lower ? value >= bound : value <= bound)) bound = value;
  }
  return bound;
}

/* returns whether the members that this kind uses are valid */
static bool is_valid(const pp_option *option, const pp_draw *draw) {
  switch (draw->kind) {
    case PP_DRAW_UNIFORM:
      return option->type == PP_OPT_FLOAT && draw->low <= draw->high &&
             isfinite(draw->high - draw->low);
    case PP_DRAW_LOG_UNIFORM:
      return option->type == PP_OPT_FLOAT && draw->low > 0 && draw->low <= draw->high &&
             isfinite(draw->high);
    case PP_DRAW_INTEGER:
      return option->type != PP_OPT_FLOAT && draw->first <= draw->last && draw->last < INT64_MAX;
    case PP_DRAW_CHOICE:
      return draw->choices && draw->num_choices > 0 && draw->num_choices <= INT32_MAX;
    default: return false;
  }
}

static int check_draw(const pp_env_def *def, const pp_variation *variation, int32_t at,
                      pp_error *error) {
  const pp_draw *draw = &variation->draws[at];
  if (draw->option < 0 || draw->option > def->num_options) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "draws[%d]: option=%d: choose 0 to %d", at,
                        draw->option, def->num_options);
  }
  const pp_option option = option_of(def, draw);
  for (int32_t i = 0; i < at; i++) {
    if (variation->draws[i].option != draw->option) continue;
    return pp_error_set(error, PP_ERR_ARGUMENT, "%.40s is drawn twice: give one draw", option.name);
  }
  if (!option.varies || option.type > PP_OPT_FLOAT) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "%.40s: %.40s can't be drawn at each reset: choose one value", def->id,
                        option.name);
  }
  if (is_valid(&option, draw) && is_in_range(&option, bound_of(&option, draw, true)) &&
      is_in_range(&option, bound_of(&option, draw, false))) {
    return PP_OK;
  }
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "%.40s: the values drawn for %.40s are empty, of another type, or outside of "
                      "%g to %g: choose others",
                      def->id, option.name, option.low, option.high);
}

/* ----------------------------------------------------------------------------------- making -- */

double pp_draws_bytes(const pp_env_def *def, const pp_pool_options *options) {
  if (!options->variation || !options->variation->num_draws) return 0;
  return (double)(sizeof(pp_rng) + sizeof(pp_value) * (size_t)def->num_options) *
         (double)options->num_envs;
}

static int alloc(pp_draws *draws, const pp_variation *variation, size_t num_envs) {
  size_t choices = 0;
  for (int32_t i = 0; i < draws->count; i++) {
    if (draws->list[i].kind == PP_DRAW_CHOICE) choices += (size_t)draws->list[i].num_choices;
  }
  draws->choices = calloc(choices + 1, sizeof(*draws->choices));
  draws->rngs = calloc(num_envs, sizeof(*draws->rngs));
  draws->values = calloc(num_envs * (size_t)draws->num_options + 1, sizeof(*draws->values));
  if (!draws->choices || !draws->rngs || !draws->values) return PP_ERR_MEMORY;
  choices = 0;
  for (int32_t i = 0; i < draws->count; i++) {
    pp_draw *draw = &draws->list[i];
    if (draw->kind != PP_DRAW_CHOICE) continue;
    memcpy(draws->choices + choices, variation->draws[i].choices,
           sizeof(*draws->choices) * (size_t)draw->num_choices);
    draw->choices = draws->choices + choices;
    choices += (size_t)draw->num_choices;
  }
  return PP_OK;
}

static pp_value *value_of(const pp_draws *draws, int32_t env_id, int32_t option) {
  return draws->values + (size_t)env_id * (size_t)draws->num_options + option;
}

/* writes the first value that can be drawn to the members that draw_value writes */
static void put_first(const pp_draw *draw, pp_value *value) {
  switch (draw->kind) {
    case PP_DRAW_INTEGER:
      value->i = draw->first;
      value->f = (double)draw->first;
      break;
    case PP_DRAW_CHOICE:
      value->i = draw->choices[0].i;
      value->f = draw->choices[0].f;
      value->dtype = draw->choices[0].dtype;
      break;
    default: value->f = draw->low;
  }
}

static void set_first(pp_draws *draws, int32_t env_id) {
  for (int32_t i = 0; i < draws->count; i++) {
    const pp_draw *draw = &draws->list[i];
    if (draw->option == draws->num_options) continue;
    pp_value *value = value_of(draws, env_id, draw->option);
    // drawn numbers are Python floats; all choices of an option have one type
    value->dtype = 0;
    put_first(draw, value);
  }
}

int pp_draws_init(pp_draws *draws, const pp_env_def *def, const pp_pool_options *options,
                  const pp_option_sets *sets, pp_error *error) {
  const pp_variation *variation = options->variation;
  size_t num_options = (size_t)def->num_options, n = (size_t)options->num_envs;

  memset(draws, 0, sizeof(*draws));
  if (!variation || !variation->num_draws) return PP_OK;
  if (variation->num_draws < 0 || variation->num_draws > def->num_options + 1 ||
      !variation->draws) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "num_draws=%d: choose 0 to %d, and give draws",
                        variation->num_draws, def->num_options + 1);
  }
  for (int32_t i = 0; i < variation->num_draws; i++) {
    int status = check_draw(def, variation, i, error);
    if (status < 0) return status;
  }
  draws->num_options = def->num_options;
  draws->list = malloc(sizeof(*draws->list) * (size_t)variation->num_draws);
  if (draws->list) {
    draws->count = variation->num_draws;
    memcpy(draws->list, variation->draws, sizeof(*draws->list) * (size_t)draws->count);
  }
  if (!draws->list || alloc(draws, variation, n) < 0) {
    pp_draws_fini(draws);
    return pp_error_set(error, PP_ERR_MEMORY, "no memory for draws of %d environments",
                        options->num_envs);
  }
  for (size_t i = 0; i < n; i++) {
    memcpy(draws->values + i * num_options, pp_option_sets_values(sets, (int32_t)i),
           sizeof(*draws->values) * num_options);
    set_first(draws, (int32_t)i);
  }
  return PP_OK;
}

void pp_draws_fini(pp_draws *draws) {
  free(draws->list);
  free(draws->choices);
  free(draws->rngs);
  free(draws->values);
  memset(draws, 0, sizeof(*draws));
}

/* ---------------------------------------------------------------------------------- drawing -- */

void pp_draws_seed(pp_draws *draws, int32_t env_id, const uint32_t *words, int32_t count) {
  uint32_t spawned[PP_SEED_WORDS + 1] = {0};
  // NumPy fills up the entropy with zeros before it appends the spawn key, which is (0,)
  int32_t key_at = count > PP_SEED_POOL ? count : PP_SEED_POOL;
  memcpy(spawned, words, sizeof(*words) * (size_t)count);
  pp_rng_seed(&draws->rngs[env_id], spawned, key_at + 1);
}

static double draw_log_uniform(const pp_draw *draw, pp_rng *rng) {
  double value = exp(pp_rng_uniform(rng, log(draw->low), log(draw->high)));
  return value < draw->low ? draw->low : value > draw->high ? draw->high : value;
}

/* draws into a value; a float is in f, other types are in both members */
static void draw_value(const pp_draw *draw, pp_rng *rng, pp_value *value) {
  switch (draw->kind) {
    case PP_DRAW_UNIFORM: value->f = pp_rng_uniform(rng, draw->low, draw->high); break;
    case PP_DRAW_LOG_UNIFORM: value->f = draw_log_uniform(draw, rng); break;
    case PP_DRAW_INTEGER:
      value->i = pp_rng_integers(rng, draw->first, draw->last + 1);
      value->f = (double)value->i;
      break;
    default: {
      const pp_value *choice = &draw->choices[pp_rng_integers(rng, 0, draw->num_choices)];
      value->i = choice->i;
      value->f = choice->f;
    }
  }
}

void pp_draws_options(pp_draws *draws, int32_t env_id) {
  for (int32_t i = 0; i < draws->count; i++) {
    const pp_draw *draw = &draws->list[i];
    if (draw->option == draws->num_options) continue;
    draw_value(draw, &draws->rngs[env_id], value_of(draws, env_id, draw->option));
  }
}

void pp_draws_limit(pp_draws *draws, int32_t env_id, int32_t *limit) {
  pp_value value = {0};
  for (int32_t i = 0; i < draws->count; i++) {
    if (draws->list[i].option != draws->num_options) continue;
    draw_value(&draws->list[i], &draws->rngs[env_id], &value);
    *limit = (int32_t)value.i;
  }
}

void pp_draws_first_limit(const pp_draws *draws, int32_t *limit) {
  pp_value value = {0};
  for (int32_t i = 0; i < draws->count; i++) {
    if (draws->list[i].option != draws->num_options) continue;
    put_first(&draws->list[i], &value);
    *limit = (int32_t)value.i;
  }
}

bool pp_draws_has(const pp_draws *draws, int32_t option) {
  for (int32_t i = 0; i < draws->count; i++) {
    if (draws->list[i].option == option) return true;
  }
  return false;
}

/* -------------------------------------------------------------------------------- snapshots -- */

/* what a snapshot holds of one drawn value */
typedef struct saved_value {
  int64_t i;
  double f;
} saved_value;

size_t pp_draws_saved_size(const pp_draws *draws) {
  return draws->count ? sizeof(pp_rng) + sizeof(saved_value) * (size_t)draws->count : 0;
}

void pp_draws_save(const pp_draws *draws, int32_t env_id, int32_t limit, char *bytes) {
  if (!draws->count) return;
  memcpy(bytes, &draws->rngs[env_id], sizeof(pp_rng));
  bytes += sizeof(pp_rng);
  for (int32_t i = 0; i < draws->count; i++, bytes += sizeof(saved_value)) {
    saved_value saved = {.i = limit, .f = limit};
    if (draws->list[i].option < draws->num_options) {
      const pp_value *value = value_of(draws, env_id, draws->list[i].option);
      saved = (saved_value){value->i, value->f};
    }
    memcpy(bytes, &saved, sizeof(saved));
  }
}

/* returns whether a value is one that a draw can give */
static bool can_give(const pp_draw *draw, const saved_value *saved) {
  switch (draw->kind) {
    case PP_DRAW_INTEGER:
      return draw->first <= saved->i && saved->i <= draw->last && saved->f == (double)saved->i;
    case PP_DRAW_CHOICE: break;
    default: return draw->low <= saved->f && saved->f <= draw->high;
  }
  for (int64_t i = 0; i < draw->num_choices; i++) {
    if (draw->choices[i].i == saved->i && draw->choices[i].f == saved->f) return true;
  }
  return false;
}

bool pp_draws_check(const pp_draws *draws, const char *bytes, bool is_seeded, int32_t elapsed) {
  pp_rng rng;
  if (!draws->count) return true;
  memcpy(&rng, bytes, sizeof(rng));
  if (!pp_state_check_rng(&rng, is_seeded)) return false;
  bytes += sizeof(rng);
  for (int32_t i = 0; i < draws->count; i++, bytes += sizeof(saved_value)) {
    saved_value saved;
    memcpy(&saved, bytes, sizeof(saved));
    if (!can_give(&draws->list[i], &saved)) return false;
    // a limit of 0 is none
    if (draws->list[i].option == draws->num_options && saved.i > 0 && elapsed > saved.i) {
      return false;
    }
  }
  return true;
}

void pp_draws_read(const pp_draws *draws, const char *bytes, pp_value *values, int32_t *limit) {
  bytes += sizeof(pp_rng);
  for (int32_t i = 0; i < draws->count; i++, bytes += sizeof(saved_value)) {
    const pp_draw *draw = &draws->list[i];
    saved_value saved;
    memcpy(&saved, bytes, sizeof(saved));
    if (draw->option == draws->num_options) {
      *limit = (int32_t)saved.i;
      continue;
    }
    values[draw->option].f = saved.f;
    // draws of these kinds write only the float
    if (draw->kind == PP_DRAW_UNIFORM || draw->kind == PP_DRAW_LOG_UNIFORM) continue;
    values[draw->option].i = saved.i;
  }
}

void pp_draws_load(pp_draws *draws, int32_t env_id, int32_t *limit, const char *bytes) {
  if (!draws->count) return;
  memcpy(&draws->rngs[env_id], bytes, sizeof(pp_rng));
  pp_draws_read(draws, bytes, value_of(draws, env_id, 0), limit);
}
