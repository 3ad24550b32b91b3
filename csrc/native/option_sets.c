/* Option sets: the option values of a pool's environments, and what configure makes of them. */
#include "option_sets.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "configure.h"
#include "pool/error.h"
#include "pool/field.h"
#include "values.h"

/* --------------------------------------------------------------------------------- checks -- */

static int check_variation(const pp_variation *variation, int32_t num_envs, pp_error *error) {
  int32_t sets = variation->num_sets;
  if (sets < 1 || sets > num_envs || !variation->values || !variation->set_of) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "num_sets=%d, num_envs=%d: give 1 to num_envs sets of values, and set_of",
                        sets, num_envs);
  }
  for (int32_t i = 0; i < num_envs; i++) {
    if (variation->set_of[i] >= 0 && variation->set_of[i] < sets) continue;
    return pp_error_set(error, PP_ERR_ARGUMENT, "set_of[%d]=%d: choose 0 to %d", i,
                        variation->set_of[i], sets - 1);
  }
  if (variation->set_of[0] != 0) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "set_of[0]=%d: choose 0", variation->set_of[0]);
  }
  for (int32_t i = 0; variation->limits && i < num_envs; i++) {
    if (variation->limits[i] >= 0) continue;
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "max_episode_steps=%d of environment %d: choose 1 or more, or 0 for none",
                        variation->limits[i], i);
  }
  return PP_OK;
}

/* ----------------------------------------------------------------------------- comparisons -- */

static bool is_equal_value(const pp_value *a, const pp_value *b) {
  return a->i == b->i && memcmp(&a->f, &b->f, sizeof(a->f)) == 0 && a->dtype == b->dtype &&
         a->size == b->size && !a->s == !b->s &&
         (!a->s || memcmp(a->s, b->s, (size_t)a->size) == 0);
}

/* returns the first option from index `from` on that differs between two sets, num_options if none;
 * options with .varies count only if with_varies */
static int32_t find_difference(const pp_env_def *def, const pp_value *a, const pp_value *b,
                               int32_t from, bool with_varies) {
  for (int32_t i = from; i < def->num_options; i++) {
    if (!with_varies && def->options[i].varies) continue;
    if (!is_equal_value(&a[i], &b[i])) return i;
  }
  return def->num_options;
}

static uint64_t hash_bytes(uint64_t sum, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < size; i++) sum = (sum ^ at[i]) * 0x100000001b3u;
  return sum;
}

/* hashes the options that configure reads */
static uint64_t hash_set(const pp_env_def *def, const pp_value *set) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (int32_t i = 0; i < def->num_options; i++) {
    if (def->options[i].varies) continue;
    sum = hash_bytes(sum, &set[i].i, sizeof(set[i].i));
    sum = hash_bytes(sum, &set[i].f, sizeof(set[i].f));
    sum = hash_bytes(sum, &set[i].dtype, sizeof(set[i].dtype));
    if (set[i].s) sum = hash_bytes(sum, set[i].s, (size_t)set[i].size);
  }
  return sum;
}

static bool has_same_player_names(const pp_config *a, const pp_config *b) {
  if (!a->player_names || !b->player_names) return a->player_names == b->player_names;
  for (int32_t i = 0; i < a->num_players; i++) {
    if (strcmp(a->player_names[i], b->player_names[i])) return false;
  }
  return true;
}

/* Returns the name of the first difference between two configurations that users see, null if there
 * is none. They see neither state nor shared. */
static const char *difference(const pp_config *a, const pp_config *b) {
  if (a->num_players != b->num_players || !has_same_player_names(a, b)) return "players";
  if (!pp_field_equal(&a->action, &b->action, a->num_players)) return "action";
  for (int32_t i = 0; i < a->num_fields && i < b->num_fields; i++) {
    if (!pp_field_equal(&a->fields[i], &b->fields[i], a->num_players)) return a->fields[i].name;
  }
  return a->num_fields == b->num_fields ? NULL : "infos";
}

/* -------------------------------------------------------------------------------- messages -- */

static int32_t first_env(const pp_option_sets *sets, int32_t set) {
  int32_t env_id = 0;
  while (sets->set_of && sets->set_of[env_id] != set) env_id++;
  return env_id;
}

static void show_value(const pp_option *option, const pp_value *value, char *text, size_t room) {
  switch (option->type) {
    case PP_OPT_BOOL: snprintf(text, room, "%s", value->i ? "True" : "False"); break;
    case PP_OPT_INT: snprintf(text, room, "%" PRId64, value->i); break;
    case PP_OPT_FLOAT: snprintf(text, room, "%g", value->f); break;
    case PP_OPT_STRING: snprintf(text, room, "'%.20s'", value->s); break;
    default: snprintf(text, room, "%" PRId64 " bytes", value->size);
  }
}

/* refuses a set whose environments have other fields than environment 0 */
static int refuse_set(const pp_option_sets *sets, const pp_env_def *def, int32_t set,
                      const char *what, pp_error *error) {
  char first[32], other[32];
  int32_t at = find_difference(def, sets->values[0], sets->values[set], 0, false);
  // options whose names begin with _ follow from others
  for (int32_t i = at; i < def->num_options;) {
    if (def->options[i].name[0] != '_') {
      at = i;
      break;
    }
    i = find_difference(def, sets->values[0], sets->values[set], i + 1, true);
  }
  show_value(&def->options[at], &sets->values[0][at], first, sizeof(first));
  show_value(&def->options[at], &sets->values[set][at], other, sizeof(other));
  return pp_error_set(error, PP_ERR_ARGUMENT,
                      "%.40s: %.40s=%s of environment 0 and %s of environment %d give them "
                      "different %.40s: choose values with the same spaces and infos, or make a "
                      "pool for each",
                      def->id, def->options[at].name, first, other, first_env(sets, set), what);
}

/* ----------------------------------------------------------------------------------- making -- */

static int copy_sets(pp_option_sets *sets, const pp_env_def *def, const pp_value *values,
                     const pp_pool_options *options) {
  const pp_variation *variation = options->variation;
  size_t count = (size_t)(sets->count = variation ? variation->num_sets : 1);
  size_t num_options = (size_t)def->num_options, n = (size_t)options->num_envs;
  if (variation) values = variation->values;
  sets->values = calloc(count, sizeof(*sets->values));
  sets->config_of = calloc(count, sizeof(*sets->config_of));
  sets->shared = calloc(count, sizeof(*sets->shared));
  sets->own = calloc(count, sizeof(*sets->own));
  if (!sets->values || !sets->config_of || !sets->shared || !sets->own) return PP_ERR_MEMORY;
  for (size_t i = 0; i < count; i++) {
    sets->values[i] =
        pp_values_copy(def->options, def->num_options, values ? values + i * num_options : NULL);
    if (!sets->values[i]) return PP_ERR_MEMORY;
  }
  if (!variation) return PP_OK;
  sets->set_of = malloc(sizeof(*sets->set_of) * n);
  sets->varying = calloc(num_options + 1, sizeof(*sets->varying));
  if (!sets->set_of || !sets->varying) return PP_ERR_MEMORY;
  memcpy(sets->set_of, variation->set_of, sizeof(*sets->set_of) * n);
  return PP_OK;
}

/* notes which options with .varies differ between sets, or are drawn */
static void find_varying(pp_option_sets *sets, const pp_env_def *def,
                         const pp_variation *variation) {
  for (int32_t i = 0; i < variation->num_draws; i++) {
    int32_t option = variation->draws[i].option;
    if (option < def->num_options) sets->varying[option] = 1;
  }
  for (int32_t set = 1; set < sets->count; set++) {
    for (int32_t i = 0; i < def->num_options; i++) {
      sets->varying[i] |=
          def->options[i].varies && !is_equal_value(&sets->values[0][i], &sets->values[set][i]);
    }
  }
}

/* Writes for each set the first set with the same configuration to config_of, by a hash table with
 * open addressing: pools may have thousands of sets. */
static int group_sets(pp_option_sets *sets, const pp_env_def *def) {
  size_t room = 4;
  while (room < 2 * (size_t)sets->count) room *= 2;
  int32_t *table = malloc(sizeof(*table) * room);
  if (!table) return PP_ERR_MEMORY;
  for (size_t i = 0; i < room; i++) table[i] = -1;
  for (int32_t set = 0; set < sets->count; set++) {
    const pp_value *values = sets->values[set];
    size_t at = (size_t)hash_set(def, values) & (room - 1);
    while (table[at] >= 0 &&
           find_difference(def, sets->values[table[at]], values, 0, false) < def->num_options) {
      at = (at + 1) & (room - 1);
    }
    if (table[at] < 0) table[at] = set;
    sets->config_of[set] = table[at];
  }
  free(table);
  return PP_OK;
}

/* runs configure for one set, and compares the result with the first configuration */
static int configure_set(pp_option_sets *sets, const pp_env_def *def, int32_t set,
                         pp_config *config, pp_error *error) {
  pp_error own = {0};
  pp_config next = {0};
  pp_config *into = set ? &next : config;
  const char *what;
  int status = pp_config_run(def, sets->values[set], sets->varying, into, &own);

  if (status < 0) {
    if (!set) return pp_error_set(error, status, "%s", own.text);
    return pp_error_set(error, status, "environment %d: %s", first_env(sets, set), own.text);
  }
  sets->own[sets->num_shared] = (pp_own){into->task, into->num_actions};
  sets->has_own |= into->task || into->num_actions;
  sets->shared[sets->num_shared++] = into->shared;
  if (!set) return PP_OK;
  what = difference(config, into);
  if (what) return refuse_set(sets, def, set, what, error);
  if (into->state_size > config->state_size) config->state_size = into->state_size;
  if (into->cache_size > config->cache_size) config->cache_size = into->cache_size;
  config->avoids_runs |= into->avoids_runs;
  return PP_OK;
}

int pp_option_sets_init(pp_option_sets *sets, const pp_env_def *def, const pp_value *values,
                        const pp_pool_options *options, pp_config *config, pp_error *error) {
  const pp_variation *variation = options->variation;
  int status = variation ? check_variation(variation, options->num_envs, error) : PP_OK;

  memset(sets, 0, sizeof(*sets));
  if (status < 0) return status;
  status = copy_sets(sets, def, values, options);
  if (status >= 0 && variation) find_varying(sets, def, variation);
  if (status >= 0) status = group_sets(sets, def);
  if (status < 0) pp_error_set(error, status, "no memory for options");
  for (int32_t set = 0; status >= 0 && set < sets->count; set++) {
    int32_t first = sets->config_of[set];
    if (first < set) {
      sets->config_of[set] = sets->config_of[first];
      continue;
    }
    sets->config_of[set] = sets->num_shared;
    status = configure_set(sets, def, set, config, error);
  }
  if (status < 0) pp_option_sets_fini(sets, def);
  return status;
}

void pp_option_sets_fini(pp_option_sets *sets, const pp_env_def *def) {
  for (int32_t i = 0; i < sets->num_shared; i++) {
    if (def->release && sets->shared[i]) def->release(sets->shared[i]);
  }
  for (int32_t i = 0; sets->values && i < sets->count; i++) free(sets->values[i]);
  free(sets->values);
  free(sets->config_of);
  free(sets->set_of);
  free(sets->shared);
  free(sets->own);
  free(sets->varying);
  memset(sets, 0, sizeof(*sets));
}
