/* Member: an environment of a mixture. The callbacks here call those of its own definition, with
 * its own options, and pad what that writes. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "configure.h"
#include "mixture.h"
#include "padding.h"
#include "pool/error.h"
#include "pool/field.h"

enum { MAX_OPTIONS = 256 /* as definition.c allows */ };

/* what the environments of one task share */
typedef struct part {
  const pp_member *member;
  const pp_env_def *def;
  pp_config config;  /* configuration of the task's own definition */
  pp_value *options; /* values in the order of its own options */
  uint8_t *varying;  /* null: the options of an environment are those above */
  const pp_spaces *spaces;
  bool is_saved;                   /* the mixture has save and load, whether or not the task has */
  int32_t place_of[PP_MAX_FIELDS]; /* index of each own field among the mixture's */
  bool is_own[PP_MAX_FIELDS];      /* for each field of the mixture: the task has it */
  pp_padding padding[PP_MAX_FIELDS]; /* padding of each own field */
} part;

/* an environment as its own definition's callbacks get it */
typedef struct inner {
  pp_env env;
  pp_value options[MAX_OPTIONS];
} inner;

/* --------------------------------------------------------------------------------- options -- */

/* Puts values of the mixture's options into the order of a task's own. The type of a number is left
 * to those that keep it. */
static void pick_values(pp_value *to, const pp_value *from, const int32_t *at,
                        const pp_option *options, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    to[i] = from[at[i]];
    int32_t type = to[i].dtype & PP_PYTHON ? PP_PYTHON : to[i].dtype;
    if (!(options[i].keeps >> type & 1)) to[i].dtype = 0;
  }
}

static void pick_options(const part *self, pp_value *to, const pp_value *from) {
  const pp_env_def *def = self->def;
  pick_values(to, from, self->member->option_at, def->options, def->num_options);
}

static void pick_reset_options(const part *self, pp_value *to, const pp_value *from) {
  const pp_env_def *def = self->def;
  pick_values(to, from, self->member->reset_at, def->reset_options, def->num_reset_options);
}

static pp_env *enter(const pp_env *env, inner *own) {
  const part *self = env->shared;
  own->env = *env;
  own->env.shared = self->config.shared;
  own->env.options = self->options;
  if (self->varying) {
    pick_options(self, own->options, env->options);
    own->env.options = own->options;
  }
  return &own->env;
}

/* puts the task's name in front of the reason of a failure */
static void name_failure(const part *self, pp_error *error, const char *callback, int status) {
  char text[PP_ERROR_TEXT];
  pp_error_explain(error, callback, status);
  memcpy(text, error->text, sizeof(text));
  snprintf(error->text, sizeof(error->text), "%.60s: %.180s", self->member->task.name, text);
}

static int result_of(const pp_env *env, const char *callback, int status) {
  if (status < 0) name_failure(env->shared, env->error, callback, status);
  return status;
}

/* ------------------------------------------------------------------------------- configure -- */

static void release(void *shared) {
  part *self = shared;
  pp_config_fini(self->def, &self->config);
  free(self->options);
  free(self->varying);
  free(self);
}

static int find_places(part *self, pp_error *error) {
  const pp_spaces *spaces = self->spaces;
  for (int32_t i = 0; i < self->config.num_fields; i++) {
    const pp_field *field = &self->config.fields[i];
    int32_t at = 0;
    while (at < spaces->num_fields && (spaces->fields[at].is_info != field->is_info ||
                                       strcmp(spaces->fields[at].name, field->name) != 0)) {
      at++;
    }
    if (at == spaces->num_fields || !pp_spaces_hold(&spaces->fields[at], field)) {
      return pp_fail(error, PP_ERR_ARGUMENT,
                     "%.40s does not fit the spaces of the other tasks: give options that leave "
                     "spaces as they are the same for all environments",
                     field->name);
    }
    self->place_of[i] = at;
    self->is_own[at] = true;
    pp_padding_init(&self->padding[i], field, &spaces->fields[at]);
  }
  return PP_OK;
}

/* copies the options, and what of them varies, in the order of the task's own */
static int read_options(part *self, const pp_config *config) {
  size_t count = (size_t)self->def->num_options;
  self->options = calloc(count + 1, sizeof(*self->options));
  if (!self->options) return PP_ERR_MEMORY;
  pick_options(self, self->options, config->options);
  if (!config->varying) return PP_OK;
  self->varying = calloc(count + 1, sizeof(*self->varying));
  if (!self->varying) return PP_ERR_MEMORY;
  bool is_varying = false;
  for (size_t i = 0; i < count; i++) {
    self->varying[i] = config->varying[self->member->option_at[i]];
    is_varying |= self->varying[i];
  }
  if (is_varying) return PP_OK;
  free(self->varying);
  self->varying = NULL;
  return PP_OK;
}

static bool has_own_actions(const part *self) {
  return pp_field_elements(&self->config.action, 1) == pp_field_elements(&self->spaces->action, 1);
}

/* writes what the mixture's configure decides */
static void describe(const part *self, pp_config *config) {
  const pp_config *own = &self->config;
  config->state_size = own->state_size;
  config->cache_size = own->cache_size;
  config->num_fields = self->spaces->num_fields;
  memcpy(config->fields, self->spaces->fields, sizeof(config->fields));
  config->action = self->spaces->action;
  config->avoids_runs = own->avoids_runs || !self->def->step_many || !has_own_actions(self);
  config->task = self->member->task.name;
  if (own->action.space == PP_DISCRETE && own->action.n < config->action.n) {
    config->num_actions = own->action.n;
  }
}

static int configure_part(part *self, pp_config *config) {
  pp_error own = {.text = ""};
  int status = read_options(self, config);
  if (status < 0) return status;
  status = pp_config_run(self->def, self->options, self->varying, &self->config, &own);
  if (status < 0) return pp_fail(config->error, status, "%s", own.text);
  return find_places(self, config->error);
}

static int configure(pp_config *config) {
  const pp_value *task = &config->options[PP_MIXTURE_TASK];
  const pp_member *member = pp_mixture_find(config->def, task->s);
  const pp_spaces *spaces = pp_mixture_spaces(config->def, config->options[PP_MIXTURE_SPACES].i);
  if (!member) {
    return pp_fail(config->error, PP_ERR_ARGUMENT, "task='%.60s': it has no such task",
                   task->s ? task->s : "");
  }
  if (!spaces) return pp_fail(config->error, PP_ERR_ARGUMENT, "_spaces: leave it out");
  part *self = calloc(1, sizeof(*self));
  if (!self) return PP_ERR_MEMORY;
  self->member = member;
  self->def = member->task.definition;
  self->spaces = spaces;
  self->is_saved = config->def->load != NULL;
  int status = configure_part(self, config);
  if (status < 0) {
    release(self);
    return status;
  }
  describe(self, config);
  config->shared = self;
  return PP_OK;
}

/* ---------------------------------------------------------------------------- reset and step -- */

static int init(pp_env *env) {
  const part *self = env->shared;
  inner own;
  return self->def->init ? result_of(env, "init", self->def->init(enter(env, &own))) : PP_OK;
}

static void fini(pp_env *env) {
  const part *self = env->shared;
  inner own;
  if (self->def->fini) self->def->fini(enter(env, &own));
}

static int seed(pp_env *env, const pp_seed *words) {
  const part *self = env->shared;
  inner own;
  if (!self->def->seed) return PP_OK;
  return result_of(env, "seed", self->def->seed(enter(env, &own), words));
}

static int check_reset(void *shared, const pp_value *options, pp_error *error) {
  const part *self = shared;
  pp_value own[MAX_OPTIONS];
  if (!self->def->check_reset) return PP_OK;
  pick_reset_options(self, own, options);
  return self->def->check_reset(self->config.shared, own, error);
}

static int reset(pp_env *env, pp_reset *how) {
  const part *self = env->shared;
  pp_value options[MAX_OPTIONS];
  pp_reset own_reset = *how;
  inner own;
  if (how->options) {
    pick_reset_options(self, options, how->options);
    own_reset.options = options;
  }
  int status = self->def->reset(enter(env, &own), &own_reset);
  how->continues = own_reset.continues;
  return result_of(env, "reset", status);
}

static int step(pp_env *env, const void *action, pp_result *result) {
  const part *self = env->shared;
  inner own;
  return result_of(env, "step", self->def->step(enter(env, &own), action, result));
}

/* ------------------------------------------------------------------------------------ fields -- */

/* returns whether rows of resets, or of steps, have a field of the task's own */
static bool has_field(const pp_field *field, bool is_reset) {
  const int32_t wanted = is_reset ? PP_ON_RESET : PP_ON_STEP | PP_ON_TERMINATION;
  return !field->is_info || (field->when & wanted);
}

/* finds the rows that the task's own definition writes */
static void locate(const part *self, void *const *fields, bool is_reset, void **own) {
  for (int32_t i = 0; i < self->config.num_fields; i++) {
    own[i] = has_field(&self->config.fields[i], is_reset) ? fields[self->place_of[i]] : NULL;
  }
}

static size_t row_bytes(const pp_field *field) {
  return (size_t)(pp_field_elements(field, 1) * pp_dtype_size(field->dtype));
}

/* writes which actions a task may take that has no such info itself */
static void write_mask(const part *self, int8_t *rows, int32_t count) {
  int64_t n = self->spaces->action.n, own = self->config.action.n;
  for (int32_t i = 0; i < count; i++, rows += n) {
    memset(rows, 1, (size_t)own);
    memset(rows + own, 0, (size_t)(n - own));
  }
}

/* pads what was written, and fills in what the task's own definition does not write */
static void complete(const part *self, void *const *fields, void *const *own, int32_t count) {
  const pp_spaces *spaces = self->spaces;
  for (int32_t i = 0; i < self->config.num_fields; i++) {
    void *rows = fields[self->place_of[i]];
    if (own[i]) {
      pp_padding_spread(&self->padding[i], rows, count);
    } else if (rows) {
      memset(rows, 0, row_bytes(&spaces->fields[self->place_of[i]]) * (size_t)count);
    }
  }
  for (int32_t i = 0; i < spaces->num_fields; i++) {
    if (self->is_own[i] || !fields[i]) continue;
    if (i == spaces->action_mask) {
      write_mask(self, fields[i], count);
    } else {
      memset(fields[i], 0, row_bytes(&spaces->fields[i]) * (size_t)count);
    }
  }
}

static int observe(pp_env *env, void *const *fields, bool is_reset) {
  const part *self = env->shared;
  void *rows[PP_MAX_FIELDS];
  inner own;
  locate(self, fields, is_reset, rows);
  int status = self->def->observe(enter(env, &own), rows, is_reset);
  if (status >= 0) complete(self, fields, rows, 1);
  return result_of(env, "observe", status);
}

static int step_many(void *shared, const pp_run *run) {
  const part *self = shared;
  void *rows[PP_MAX_FIELDS];
  pp_run own = *run;
  locate(self, run->fields, false, rows);
  own.fields = rows;
  int status = self->def->step_many(self->config.shared, &own);
  if (status < 0) return status;
  for (int32_t i = 0; i < run->failures->count; i++) {
    pp_error *error = &run->failures->errors[run->failures->at[i]];
    name_failure(self, error, "step_many", error->code);
  }
  complete(self, run->fields, rows, run->count);
  return PP_OK;
}

/* --------------------------------------------------------------------------------- snapshots -- */

static int64_t save(pp_env *env, void *bytes) {
  const part *self = env->shared;
  inner own;
  if (self->def->save) {
    int64_t size = self->def->save(enter(env, &own), bytes);
    if (size < 0) result_of(env, "save", (int)size);
    return size;
  }
  if (bytes) memcpy(bytes, env->state, self->config.state_size);
  return (int64_t)self->config.state_size;
}

static int load(pp_env *env, const void *bytes, int64_t size) {
  const part *self = env->shared;
  inner own;
  if (self->def->load) {
    return result_of(env, "load", self->def->load(enter(env, &own), bytes, size));
  }
  if (size != (int64_t)self->config.state_size) {
    return pp_fail(env->error, PP_ERR_ARGUMENT, "%.60s has another state", self->member->task.name);
  }
  memcpy(env->state, bytes, (size_t)size);
  return PP_OK;
}

/* checks a plain state among the snapshots of a mixture in which others are not plain */
static int check_plain(const part *self, pp_env *env, const pp_saved *saved) {
  enum { LINE = 64 };
  pp_saved own = *saved;
  int64_t size = (int64_t)self->config.state_size;
  if (saved->size != size) {
    return pp_fail(env->error, PP_ERR_ARGUMENT, "%lld bytes instead of %lld",
                   (long long)saved->size, (long long)size);
  }
  if (!self->def->check_state) return PP_OK;
  void *aligned = aligned_alloc(LINE, ((size_t)size + LINE) / LINE * LINE);
  if (!aligned) return PP_ERR_MEMORY;
  own.state = memcpy(aligned, saved->state, (size_t)size);
  int status = self->def->check_state(env, &own);
  free(aligned);
  return status;
}

static int check_state(const pp_env *env, const pp_saved *saved) {
  const part *self = env->shared;
  pp_saved own_saved = *saved;
  inner own;
  if (self->is_saved && !self->def->load) return check_plain(self, enter(env, &own), saved);
  if (!self->def->check_state) return PP_OK;
  if (!self->def->load) own_saved.size = (int64_t)self->config.state_size;
  return self->def->check_state(enter(env, &own), &own_saved);
}

/* ---------------------------------------------------------------------------------- pictures -- */

static int render(pp_env *env, pp_image *image) {
  const part *self = env->shared;
  inner own;
  return self->def->render(enter(env, &own), image);
}

static int expose(pp_env *env, void *target) {
  const part *self = env->shared;
  inner own;
  return self->def->expose(enter(env, &own), target);
}

/* -------------------------------------------------------------------------------- definition -- */

void pp_member_callbacks(pp_env_def *def) {
  def->abi = PP_ENV_ABI;
  def->size = sizeof(*def);
  def->family = "mixture";
  def->reference = "";
  def->configure = configure;
  def->release = release;
  def->reset = reset;
  def->step = step;
  def->observe = observe;
  // until a task is found that has none
  def->render = render;
  def->expose = expose;
}

void pp_member_join_callbacks(pp_env_def *def, const pp_env_def *task) {
  if (task->init) def->init = init;
  if (task->fini) def->fini = fini;
  if (task->seed) def->seed = seed;
  if (task->check_reset) def->check_reset = check_reset;
  if (task->step_many) def->step_many = step_many;
  if (task->check_state) def->check_state = check_state;
  if (!task->render) def->render = NULL;
  if (!task->expose) def->expose = NULL;
  if (!task->save) return;
  def->save = save;
  def->load = load;
  // of those without load, the size of a state must be checked
  def->check_state = check_state;
}
