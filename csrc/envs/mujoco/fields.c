/* Fields of mjData and mjModel: reads their offsets, and finds them. */
#include "fields.h"

#include <string.h>

int mujoco_read_places(const pp_value *link, const char *const *names, int32_t count,
                       int64_t *places, pp_error *error) {
  int status = PP_OK;
  for (int32_t i = 0; i < count && status >= 0; i++) {
    status = mujoco_link_number(link, names[i], &places[i], error);
  }
  return status;
}

/* Members that are numbers of the struct itself, not pointers: time and ncon. */
static bool is_inline(const char *name) {
  return !strcmp(name, "time") || !strcmp(name, "ncon");
}

void mujoco_find_fields(const void *from, const char *const *names, const int64_t *places,
                        int32_t count, void *fields) {
  for (int32_t i = 0; i < count; i++) {
    const char *field = (const char *)from + places[i];
    if (!is_inline(names[i])) memcpy(&field, field, sizeof(field));
    memcpy((char *)fields + (size_t)i * sizeof(field), &field, sizeof(field));
  }
}
