/* Fields of mjData and mjModel that only some families use, found by the offsets in the link. */
#ifndef PP_ENVS_MUJOCO_FIELDS_H
#define PP_ENVS_MUJOCO_FIELDS_H

#include "library.h"

/* an element of an array of names, which are those of a struct of pointers, in its order */
#define MUJOCO_NAMED(type, name) [offsetof(type, name) / sizeof(void *)] = #name

/* Reads the offsets of these fields from the link. */
int mujoco_read_places(const pp_value *link, const char *const *names, int32_t count,
                       int64_t *places, pp_error *error);

/* Writes the addresses of the fields of an mjData or mjModel into a struct of pointers. */
void mujoco_find_fields(const void *from, const char *const *names, const int64_t *places,
                        int32_t count, void *fields);

#endif
