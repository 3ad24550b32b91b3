/* Model values: copies those parts of a model that environments change. */
#include "model_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

static char *start_of(const mjModel *model, const mujoco_segment *segment) {
  char *place = (char *)model + segment->place;
  if (segment->is_inline) return place;
  memcpy(&place, place, sizeof(place));
  return place;
}

static char *line_of(const mujoco_model_values *it, const mjModel *model, int32_t i) {
  const mujoco_line *line = &it->lines[i];
  return start_of(model, &it->segments[line->segment]) + line->at;
}

/* ------------------------------------------------------------------------------------ making -- */

static int read_segments(mujoco_model_values *it, int64_t count, const pp_value *link,
                         pp_error *error) {
  for (int32_t i = 0; i < count; i++) {
    char name[48];
    mujoco_segment *segment = &it->segments[i];
    snprintf(name, sizeof(name), "segment%d", i);
    int status = mujoco_link_number(link, name, &segment->place, error);
    snprintf(name, sizeof(name), "segment%d_size", i);
    if (status >= 0) status = mujoco_link_number(link, name, &segment->size, error);
    if (status < 0) return status;
  }
  it->num_segments = (int32_t)count;
  return PP_OK;
}

static void add_inline(mujoco_model_values *it, int32_t place, int32_t size) {
  it->segments[it->num_segments++] =
      (mujoco_segment){.place = place, .is_inline = true, .size = size};
}

/* writes the lines of all segments, or only counts them; returns how many there are */
static int32_t make_lines(mujoco_model_values *it) {
  int32_t count = 0;
  for (int32_t i = 0; i < it->num_segments; i++) {
    for (int64_t at = 0; at < it->segments[i].size; at += MUJOCO_LINE, count++) {
      int64_t left = it->segments[i].size - at;
      if (!it->lines) continue;
      it->lines[count] = (mujoco_line){
          .segment = i, .size = (int32_t)(left < MUJOCO_LINE ? left : MUJOCO_LINE), .at = at};
    }
  }
  return count;
}

int mujoco_model_values_init(mujoco_model_values *it, const pp_value *link,
                             const pp_robot_layout *layout, const mjModel *file, pp_error *error) {
  int64_t count = 0;
  int status = mujoco_link_number(link, "segments", &count, error);

  if (status < 0) return status;
  it->file = file;
  it->segments = calloc((size_t)count + 2, sizeof(*it->segments));
  if (!it->segments) return PP_ERR_MEMORY;
  status = read_segments(it, count, link, error);
  if (status < 0) return status;
  add_inline(it, layout->option_place, layout->option_size);
  add_inline(it, layout->statistic_place, layout->statistic_size);
  it->num_lines = make_lines(it);
  it->lines = calloc((size_t)it->num_lines, sizeof(*it->lines));
  it->changed = calloc((size_t)it->num_lines / 64 + 1, sizeof(*it->changed));
  if (!it->lines || !it->changed) return PP_ERR_MEMORY;
  make_lines(it);
  return PP_OK;
}

void mujoco_model_values_fini(mujoco_model_values *it) {
  free(it->segments);
  free(it->lines);
  free((void *)it->changed);
}

size_t mujoco_model_values_size(const mujoco_model_values *it) {
  return (size_t)it->num_lines * MUJOCO_LINE;
}

/* ----------------------------------------------------------------------------------- copying -- */

void mujoco_model_values_apply(const mujoco_model_values *it, const void *kept, mjModel *model) {
  for (int32_t i = 0; i < it->num_lines; i += 64) {
    uint64_t bits = atomic_load_explicit(&it->changed[i / 64], memory_order_relaxed);
    for (int32_t at = i; bits; bits >>= 1, at++) {
      if (!(bits & 1)) continue;
      const char *from =
          kept ? (const char *)kept + (size_t)at * MUJOCO_LINE : line_of(it, it->file, at);
      memcpy(line_of(it, model, at), from, (size_t)it->lines[at].size);
    }
  }
}

void mujoco_model_values_clear(const mujoco_model_values *it, mjModel *model) {
  mujoco_model_values_apply(it, NULL, model);
}

void mujoco_model_values_keep(mujoco_model_values *it, const mjModel *model, void *kept) {
  for (int32_t i = 0; i < it->num_lines; i++) {
    const char *value = line_of(it, model, i);
    size_t size = (size_t)it->lines[i].size;
    memcpy((char *)kept + (size_t)i * MUJOCO_LINE, value, size);
    if (memcmp(value, line_of(it, it->file, i), size) == 0) continue;
    atomic_fetch_or_explicit(&it->changed[i / 64], (uint64_t)1 << (i % 64), memory_order_relaxed);
  }
}
