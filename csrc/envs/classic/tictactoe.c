/* classic/tictactoe_v3: three in a line on a grid of three by three. Equals PettingZoo 1.27.0. */
#include "grid.h"

enum { CELLS = 9 };

static const uint8_t lines[][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6},
                                   {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}};

static int32_t land(const uint8_t *cells, int64_t move) {
  (void)cells;
  return (int32_t)move;
}

static bool wins(const uint8_t *cells, int32_t last) {
  uint8_t piece = cells[last];
  for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
    const uint8_t *line = lines[i];
    if (cells[line[0]] == piece && cells[line[1]] == piece && cells[line[2]] == piece) return true;
  }
  return false;
}

static const grid_rules rules = {
    .num_cells = CELLS, .num_moves = CELLS, .land = land, .wins = wins};

static const char *const players[] = {"player_1", "player_2"};
static const pp_field fields[] = {GRID_FIELDS(3, 3, CELLS)};
static const pp_option options[] = {{.name = "screen_height",
                                     .type = PP_OPT_INT,
                                     .number = 1000,
                                     .low = 4,
                                     .high = 1 << 14,
                                     .doc = "height and width of a picture in pixels"}};

const pp_env_def pp_env_classic_tictactoe_v3 = {
    GRID_DEFINITION("tictactoe_v3", CELLS),
    .player_names = players,
    .options = options,
    .num_options = 1,
    .fields = fields,
    .data = &rules,
};
