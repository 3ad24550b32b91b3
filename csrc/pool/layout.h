/* Layout: where each array of a batch lies in the batch's memory. No other file computes such
 * offsets. */
#ifndef PP_POOL_LAYOUT_H
#define PP_POOL_LAYOUT_H

#include <stdbool.h>

#include "pp_pool.h"

enum {
  PP_MAX_COLUMNS = 2 * PP_MAX_FIELDS + 10,
  PP_ALIGNMENT = 64 /* alignment of each column: a cache line, and enough for any vector load */
};

/* The columns of a batch. Members named like a column hold its index, -1: not asked for. */
typedef struct pp_layout {
  pp_column columns[PP_MAX_COLUMNS];
  int32_t count;
  int32_t num_fields;   /* columns 0 .. num_fields-1 are the environment's fields */
  int32_t final_fields; /* first of num_fields columns for SAME_STEP, -1: none */
  int32_t reward;
  int32_t terminated;
  int32_t truncated;
  int32_t env_id;
  int32_t elapsed_step;
  int32_t step_type;
  int32_t discount;
  int32_t players;
  int32_t episode_return;
  int32_t episode_length;
  int32_t num_players;
  int32_t has_extras; /* 1: has columns of pp_extra. Not bool: worker processes share layouts */
  int64_t size;       /* bytes of a batch, whole pages */
} pp_layout;

/* Returns whether no field may have this name, because a column of the engine has it. Infos may be
 * named "reward" and "terminated": EnvPool's Atari has such infos, and they are looked up among
 * infos alone. */
bool pp_layout_reserves_name(const char *name, bool is_info);

/* Lays out batches of `rows` rows. Returns PP_OK or PP_ERR_ARGUMENT. */
int pp_layout_init(pp_layout *layout, const pp_config *config, const pp_pool_options *options,
                   int32_t rows, pp_error *error);

/* Lays out `batches` batches in one memory, with the columns of the layout `one`: each column is an
 * array of the rows of all batches, one batch after another. The size is that of all batches. */
void pp_layout_repeat(pp_layout *layout, const pp_layout *one, int32_t batches);

/* Returns where a row of a column starts. In the header because every row needs it many times. */
static inline void *pp_layout_at(const pp_layout *layout, void *memory, int32_t column,
                                 int32_t row) {
  const pp_column *c = &layout->columns[column];
  return (char *)memory + c->offset + c->row_bytes * row;
}

#endif
