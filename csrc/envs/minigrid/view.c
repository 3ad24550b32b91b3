/* The cells that the agent sees. */
#include "view.h"

/* of each direction, the step ahead and the step to the right */
static const mg_point ahead[4] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
static const mg_point right[4] = {{0, 1}, {-1, 0}, {0, -1}, {1, 0}};

static inline bool is_opaque(mg_cell cell) {
  return (cell.kind == MG_WALL) | ((cell.kind == MG_DOOR) & (cell.state != MG_OPEN));
}

mg_point mg_view_place(const mg_state *state, int32_t size, int32_t i, int32_t j) {
  mg_point f = ahead[state->direction], r = right[state->direction];
  int32_t far = size - 1 - j, side = i - size / 2;
  return (mg_point){state->agent.x + f.x * far + r.x * side,
                    state->agent.y + f.y * far + r.y * side};
}

/* Returns which of `size` steps of one cell from `start` on, forwards or backwards, are in a grid
 * of so many cells: those from *first to *last - 1. */
static void find_inside(int32_t start, int32_t step, int32_t cells, int32_t size, int32_t *first,
                        int32_t *last) {
  int32_t low = step > 0 ? -start : start - (cells - 1);
  int32_t high = low + cells;
  *first = low > 0 ? low : 0;
  *last = high < size ? high : size;
}

/* Copies the cells; sets bit i of opaque[j] where cell (i, j) hides what is behind it. What is
 * outside of the grid is wall. */
static void copy_cells(const mg_world *world, mg_view *view, uint32_t *opaque) {
  int32_t size = view->size, direction = world->state->direction, width = world->width;
  mg_point corner = mg_view_place(world->state, size, 0, 0);
  mg_point across = right[direction], down = {-ahead[direction].x, -ahead[direction].y};
  int32_t first_i, last_i, first_j, last_j;
  if (across.x) {
    find_inside(corner.x, across.x, width, size, &first_i, &last_i);
    find_inside(corner.y, down.y, world->height, size, &first_j, &last_j);
  } else {
    find_inside(corner.y, across.y, world->height, size, &first_i, &last_i);
    find_inside(corner.x, down.x, width, size, &first_j, &last_j);
  }
  for (int32_t j = 0; j < size; j++) opaque[j] = (1u << size) - 1;
  for (int32_t i = 0; i < size * size; i++) view->cells[i] = mg_wall;

  int32_t to_right = across.y * width + across.x, to_next = down.y * width + down.x;
  int32_t from = corner.y * width + corner.x;
  for (int32_t i = first_i; i < last_i; i++) {
    for (int32_t j = first_j; j < last_j; j++) {
      mg_cell cell = world->cells[from + i * to_right + j * to_next];
      opaque[j] ^= (uint32_t)!is_opaque(cell) << i;
      view->cells[i * size + j] = cell;
    }
  }
}

/* Returns the cells from which light goes on in a row, if it begins in the cells `from` and spreads
 * through clear ones, to the right or to the left. */
static uint32_t spread_right(uint32_t from, uint32_t clear, int32_t size) {
  for (int32_t step = 1; step < size; step *= 2) {
    from |= clear & (from << step);
    clear &= clear << step;
  }
  return from;
}

static uint32_t spread_left(uint32_t from, uint32_t clear, int32_t size) {
  for (int32_t step = 1; step < size; step *= 2) {
    from |= clear & (from >> step);
    clear &= clear >> step;
  }
  return from;
}

/* Light goes from the agent's cell through clear cells to both sides, row by row, and from each of
 * them to the row behind: to the cell above, and to its neighbour in the direction of the light. */
static void find_seen(mg_view *view, const uint32_t *opaque) {
  int32_t size = view->size;
  uint32_t all = size < 32 ? (1u << size) - 1 : ~0u;
  for (int32_t j = 0; j < size; j++) view->seen[j] = 0;
  view->seen[size - 1] = 1u << size / 2;
  for (int32_t j = size - 1; j >= 0; j--) {
    uint32_t seen = view->seen[j], clear = all & ~opaque[j], above = 0;
    /* the last column of each direction passes no light on */
    uint32_t to_right = clear & (all >> 1), to_left = clear & ~1u;
    uint32_t lit = spread_right(seen & to_right, to_right, size);
    seen |= lit << 1;
    above |= lit | lit << 1;
    lit = spread_left(seen & to_left, to_left, size);
    seen |= lit >> 1;
    above |= lit | lit >> 1;
    view->seen[j] = seen;
    if (j) view->seen[j - 1] |= above;
  }
}

void mg_look(const mg_world *world, int32_t size, bool sees_through_walls, mg_view *view) {
  const mg_state *it = world->state;
  uint32_t opaque[MG_MOST_VIEW];
  view->size = size;
  copy_cells(world, view, opaque);
  if (sees_through_walls) {
    for (int32_t j = 0; j < size; j++) view->seen[j] = (1u << size) - 1;
  } else {
    find_seen(view, opaque);
  }
  /* the agent sees what it carries where it stands */
  mg_cell *own = &view->cells[size / 2 * size + size - 1];
  *own = it->carried.kind ? it->carried : mg_empty;
}
