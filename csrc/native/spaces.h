/* Spaces: the fields and the action that environments of several definitions have in common.
 *
 * Fields of one name become one: a Box that holds the values of all, a Discrete with the most
 * choices. Where a shape is smaller, rows are padded with zeros. An observation must be there in
 * every definition, an info may be missing. */
#ifndef PP_NATIVE_SPACES_H
#define PP_NATIVE_SPACES_H

#include "pp_pool.h"

typedef struct pp_spaces {
  int32_t num_fields;
  pp_field fields[PP_MAX_FIELDS]; /* fields with names and arrays of their own */
  pp_field action;
  int32_t action_mask; /* index of the info that says which actions a row may take, -1: none */
} pp_spaces;

/* Unites the configurations of count tasks. Returns a pp_status; on failure there is nothing to
 * free. */
int pp_spaces_init(pp_spaces *spaces, const pp_task *tasks, const pp_config *configs, int32_t count,
                   pp_error *error);

void pp_spaces_fini(pp_spaces *spaces);

/* Returns whether the values of a field fit into those of a wider one. */
bool pp_spaces_hold(const pp_field *wide, const pp_field *field);

/* Returns whether two are the same. */
bool pp_spaces_equal(const pp_spaces *a, const pp_spaces *b);

#endif
