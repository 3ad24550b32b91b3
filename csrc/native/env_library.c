/* Environment library: loads a shared library and finds the definition of an environment in it. */
#include <dlfcn.h>
#include <string.h>

#include "definition.h"
#include "os/os.h"
#include "pool/error.h"

/* returns the last 120 characters of a path: in a short message they say more than the first */
static const char *end_of(const char *path) {
  const size_t max_length = 120;
  size_t length = strlen(path);
  return length > max_length ? path + (length - max_length) : path;
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

int pp_env_load(const char *path, const char *symbol, const pp_env_def **out, pp_error *error) {
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
