/* Definitions: checks that the engine can work with what an environment declares. */
#ifndef PP_NATIVE_DEFINITION_H
#define PP_NATIVE_DEFINITION_H

#include "pp_pool.h"

/* Fills in the configuration that a checked definition has before configure runs. */
void pp_definition_read(const pp_env_def *def, pp_config *config);

/* Returns PP_ERR_ARGUMENT if no pool can be laid out for a configuration. who: the definition's id,
 * for the message. */
int pp_definition_check_config(const char *who, const pp_config *config, pp_error *error);

#endif
