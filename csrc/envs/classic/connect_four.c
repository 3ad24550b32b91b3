/* classic/connect_four_v3: four in a line on a grid of seven columns, in which pieces fall. Equals
 * PettingZoo 1.27.0. */
#include "grid.h"

enum { HEIGHT = 6, WIDTH = 7, LENGTH = 4 };

/* the lowest free cell of a column; the first row is the highest */
static int32_t land(const uint8_t *cells, int64_t column) {
  int32_t cell = (int32_t)column;
  while (cell + WIDTH < HEIGHT * WIDTH && !cells[cell + WIDTH]) cell += WIDTH;
  return cell;
}

/* Returns how many cells from a cell on hold its piece, in one direction. */
static int32_t run_length(const uint8_t *cells, int32_t cell, int32_t down, int32_t right) {
  int32_t row = cell / WIDTH, column = cell % WIDTH, length = 0;
  while (row >= 0 && row < HEIGHT && column >= 0 && column < WIDTH &&
         cells[row * WIDTH + column] == cells[cell]) {
    row += down;
    column += right;
    length++;
  }
  return length;
}

static bool wins(const uint8_t *cells, int32_t last) {
  static const int8_t directions[][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
  for (size_t i = 0; i < sizeof(directions) / sizeof(*directions); i++) {
    int32_t down = directions[i][0], right = directions[i][1];
    // both runs count the last piece
    if (run_length(cells, last, down, right) + run_length(cells, last, -down, -right) > LENGTH) {
      return true;
    }
  }
  return false;
}

static const grid_rules rules = {
    .num_cells = HEIGHT * WIDTH, .num_moves = WIDTH, .land = land, .wins = wins};

static const pp_field fields[] = {GRID_FIELDS(HEIGHT, WIDTH, WIDTH)};
static const pp_option options[] = {{.name = "screen_scaling",
                                     .type = PP_OPT_INT,
                                     .number = 9,
                                     .low = 1,
                                     .high = 160,
                                     .doc = "a picture is 99 times as wide, in pixels"}};

const pp_env_def pp_env_classic_connect_four_v3 = {
    GRID_DEFINITION("connect_four_v3", WIDTH),
    .options = options,
    .num_options = 1,
    .fields = fields,
    .data = &rules,
};
