/* Mixture: a definition whose environments are of several other definitions. */
#ifndef PP_NATIVE_MIXTURE_H
#define PP_NATIVE_MIXTURE_H

#include "pp_pool.h"
#include "spaces.h"

/* a mixture's own options, which come before those of its tasks */
enum { PP_MIXTURE_TASK, PP_MIXTURE_SPACES, PP_MIXTURE_OPTIONS };

/* one task of a mixture */
typedef struct pp_member {
  pp_task task;
  int32_t *option_at; /* index of each of its options in the mixture's */
  int32_t *reset_at;  /* index of each of its reset options */
} pp_member;

/* Returns the task of this name, null if there is none. */
const pp_member *pp_mixture_find(const pp_env_def *def, const char *task);

/* Returns the spaces of this number, which pp_mixture_unite made; null if there are none. */
const pp_spaces *pp_mixture_spaces(const pp_env_def *def, int64_t number);

/* Fills in the parts of a mixture that do not depend on its tasks. */
void pp_member_callbacks(pp_env_def *def);

/* Adds the callbacks that the mixture has because one task has them, and removes those that all
 * must have. */
void pp_member_join_callbacks(pp_env_def *def, const pp_env_def *task);

#endif
