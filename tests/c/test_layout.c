/* Layout: arrays of a batch are aligned, do not overlap, and are those that were asked for. */
#include <stdlib.h>

#include "check.h"
#include "pool/field.h"
#include "pool/layout.h"

enum { ALL_EXTRAS = PP_WITH_STEP_TYPE | PP_WITH_DISCOUNT | PP_WITH_PLAYERS | PP_WITH_STATISTICS };

/* fields whose row sizes are multiples of no alignment */
static pp_config make_config(int32_t num_players) {
  pp_config config = {.num_players = num_players, .num_fields = 4};
  config.fields[0] = (pp_field){.name = "bytes", .dtype = PP_UINT8, .ndim = 3, .shape = {3, 5, 7}};
  config.fields[1] = (pp_field){.name = "flag", .dtype = PP_BOOL, .per_player = 1};
  config.fields[2] =
      (pp_field){.name = "double", .dtype = PP_FLOAT64, .per_player = 1, .ndim = 1, .shape = {3}};
  config.fields[3] = (pp_field){.name = "int", .is_info = 1, .dtype = PP_INT32};
  return config;
}

static pp_pool_options make_options(int32_t autoreset, int32_t extras) {
  return (pp_pool_options){.reward_dtype = PP_FLOAT32, .autoreset = autoreset, .extras = extras};
}

TEST(columns_are_aligned_and_do_not_overlap) {
  for (int32_t rows = 1; rows <= 1000; rows = rows * 3 + 1) {
    for (int32_t variant = 0; variant < 12; variant++) {
      pp_config config = make_config(variant % 2 ? 3 : 1);
      pp_pool_options options = make_options(variant / 4, variant / 2 % 2 ? ALL_EXTRAS : 0);
      pp_layout layout;
      REQUIRE(pp_layout_init(&layout, &config, &options, rows, NULL) == PP_OK);
      char *memory = aligned_alloc(4096, (size_t)layout.size);
      REQUIRE(memory != NULL && layout.size % 4096 == 0);
      memset(memory, 0, (size_t)layout.size);
      for (int32_t c = 0; c < layout.count; c++) {
        const pp_column *column = &layout.columns[c];
        int64_t elements = 1;
        for (int32_t axis = 0; axis < column->ndim; axis++) elements *= column->shape[axis];
        CHECK_EQ(column->row_bytes, elements * pp_dtype_size(column->dtype));
        CHECK_EQ(column->offset % PP_ALIGNMENT, 0);
        CHECK(column->offset + column->row_bytes * rows <= layout.size);
        // every byte of every row is this column's own
        for (int32_t row = 0; row < rows; row++) {
          char *at = pp_layout_at(&layout, memory, c, row);
          CHECK(at == memory + column->offset + column->row_bytes * row);
          for (int64_t b = 0; b < column->row_bytes; b++) at[b]++;
        }
      }
      int32_t most = 0;
      for (int64_t b = 0; b < layout.size; b++) most = memory[b] > most ? memory[b] : most;
      CHECK_EQ(most, 1);
      free(memory);
    }
  }
}

static int32_t count_named(const pp_layout *layout, const char *name, int32_t is_final) {
  int32_t found = 0;
  for (int32_t c = 0; c < layout->count; c++) {
    found += strcmp(layout->columns[c].name, name) == 0 && layout->columns[c].is_final == is_final;
  }
  return found;
}

TEST(columns_are_those_that_were_asked_for) {
  pp_config config = make_config(2);
  for (int32_t mode = PP_NEXT_STEP; mode <= PP_DISABLED; mode++) {
    for (int32_t extras = 0; extras <= ALL_EXTRAS; extras++) {
      pp_pool_options options = make_options(mode, extras);
      pp_layout layout;
      REQUIRE(pp_layout_init(&layout, &config, &options, 5, NULL) == PP_OK);
      CHECK_EQ(count_named(&layout, "step_type", 0), !!(extras & PP_WITH_STEP_TYPE));
      CHECK_EQ(layout.step_type >= 0, !!(extras & PP_WITH_STEP_TYPE));
      CHECK_EQ(count_named(&layout, "discount", 0), !!(extras & PP_WITH_DISCOUNT));
      CHECK_EQ(layout.discount >= 0, !!(extras & PP_WITH_DISCOUNT));
      CHECK_EQ(count_named(&layout, "players.env_id", 0), !!(extras & PP_WITH_PLAYERS));
      CHECK_EQ(layout.players >= 0, !!(extras & PP_WITH_PLAYERS));
      CHECK_EQ(count_named(&layout, "episode_return", 0), !!(extras & PP_WITH_STATISTICS));
      CHECK_EQ(layout.episode_length >= 0, !!(extras & PP_WITH_STATISTICS));
      CHECK_EQ(layout.has_extras, extras != 0);
      for (int32_t f = 0; f < config.num_fields; f++) {
        CHECK_EQ(layout.columns[f].field, f);
        CHECK_TEXT(layout.columns[f].name, config.fields[f].name);
        CHECK_EQ(count_named(&layout, config.fields[f].name, 0), 1);
        CHECK_EQ(count_named(&layout, config.fields[f].name, 1), mode == PP_SAME_STEP);
      }
    }
  }
}

TEST(final_columns_are_the_fields_once_more) {
  pp_config config = make_config(3);
  pp_pool_options options = make_options(PP_SAME_STEP, ALL_EXTRAS);
  pp_layout layout;
  REQUIRE(pp_layout_init(&layout, &config, &options, 5, NULL) == PP_OK);
  CHECK_EQ(layout.final_fields + config.num_fields, layout.count);
  for (int32_t f = 0; f < config.num_fields; f++) {
    const pp_column *one = &layout.columns[f], *other = &layout.columns[layout.final_fields + f];
    CHECK_TEXT(other->name, one->name);
    CHECK_EQ(other->field, f);
    CHECK_EQ(other->dtype, one->dtype);
    CHECK_EQ(other->ndim, one->ndim);
    CHECK_EQ(other->row_bytes, one->row_bytes);
    CHECK(memcmp(other->shape, one->shape, sizeof(one->shape)) == 0);
    CHECK(other->is_final && !one->is_final);
  }
  options.autoreset = PP_NEXT_STEP;
  REQUIRE(pp_layout_init(&layout, &config, &options, 5, NULL) == PP_OK);
  CHECK_EQ(layout.final_fields, -1);
}

TEST(players_are_the_first_axis_of_what_each_of_them_has) {
  pp_config config = make_config(3);
  pp_pool_options options = make_options(PP_NEXT_STEP, PP_WITH_PLAYERS);
  pp_layout layout;
  REQUIRE(pp_layout_init(&layout, &config, &options, 5, NULL) == PP_OK);
  CHECK_EQ(layout.columns[0].ndim, 3);
  CHECK_EQ(layout.columns[1].ndim, 1);
  CHECK_EQ(layout.columns[1].shape[0], 3);
  CHECK_EQ(layout.columns[2].ndim, 2);
  CHECK(layout.columns[2].shape[0] == 3 && layout.columns[2].shape[1] == 3);
  CHECK_EQ(layout.columns[layout.reward].row_bytes, 3 * (int64_t)sizeof(float));
  CHECK_EQ(layout.columns[layout.players].shape[0], 3);
  CHECK_EQ(layout.columns[layout.env_id].ndim, 0);
}

TEST(a_reward_is_a_float_of_either_size_and_nothing_else) {
  pp_config config = make_config(1);
  for (int32_t dtype = -1; dtype <= PP_NUM_DTYPES; dtype++) {
    pp_pool_options options = make_options(PP_NEXT_STEP, 0);
    pp_layout layout;
    pp_error error;
    options.reward_dtype = dtype;
    int is_float = dtype == PP_FLOAT32 || dtype == PP_FLOAT64;
    CHECK_EQ(pp_layout_init(&layout, &config, &options, 5, &error),
             is_float ? PP_OK : PP_ERR_ARGUMENT);
    if (is_float) CHECK_EQ(layout.columns[layout.reward].dtype, dtype);
    if (!is_float) CHECK(strstr(error.text, "reward_dtype") != NULL);
  }
}

TEST(repeated_columns_hold_the_rows_of_all_batches) {
  enum { ROWS = 5, BATCHES = 7 };
  pp_config config = make_config(3);
  pp_pool_options options = make_options(PP_SAME_STEP, PP_WITH_STATISTICS);
  pp_layout one, all;
  REQUIRE(pp_layout_init(&one, &config, &options, ROWS, NULL) == PP_OK);
  pp_layout_repeat(&all, &one, BATCHES);
  CHECK_EQ(all.size, one.size * BATCHES);
  CHECK_EQ(all.count, one.count);
  for (int32_t i = 0; i < all.count; i++) {
    const pp_column *column = &all.columns[i];
    int64_t end = i + 1 < all.count ? all.columns[i + 1].offset : all.size;
    CHECK_EQ(column->row_bytes, one.columns[i].row_bytes);
    CHECK_EQ(column->offset % PP_ALIGNMENT, 0);
    // no column reaches into the next
    CHECK(column->offset + column->row_bytes * ROWS * BATCHES <= end);
  }
  pp_layout_repeat(&all, &one, 1);
  CHECK(memcmp(&all, &one, sizeof(one)) == 0);
}
