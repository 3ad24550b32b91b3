/* Configure: runs a definition's configure and release. */
#ifndef PP_NATIVE_CONFIGURE_H
#define PP_NATIVE_CONFIGURE_H

#include "pp_pool.h"

/* Does what pp_config_init does, for a definition that was checked. varying: pp_config.varying. */
int pp_config_run(const pp_env_def *def, const pp_value *options, const uint8_t *varying,
                  pp_config *config, pp_error *error);

#endif
