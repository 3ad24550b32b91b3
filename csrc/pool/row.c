/* Row: writes the engine's own columns of a batch. No other file writes them. */
#include "row.h"

#include <string.h>

/* writes one value, unless the layout has no such column (index -1) */
#define PUT(type, column, value)                                                  \
  do {                                                                            \
    if (layout->column >= 0)                                                      \
      *(type *)pp_layout_at(layout, memory, layout->column, row) = (type)(value); \
  } while (0)

static void put_rewards(const pp_layout *layout, void *memory, int32_t row, int32_t count,
                        const double *rewards) {
  void *to = pp_layout_at(layout, memory, layout->reward, row);
  int32_t values = count * layout->num_players;
  if (layout->columns[layout->reward].dtype == PP_FLOAT64) {
    for (int32_t i = 0; i < values; i++) ((double *)to)[i] = rewards[i];
  } else {
    for (int32_t i = 0; i < values; i++) ((float *)to)[i] = (float)rewards[i];
  }
}

void pp_row_put(const pp_layout *layout, void *memory, int32_t row, const pp_row *values) {
  put_rewards(layout, memory, row, 1, values->rewards);
  PUT(uint8_t, terminated, values->terminated);
  PUT(uint8_t, truncated, values->truncated);
  PUT(int32_t, env_id, values->env_id);
  PUT(int32_t, elapsed_step, values->elapsed);
}

void pp_row_put_extras(const pp_layout *layout, void *memory, int32_t row, const pp_row *values,
                       int32_t step_type, float discount, const double *returns) {
  if (!layout->has_extras) return;
  PUT(int32_t, step_type, step_type);
  PUT(float, discount, discount);
  PUT(int32_t, episode_length, values->elapsed);
  if (layout->players >= 0) {
    int32_t *to = pp_layout_at(layout, memory, layout->players, row);
    for (int32_t p = 0; p < layout->num_players; p++) to[p] = values->env_id;
  }
  if (layout->episode_return >= 0) {
    memcpy(pp_layout_at(layout, memory, layout->episode_return, row), returns,
           sizeof(double) * (size_t)layout->num_players);
  }
}

void pp_row_put_reset(const pp_layout *layout, void *memory, int32_t row, const pp_row *values,
                      const double *returns) {
  PUT(uint8_t, terminated, 0);
  PUT(uint8_t, truncated, 0);
  PUT(int32_t, elapsed_step, values->elapsed);
  pp_row_put_extras(layout, memory, row, values, 0, 1, returns);
}

void pp_row_blank(const pp_layout *layout, void *memory, int32_t row, int32_t env_id) {
  for (int32_t i = 0; i < layout->count; i++) {
    memset(pp_layout_at(layout, memory, i, row), 0, (size_t)layout->columns[i].row_bytes);
  }
  PUT(int32_t, env_id, env_id);
}

void pp_row_clear(const pp_layout *layout, void *memory, int32_t row, int32_t count) {
  for (int32_t i = 0; i < layout->count; i++) {
    // all bits of -1 are set
    bool is_id = i == layout->env_id || i == layout->players;
    memset(pp_layout_at(layout, memory, i, row), is_id ? 0xff : 0,
           (size_t)(layout->columns[i].row_bytes * count));
  }
}

void pp_row_put_run(const pp_layout *layout, void *memory, int32_t row, int32_t env_id,
                    int32_t count, int32_t *restrict elapsed, uint32_t limit,
                    const double *rewards) {
  uint8_t *restrict terminated = pp_layout_at(layout, memory, layout->terminated, row);
  uint8_t *restrict truncated = pp_layout_at(layout, memory, layout->truncated, row);
  int32_t *restrict ids = pp_layout_at(layout, memory, layout->env_id, row);
  int32_t *restrict steps = pp_layout_at(layout, memory, layout->elapsed_step, row);

  // plain loops, which the compiler turns into vector instructions
  for (int32_t i = 0; i < count; i++) {
    steps[i] = elapsed[i] = pp_row_next_elapsed(elapsed[i]);
    ids[i] = env_id + i;
  }
  // callbacks may store any nonzero value as true; later code needs 0 or 1
  for (int32_t i = 0; i < count; i++) terminated[i] = terminated[i] != 0;
  for (int32_t i = 0; i < count; i++) {
    truncated[i] = (truncated[i] != 0) | ((uint32_t)steps[i] >= limit);
  }
  put_rewards(layout, memory, row, count, rewards);
}
