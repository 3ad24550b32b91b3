/* Definitions: whether what an environment says about itself can be worked with. */
#ifndef PP_POOL_DEFINITION_H
#define PP_POOL_DEFINITION_H

#include "pp_pool.h"

/* a configuration as the definition has it, before configure; the definition must be sound */
void pp_definition_read(const pp_env_def *def, pp_config *config);

/* refuses a configuration that no pool can be laid out for; who: the definition's id */
int pp_definition_check_config(const char *who, const pp_config *config, pp_error *error);

#endif
