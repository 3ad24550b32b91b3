/* Registry: opens definitions, runs configure, and keeps copies of option values. */
#include "registry.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "definition.h"
#include "error.h"
#include "os/os.h"

/* returns the last 120 characters of a path: in a short message they say more than the first */
static const char *end_of(const char *path) {
  const size_t most = 120;
  size_t length = strlen(path);
  return length > most ? path + (length - most) : path;
}

/* returns why dlopen failed, without the path at the beginning of its text */
static const char *reason(const char *path) {
  const char *text = dlerror();
  if (!text) return "no reason given";
  if (strncmp(text, path, strlen(path)) == 0) text += strlen(path);
  while (*text == ':' || *text == ' ') text++;
  return text;
}

/* refuses a symbol that is missing, or too small for the first two members of a definition */
static int check_symbol(const char *shown, const char *symbol, const void *address,
                        pp_error *error) {
  int64_t size;
  if (!address) {
    return pp_error_set(error, PP_ERR_ARGUMENT,
                        "%s has no definition named %.60s: is it static, or hidden?", shown,
                        symbol);
  }
  size = pp_os_symbol_size(address);
  // a definition of another ABI may be smaller; its first two members show that it is one
  if (size < 0 || size >= (int64_t)(2 * sizeof(uint32_t))) return PP_OK;
  return pp_error_set(error, PP_ERR_ARGUMENT, "%.60s of %s is not a pp_env_def: name one", symbol,
                      shown);
}

int pp_env_open(const char *path, const char *symbol, const pp_env_def **out, pp_error *error) {
  const char *shown = end_of(path);
  char refusal[PP_ERROR_TEXT];
  int status = pp_os_library_check(path, shown, refusal, sizeof(refusal));
  const pp_env_def *def;
  void *library;

  if (status < 0) return pp_error_set(error, status, "%s", refusal);
  // the library is never closed: pools point into it
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return pp_error_set(error, PP_ERR_ARGUMENT, "%s can't be loaded: %.120s", shown, reason(path));
  }
  def = dlsym(library, symbol);
  status = check_symbol(shown, symbol, def, error);
  if (status >= 0) status = pp_env_check(def, error);
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
  pp_definition_read(def, config);
  config->options = options;
  config->error = &own;
  if (def->configure) {
    status = def->configure(config);
    own.text[PP_ERROR_TEXT - 1] = '\0';
    if (status < 0) return pp_error_set(error, status, "%s: %s", def->id, own.text);
  }
  config->error = NULL;
  status = pp_definition_check_config(def->id, config, error);
  if (status < 0) pp_config_fini(def, config);
  return status;
}

void pp_config_fini(const pp_env_def *def, pp_config *config) {
  if (def->release && config->shared) def->release(config->shared);
  config->shared = NULL;
}

/* returns the bytes of one text or byte string, with its closing zero */
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
