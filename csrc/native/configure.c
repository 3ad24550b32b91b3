/* Configure: runs a definition's configure and release. */
#include "configure.h"

#include "definition.h"
#include "pool/error.h"

int pp_config_run(const pp_env_def *def, const pp_value *options, const uint8_t *varying,
                  pp_config *config, pp_error *error) {
  pp_error own = {.text = ""};
  int status = PP_OK;

  pp_definition_read(def, config);
  config->options = options;
  config->varying = varying;
  config->error = &own;
  if (def->configure) {
    status = def->configure(config);
    if (status < 0) {
      pp_error_explain(&own, "configure", status);
      return pp_error_set(error, status, "%s: %s", def->id, own.text);
    }
  }
  config->error = NULL;
  status = pp_definition_check_config(def->id, config, error);
  if (status < 0) pp_config_fini(def, config);
  return status;
}

int pp_config_init(const pp_env_def *def, const pp_value *options, pp_config *config,
                   pp_error *error) {
  int status = pp_env_check(def, error);
  return status < 0 ? status : pp_config_run(def, options, NULL, config, error);
}

void pp_config_fini(const pp_env_def *def, pp_config *config) {
  if (def->release && config->shared) def->release(config->shared);
  config->shared = NULL;
}
