/* Definitions: checks that the engine can work with what an environment declares. */
#include "definition.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pool/error.h"
#include "pool/field.h"
#include "pool/fleet.h"
#include "pool/layout.h"

/* Limits of a state and of a field. With at most PP_MAX_ENVS environments and PP_MAX_COLUMNS
 * columns, no sum or product of such sizes overflows int64. */
static const size_t max_state_size = (size_t)1 << 38;
static const int64_t max_field_bytes = (int64_t)1 << 32;

enum { MAX_OPTIONS = 256 /* of either kind: a higher count must be a mistake */ };

/* -------------------------------------------------------------------------------- refusals -- */

/* the subject of a check: a definition, or an entry of one of its tables */
typedef struct subject {
  const char *who;   /* the definition's id */
  const char *table; /* the definition's member; null: the definition itself */
  int32_t at;        /* index of the entry; -1: the member is a single struct */
  const char *name;  /* name of the entry; null: none */
  pp_error *error;
} subject;

__attribute__((format(printf, 2, 3))) static int refuse(const subject *s, const char *format, ...) {
  char entry[64] = "", name[64] = "", what[PP_ERROR_TEXT];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof(what), format, arguments);
  va_end(arguments);
  if (s->table && s->at >= 0) snprintf(entry, sizeof(entry), "%s[%d]", s->table, s->at);
  if (s->table && s->at < 0) snprintf(entry, sizeof(entry), "%s", s->table);
  if (s->table && s->name) snprintf(name, sizeof(name), " (%.40s)", s->name);
  return pp_error_set(s->error, PP_ERR_ARGUMENT, "%.60s: %s%s%s%s", s->who, entry, name,
                      s->table ? ": " : "", what);
}

/* ----------------------------------------------------------------------------------- texts -- */

/* returns the bytes of the UTF-8 character that starts here, 0 if there is none */
static int32_t character_size(const unsigned char *at) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  int32_t size = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
  uint32_t code = at[0] & (0xffu >> (size + 1));
  if (size < 2) return size;
  for (int32_t i = 1; i < size; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;  // also at the closing zero
    code = code << 6 | (at[i] & 0x3fu);
  }
  // too long an encoding, half of a UTF-16 pair, or beyond Unicode
  if (code < least[size] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return 0;
  return size;
}

static bool is_utf8(const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  while (*at) {
    int32_t size = character_size(at);
    if (!size) return false;
    at += size;
  }
  return true;
}

/* checks a text that may be null */
static int check_text(const subject *s, const char *member, const char *text) {
  if (!text || is_utf8(text)) return PP_OK;
  return refuse(s, "%s is not UTF-8: write it in UTF-8", member);
}

static int check_name(const subject *s, const char *member, const char *name) {
  if (!name) return refuse(s, "%s is null: give one", member);
  if (!name[0]) return refuse(s, "%s is empty: give one", member);
  return check_text(s, member, name);
}

static bool is_python_keyword(const char *name) {
  static const char *const keywords[] = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
    if (strcmp(name, keywords[i]) == 0) return true;
  }
  return false;
}

/* returns whether this can be the name of a Python argument; only ASCII letters are accepted */
static bool is_argument_name(const char *name) {
  if (isdigit((unsigned char)name[0]) || is_python_keyword(name)) return false;
  return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
         strlen(name);
}

/* --------------------------------------------------------------------------------- options -- */

static int check_range(const subject *s, double low, double high) {
  if (isnan(low) || isnan(high)) {
    return refuse(s, "low=%g, high=%g: choose numbers", low, high);
  }
  if (low > high) return refuse(s, "low=%g > high=%g: choose low <= high", low, high);
  return PP_OK;
}

static int check_default(const subject *s, const pp_option *option) {
  double number = option->number;
  // low == high == 0 means no range, as it does for values that a user gives
  bool is_ranged = option->low != 0 || option->high != 0;
  if (option->type == PP_OPT_BOOL && number != 0 && number != 1) {
    return refuse(s, "number=%g: choose 0 or 1, for a bool", number);
  }
  if (option->type == PP_OPT_INT && !(number == floor(number) && fabs(number) < 0x1p63)) {
    return refuse(s, "number=%g: choose a whole number of 64 bits, for an int", number);
  }
  if (is_ranged && option->type != PP_OPT_BOOL &&
      !(number >= option->low && number <= option->high)) {
    return refuse(s, "number=%g is outside low=%g to high=%g: choose a default within them", number,
                  option->low, option->high);
  }
  return PP_OK;
}

static int check_types(const subject *s, const pp_option *option) {
  const uint32_t known = (uint32_t)PP_ALL_ACTION_DTYPES | 1u << PP_PYTHON;
  uint32_t both = option->keeps | option->refuses;
  if (both && option->type != PP_OPT_FLOAT) {
    return refuse(s, "keeps=%#x, refuses=%#x: choose 0, or make it a float", option->keeps,
                  option->refuses);
  }
  if ((both & ~known) || (option->keeps & option->refuses)) {
    return refuse(s, "keeps=%#x, refuses=%#x: choose bits of dtypes, each in one of them",
                  option->keeps, option->refuses);
  }
  if (option->number_dtype && option->number_dtype != (PP_INT64 | PP_PYTHON)) {
    return refuse(s, "number_dtype=%d: choose 0, or PP_INT64 | PP_PYTHON", option->number_dtype);
  }
  return PP_OK;
}

static int check_option(const subject *s, const pp_option *option) {
  int status = check_name(s, "its name", option->name);
  if (status < 0) return status;
  if (!is_argument_name(option->name)) {
    return refuse(s, "its name is not a Python identifier: choose letters, digits and _");
  }
  if (option->type < PP_OPT_BOOL || option->type > PP_OPT_BYTES) {
    return refuse(s, "type=%d: choose a pp_option_type", option->type);
  }
  if (option->varies && (option->type > PP_OPT_FLOAT || option->required)) {
    return refuse(s,
                  "it varies: make it a bool, int or float with a default, or leave .varies out");
  }
  status = check_types(s, option);
  if (status >= 0) status = check_text(s, "text", option->text);
  if (status >= 0) status = check_text(s, "doc", option->doc);
  if (status < 0 || option->type > PP_OPT_FLOAT) return status;
  status = check_range(s, option->low, option->high);
  return status < 0 || option->required ? status : check_default(s, option);
}

static int check_options(const pp_env_def *def, const char *table, const pp_option *options,
                         int32_t count, pp_error *error) {
  subject all = {.who = def->id, .error = error};
  if (count < 0 || count > MAX_OPTIONS) {
    return refuse(&all, "num_%s=%d: choose 0 to %d", table, count, MAX_OPTIONS);
  }
  if (count && !options) {
    return refuse(&all, "%s is null and num_%s=%d: give the table, or 0", table, table, count);
  }
  for (int32_t i = 0; i < count; i++) {
    subject one = {def->id, table, i, options[i].name, error};
    int status = check_option(&one, &options[i]);
    if (status < 0) return status;
    for (int32_t j = 0; j < i; j++) {
      if (strcmp(options[i].name, options[j].name) == 0) {
        return refuse(&one, "%s[%d] has the same name: choose another", table, j);
      }
    }
  }
  return PP_OK;
}

/* ---------------------------------------------------------------------------------- fields -- */

/* the range of an element of this dtype; floats take any value */
static void dtype_range(int32_t dtype, double *low, double *high) {
  static const double ranges[PP_NUM_DTYPES][2] = {{0, 1},
                                                  {0, 255},
                                                  {INT32_MIN, INT32_MAX},
                                                  {-0x1p63, 0x1p63 - 1024},
                                                  {-INFINITY, INFINITY},
                                                  {-INFINITY, INFINITY},
                                                  {INT8_MIN, INT8_MAX}};
  *low = ranges[dtype][0];
  *high = ranges[dtype][1];
}

static int check_axes(const subject *s, const pp_field *field, int32_t num_players) {
  // an info may be an empty array (the tendons of a model without tendons)
  int64_t min_length = field->is_info ? 0 : 1;
  int64_t bytes = pp_dtype_size(field->dtype) * (field->per_player ? num_players : 1);
  if (field->ndim < 0 || field->ndim > PP_MAX_NDIM) {
    return refuse(s, "ndim=%d: choose 0 to %d", field->ndim, PP_MAX_NDIM);
  }
  for (int32_t axis = 0; axis < field->ndim; axis++) {
    int64_t length = field->shape[axis];
    if (length < min_length) {
      return refuse(s, "shape[%d]=%lld: choose %lld or more", axis, (long long)length,
                    (long long)min_length);
    }
    if (length > 1 && bytes > max_field_bytes / length) {
      return refuse(s, "shape[%d]=%lld: choose a shape of at most %lld bytes", axis,
                    (long long)length, (long long)max_field_bytes);
    }
    bytes *= length;
  }
  return PP_OK;
}

static int check_bounds(const subject *s, const pp_field *field) {
  int64_t count = field->lows || field->highs ? pp_field_elements(field, 1) : 1;
  double dtype_min, dtype_max;
  dtype_range(field->dtype, &dtype_min, &dtype_max);
  for (int64_t i = 0; i < count; i++) {
    double low = field->lows ? field->lows[i] : field->low;
    double high = field->highs ? field->highs[i] : field->high;
    int status = check_range(s, low, high);
    if (status < 0) return status;
    if (low < dtype_min || high > dtype_max) {
      return refuse(s, "low=%g, high=%g: choose bounds that its dtype can hold, %g to %g", low,
                    high, dtype_min, dtype_max);
    }
  }
  return PP_OK;
}

/* the largest integer up to which all are exact as doubles */
static const double max_exact = 0x1p53;

/* checks the range of one element, whose values are low .. low + n-1 */
static int check_n(const subject *s, const pp_field *field, const char *member, double low,
                   int64_t n) {
  double dtype_min, dtype_max;
  dtype_range(field->dtype, &dtype_min, &dtype_max);
  if (n < 1) return refuse(s, "%s=%lld: choose 1 or more", member, (long long)n);
  if (!(fabs(low) <= max_exact) || low != floor(low)) {
    return refuse(s, "low=%g: choose an integer, the first value of a Discrete", low);
  }
  if (low < dtype_min || (double)(n - 1) > dtype_max - low) {
    return refuse(s, "low=%.0f, %s=%lld: choose numbers that its dtype can hold, %.0f to %.0f", low,
                  member, (long long)n, dtype_min, dtype_max);
  }
  return PP_OK;
}

/* the most characters of a text */
static const int64_t max_text_length = 1 << 16;

static int check_codes(const subject *s, const pp_field *field) {
  if (!field->text) return refuse(s, "text is null: give the function that writes texts");
  if (field->n < 1 || field->n > max_text_length) {
    return refuse(s, "n=%lld: choose 1 to %lld characters", (long long)field->n,
                  (long long)max_text_length);
  }
  for (const char *c = field->charset; c && *c; c++) {
    if (*c < ' ' || *c > '~')
      return refuse(s, "charset holds a byte %d: choose printable ASCII", *c);
  }
  return PP_OK;
}

static int check_space(const subject *s, const pp_field *field) {
  if (field->space < PP_BOX || field->space > PP_TEXT) {
    return refuse(s, "space=%d: choose a pp_space", field->space);
  }
  if (field->space == PP_BOX) return check_bounds(s, field);
  if (pp_dtype_is_float(field->dtype)) {
    return refuse(s, "dtype=%d is a float: choose an integer dtype, or PP_BOX", field->dtype);
  }
  if (field->space == PP_DISCRETE) {
    if (field->ndim) {
      return refuse(s, "ndim=%d: choose 0 for PP_DISCRETE, or PP_MULTI_DISCRETE", field->ndim);
    }
    return check_n(s, field, "n", field->low, field->n);
  }
  if (field->space == PP_TEXT) return check_codes(s, field);
  if (!field->ndim) return refuse(s, "ndim=0: choose 1 or more for this space");
  if (field->space == PP_MULTI_BINARY) return PP_OK;
  if (!field->nvec) return refuse(s, "nvec is null: give one n for each element");
  for (int64_t i = 0; i < pp_field_elements(field, 1); i++) {
    double low = field->lows ? field->lows[i] : field->low;
    int status = check_n(s, field, "nvec's element", low, field->nvec[i]);
    if (status < 0) return status;
  }
  return PP_OK;
}

/* checks the sizes of the players' own spaces */
static int check_player_sizes(const subject *s, const pp_field *field, int32_t num_players) {
  bool is_discrete = field->space == PP_DISCRETE;
  int64_t min_size = is_discrete ? 1 : 0, max_size = is_discrete ? field->n : field->shape[0];
  if (!field->player_sizes) return PP_OK;
  if (!field->per_player || !(is_discrete || field->ndim == 1)) {
    return refuse(s, "it has player_sizes: set per_player, and make it a Discrete or of one axis");
  }
  for (int32_t i = 0; i < num_players; i++) {
    if (field->player_sizes[i] >= min_size && field->player_sizes[i] <= max_size) continue;
    return refuse(s, "player_sizes[%d]=%lld: choose %lld to %lld", i,
                  (long long)field->player_sizes[i], (long long)min_size, (long long)max_size);
  }
  return PP_OK;
}

static int check_field(const subject *s, const pp_field *field, int32_t num_players) {
  int status = check_name(s, "its name", field->name);
  if (status < 0) return status;
  if (!pp_dtype_size(field->dtype)) {
    return refuse(s, "dtype=%d: choose a pp_dtype", field->dtype);
  }
  int32_t when = field->when & ~PP_IF_GIVEN;
  bool is_if_given = when != field->when;
  if (field->is_info && (when < PP_ON_STEP || when > PP_ON_TERMINATION - is_if_given)) {
    return refuse(s, "when=%d: choose a pp_when, for an info", field->when);
  }
  if (field->is_info && field->when == PP_ON_TERMINATION && field->per_player) {
    return refuse(s, "when=PP_ON_TERMINATION: an info of each player can't have it");
  }
  status = check_axes(s, field, num_players);
  if (status >= 0) status = check_space(s, field);
  return status < 0 ? status : check_player_sizes(s, field, num_players);
}

/* checks a field's name against the others, and its position */
static int check_order(const subject *s, const pp_config *config, int32_t at) {
  const pp_field *field = &config->fields[at];
  if (pp_layout_reserves_name(field->name, field->is_info)) {
    return refuse(s, "its name is that of an engine column: choose another");
  }
  for (int32_t i = 0; i < at; i++) {
    if (strcmp(config->fields[i].name, field->name) == 0) {
      return refuse(s, "fields[%d] has the same name: choose another", i);
    }
  }
  if (!field->is_info && (at ? config->fields[at - 1].is_info : 0)) {
    return refuse(s, "it is an observation after an info: put observations first");
  }
  return PP_OK;
}

/* returns whether an environment with one player says which infos a row has */
static bool has_given(const pp_config *config) {
  for (int32_t i = 0; i < config->num_fields && config->num_players == 1; i++) {
    const pp_field *field = &config->fields[i];
    if (strcmp(field->name, "given") == 0 && field->is_info && field->when == PP_ALWAYS) {
      return field->dtype == PP_INT64 && !field->ndim;
    }
  }
  return false;
}

/* checks whether the environment can have a field of this space, in these rows */
static int check_place(const subject *s, const pp_config *config, int32_t at) {
  const pp_field *field = &config->fields[at];
  if (field->space == PP_TEXT && (field->per_player || config->num_players > 1)) {
    return refuse(s, "it is a PP_TEXT: only environments with one player have texts");
  }
  if (field->is_info && (field->when & PP_IF_GIVEN) && !has_given(config)) {
    return refuse(s, "when=PP_IF_GIVEN: add the info \"given\", and leave players out");
  }
  bool is_alone = config->num_fields == 1 || config->fields[1].is_info;
  bool is_fit = at == 0 && is_alone && !field->is_info && !field->per_player && field->ndim == 1;
  if (field->space != PP_DISCRETE_TUPLE || is_fit) return PP_OK;
  return refuse(s,
                "it is a PP_DISCRETE_TUPLE: make it the only observation, of one axis and not"
                " per_player, or choose PP_MULTI_DISCRETE");
}

static int check_fields(const char *who, const pp_config *config, pp_error *error) {
  for (int32_t i = 0; i < config->num_fields; i++) {
    subject one = {who, "fields", i, config->fields[i].name, error};
    int status = check_field(&one, &config->fields[i], config->num_players);
    if (status >= 0) status = check_order(&one, config, i);
    if (status < 0) return status;
  }
  for (int32_t i = 0; i < config->num_fields; i++) {
    subject one = {who, "fields", i, config->fields[i].name, error};
    int status = check_place(&one, config, i);
    if (status < 0) return status;
  }
  if (!config->fields[0].is_info) return PP_OK;
  subject first = {who, "fields", 0, config->fields[0].name, error};
  return refuse(&first, "it is an info: begin with an observation");
}

static int check_action(const char *who, const pp_config *config, pp_error *error) {
  subject s = {who, "action", -1, config->action.name, error};
  // callbacks always get Discrete actions as int64, whatever the caller sends
  bool is_tuple = config->action.space == PP_DISCRETE_TUPLE;
  bool is_discrete =
      is_tuple || config->action.space == PP_DISCRETE || config->action.space == PP_MULTI_DISCRETE;
  if (config->action.space == PP_TEXT) return refuse(&s, "it is a PP_TEXT: send its code instead");
  if (is_tuple && (config->action.ndim != 1 || config->num_players > 1)) {
    return refuse(&s,
                  "it is a PP_DISCRETE_TUPLE: choose one axis, one player, or"
                  " PP_MULTI_DISCRETE");
  }
  pp_field action = config->action;
  action.is_info = false;
  if (is_discrete && action.dtype != PP_INT64) {
    return refuse(&s, "dtype=%d: choose PP_INT64 for a Discrete action", action.dtype);
  }
  int status = check_field(&s, &action, config->num_players);
  // the actions of players that do not act are 0
  if (status < 0 || !is_discrete || config->num_players == 1) return status;
  if (action.low == 0 && !action.lows) return PP_OK;
  return refuse(&s, "low=%g: choose 0, as the environment has several players", action.low);
}

static int check_player_names(const char *who, const pp_config *config, pp_error *error) {
  const char *const *names = config->player_names;
  for (int32_t i = 0; names && i < config->num_players; i++) {
    subject s = {who, "player_names", i, names[i], error};
    int status = check_name(&s, "it", names[i]);
    if (status < 0) return status;
    for (int32_t j = 0; j < i; j++) {
      if (strcmp(names[i], names[j])) continue;
      return refuse(&s, "player_names[%d] is the same: choose another", j);
    }
  }
  return PP_OK;
}

/* checks the counts and sizes of a definition, or of the configuration after configure */
static int check_sizes(const char *who, const pp_config *config, int32_t min_fields,
                       pp_error *error) {
  subject s = {.who = who, .error = error};
  if (config->num_players < 1 || config->num_players > PP_MAX_PLAYERS) {
    return refuse(&s, "num_players=%d: choose 1 to %d", config->num_players, PP_MAX_PLAYERS);
  }
  if (config->num_fields < min_fields || config->num_fields > PP_MAX_FIELDS) {
    return refuse(&s, "num_fields=%d: choose %d to %d", config->num_fields, min_fields,
                  PP_MAX_FIELDS);
  }
  if (config->state_size > max_state_size) {
    return refuse(&s, "state_size=%zu: choose at most %zu bytes", config->state_size,
                  max_state_size);
  }
  if (config->cache_size > max_state_size) {
    return refuse(&s, "cache_size=%zu: choose at most %zu bytes", config->cache_size,
                  max_state_size);
  }
  return PP_OK;
}

int pp_definition_check_config(const char *who, const pp_config *config, pp_error *error) {
  int status = check_sizes(who, config, 1, error);
  if (status >= 0) status = check_player_names(who, config, error);
  if (status >= 0) status = check_fields(who, config, error);
  return status < 0 ? status : check_action(who, config, error);
}

/* ------------------------------------------------------------------------------ definition -- */

void pp_definition_read(const pp_env_def *def, pp_config *config) {
  memset(config, 0, sizeof(*config));
  config->def = def;
  config->state_size = def->state_size;
  config->num_players = def->num_players ? def->num_players : 1;
  config->player_names = def->player_names;
  config->num_fields = def->num_fields;
  config->action = def->action;
  if (def->num_fields > 0) {
    memcpy(config->fields, def->fields, sizeof(pp_field) * (size_t)def->num_fields);
  }
}

static int check_texts(const pp_env_def *def, pp_error *error) {
  subject s = {.who = "the definition", .error = error};
  int status = check_name(&s, "id", def->id);
  if (status < 0) return status;
  s.who = def->id;
  status = check_text(&s, "family", def->family);
  if (status >= 0) status = check_text(&s, "variant", def->variant);
  return status < 0 ? status : check_text(&s, "reference", def->reference);
}

static int check_callbacks(const pp_env_def *def, pp_error *error) {
  subject s = {.who = def->id, .error = error};
  const char *missing = !def->reset     ? "reset"
                        : !def->step    ? "step"
                        : !def->observe ? "observe"
                                        : NULL;
  if (missing) return refuse(&s, "%s is null: a definition needs reset, step and observe", missing);
  if (!def->save != !def->load) {
    return refuse(&s, "%s is null: save and load come together, give both or none",
                  def->save ? "load" : "save");
  }
  return PP_OK;
}

static int check_numbers(const pp_env_def *def, pp_error *error) {
  subject s = {.who = def->id, .error = error};
  if (def->max_episode_steps < 0) {
    return refuse(&s, "max_episode_steps=%d: choose 1 or more, or 0 for no limit",
                  def->max_episode_steps);
  }
  if (def->reward_threshold != 0 && !def->has_reward_threshold) {
    return refuse(&s,
                  "reward_threshold=%g without has_reward_threshold: set that to true, or leave "
                  "both out",
                  def->reward_threshold);
  }
  if (isnan(def->reward_threshold)) {
    return refuse(&s, "reward_threshold=nan: choose a number, or leave has_reward_threshold out");
  }
  if (def->action_numbers < PP_FINITE || def->action_numbers > PP_NOT_FINITE) {
    return refuse(&s, "action_numbers=%d: choose a pp_numbers", def->action_numbers);
  }
  if (!(def->tolerance >= 0)) {
    return refuse(&s, "tolerance=%g: choose 0 or more", def->tolerance);
  }
  return PP_OK;
}

/* checks fields and action; if configure may still change them, only that there is a table */
static int check_description(const pp_env_def *def, pp_error *error) {
  subject s = {.who = def->id, .error = error};
  pp_config config = {.state_size = def->state_size,
                      .num_players = def->num_players ? def->num_players : 1,
                      .num_fields = def->num_fields};
  int status = check_sizes(def->id, &config, def->configure ? 0 : 1, error);
  if (status < 0) return status;
  if (def->num_fields && !def->fields) {
    return refuse(&s, "fields is null and num_fields=%d: give the table", def->num_fields);
  }
  if (def->configure) return PP_OK;
  pp_definition_read(def, &config);
  return pp_definition_check_config(def->id, &config, error);
}

int pp_env_check(const pp_env_def *def, pp_error *error) {
  int status;
  if (!def) return pp_error_set(error, PP_ERR_ARGUMENT, "the definition is null: give one");
  if (def->abi != PP_ENV_ABI || def->size != sizeof(pp_env_def)) {
    return pp_error_set(error, PP_ERR_ABI,
                        "the definition has ABI %u and %u bytes, this engine ABI %d and %zu bytes: "
                        "compile it against this version's pp_env.h",
                        def->abi, def->size, PP_ENV_ABI, sizeof(pp_env_def));
  }
  status = check_texts(def, error);
  if (status >= 0) status = check_callbacks(def, error);
  if (status >= 0) status = check_numbers(def, error);
  if (status >= 0) {
    status = check_options(def, "options", def->options, def->num_options, error);
  }
  if (status >= 0) {
    status = check_options(def, "reset_options", def->reset_options, def->num_reset_options, error);
  }
  return status < 0 ? status : check_description(def, error);
}
