/* Definitions: checking them, configuring them, and keeping their option values. */
#include "registry.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fleet.h"
#include "layout.h"

/* a Discrete action is always int64 for the callbacks, whatever the caller sends */
static int check_action(const pp_env_def *def, const pp_field *action, pp_error *error) {
  int is_discrete = action->space == PP_DISCRETE || action->space == PP_MULTI_DISCRETE;
  if (!action->name || !pp_dtype_size(action->dtype) || action->ndim > PP_MAX_NDIM) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "%s: its action is not described: give it a name, a dtype and its axes",
                        def->id);
  }
  if (is_discrete && action->dtype != PP_INT64) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s: a Discrete action must be PP_INT64", def->id);
  }
  if (action->space == PP_DISCRETE && (action->n < 1 || action->ndim)) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s: a Discrete action needs n >= 1 and no axes",
                        def->id);
  }
  if (action->space == PP_MULTI_DISCRETE && !action->nvec) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s: a MultiDiscrete action needs nvec", def->id);
  }
  return PP_OK;
}

static int check_config(const pp_env_def *def, const pp_config *config, pp_error *error) {
  if (config->num_players < 1 || config->num_players > PP_MAX_PLAYERS) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s: num_players=%d: choose 1 to %d", def->id,
                        config->num_players, PP_MAX_PLAYERS);
  }
  if (config->num_fields < 1 || config->num_fields > PP_MAX_FIELDS) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s: num_fields=%d: choose 1 to %d", def->id,
                        config->num_fields, PP_MAX_FIELDS);
  }
  for (int32_t i = 0; i < config->num_fields; i++) {
    const pp_field *field = &config->fields[i];
    int is_empty = !field->name || !pp_dtype_size(field->dtype);
    // an info may be an array of none (the tendons of a model without any)
    int32_t least = field->is_info ? 0 : 1;
    if (is_empty || field->ndim < 0 || field->ndim > PP_MAX_NDIM ||
        pp_field_elements(field, config->num_players) < least) {
      return pp_error_set(error, PP_ERR_ARGUMENT,
                          "%s: field %d is not described: give it a name, a dtype and its axes",
                          def->id, i);
    }
  }
  return check_action(def, &config->action, error);
}

int pp_env_check(const pp_env_def *def, pp_error *error) {
  if (!def) return pp_error_set(error, PP_ERR_ARGUMENT, "no definition");
  if (def->abi != PP_ENV_ABI || def->size != sizeof(pp_env_def)) {
    return pp_error_set(error, PP_ERR_ABI,
                        "the definition has ABI %u and %u bytes, this engine ABI %d and %zu bytes: "
                        "compile it against this version's pp_env.h",
                        def->abi, def->size, PP_ENV_ABI, sizeof(pp_env_def));
  }
  if (!def->id || !def->reset || !def->step || !def->observe) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s: a definition needs id, reset, step, observe",
                        def->id ? def->id : "(no id)");
  }
  if (!def->save != !def->load) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "%s: save and load come together: give both or none", def->id);
  }
  return PP_OK;
}

int pp_env_open(const char *path, const char *symbol, const pp_env_def **out, pp_error *error) {
  // the library stays open: pools point into it for as long as they like
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const pp_env_def *def;
  int status;

  if (!library)
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s can't be loaded: %s", path, dlerror());
  def = dlsym(library, symbol);
  if (!def) {
    status = pp_error_set(error, PP_ERR_ARGUMENT, "%s has no definition named %s", path, symbol);
  } else {
    status = pp_env_check(def, error);
  }
  if (status < 0) {
    dlclose(library);
    return status;
  }
  *out = def;
  return PP_OK;
}

int pp_config_init(const pp_env_def *def, const pp_value *options, pp_config *config,
                   pp_error *error) {
  pp_error own = {.text = "no reason given"};
  int status = pp_env_check(def, error);

  if (status < 0) return status;
  memset(config, 0, sizeof(*config));
  config->options = options;
  config->error = &own;
  config->state_size = def->state_size;
  config->num_players = def->num_players ? def->num_players : 1;
  config->num_fields = def->num_fields;
  config->action = def->action;
  config->variant = def->variant;
  if (def->num_fields > 0 && def->num_fields <= PP_MAX_FIELDS) {
    memcpy(config->fields, def->fields, sizeof(pp_field) * (size_t)def->num_fields);
  }
  if (def->configure) {
    status = def->configure(config);
    if (status < 0) return pp_error_set(error, status, "%s: %s", def->id, own.text);
  }
  config->error = NULL;
  status = check_config(def, config, error);
  if (status < 0) pp_config_fini(def, config);
  return status;
}

void pp_config_fini(const pp_env_def *def, pp_config *config) {
  if (def->release && config->shared) def->release(config->shared);
  config->shared = NULL;
}

/* bytes to keep for one text or byte string, its closing zero included */
static size_t text_size(const pp_value *value) {
  return value->s ? (size_t)value->size + 1 : 0;
}

void pp_value_default(pp_value *value, const pp_option *option) {
  if (option->type != PP_OPT_FLOAT) value->i = (int64_t)option->number;
  value->f = option->number;
  value->s = option->text;
  value->size = option->text ? (int64_t)strlen(option->text) : 0;
}

pp_value *pp_values_copy(const pp_option *options, int32_t count, const pp_value *values) {
  size_t size = sizeof(pp_value) * ((size_t)count + 1);
  pp_value *copy;
  char *text;

  for (int32_t i = 0; values && i < count; i++) size += text_size(&values[i]);
  copy = calloc(1, size);
  if (!copy) return NULL;
  text = (char *)(copy + count + 1);
  for (int32_t i = 0; i < count; i++) {
    if (values) copy[i] = values[i];
    if (!copy[i].given) {
      pp_value_default(&copy[i], &options[i]);
    } else if (copy[i].s) {
      memcpy(text, copy[i].s, (size_t)copy[i].size);
      copy[i].s = text;
      text += text_size(&copy[i]);
    }
  }
  return copy;
}
