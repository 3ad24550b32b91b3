/* The cells that the agent sees. */
#include "view.h"

#include <string.h>

/* of each direction, the step ahead and the step to the right */
static const mg_point ahead[4] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
static const mg_point right[4] = {{0, 1}, {-1, 0}, {0, -1}, {1, 0}};

mg_point mg_view_place(const mg_state *state, int32_t size, int32_t i, int32_t j) {
  mg_point f = ahead[state->direction], r = right[state->direction];
  int32_t far = size - 1 - j, side = i - size / 2;
  return (mg_point){state->agent.x + f.x * far + r.x * side,
                    state->agent.y + f.y * far + r.y * side};
}

/* a window of the grid: its first column and row */
static mg_point corner_of(const mg_state *state, int32_t size) {
  mg_point f = ahead[state->direction], at = state->agent;
  int32_t behind = size - 1, side = size / 2;
  at.x -= f.x ? (f.x < 0 ? behind : 0) : side;
  at.y -= f.y ? (f.y < 0 ? behind : 0) : side;
  return at;
}

/* Sets where cells of the view are in a window whose rows have `pitch` cells. */
static void orient(mg_view *view, int32_t direction, int32_t pitch) {
  int32_t last = view->size - 1;
  mg_point across = right[direction], down = {-ahead[direction].x, -ahead[direction].y};
  view->step_i = across.x + across.y * pitch;
  view->step_j = down.x + down.y * pitch;
  view->origin = (across.x + down.x < 0 ? last : 0) + (across.y + down.y < 0 ? last : 0) * pitch;
}

/* ---------------------------------------------------------------- windows of 7 cells or less -- */

/* Such a window is copied in rows of 8 cells, and a set of its cells is a byte for each column,
 * with a bit for each row; or, transposed, the other way round. */
enum { PITCH = 8 };
typedef uint32_t lanes __attribute__((vector_size(16)));

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a cell's kind is its lowest byte");
static const uint32_t kind_bits = 0xff, state_bits = 0xff0000;

static uint32_t bits_of(mg_cell cell) {
  uint32_t bits;
  memcpy(&bits, &cell, sizeof(bits));
  return bits;
}

/* Copies a window; what is outside of the grid is wall. Returns the cells that hide what is behind
 * them: walls and doors that are not open. */
static uint64_t copy_window(const mg_world *world, mg_point corner, mg_view *view) {
  const lanes wall = (lanes){0} + bits_of(mg_wall);
  uint32_t opaque[PITCH];
  for (int32_t half = 0; half < 2; half++) {
    lanes hiding = {0};
    int32_t x = corner.x + 4 * half;
    lanes column = (lanes){0, 1, 2, 3} + (uint32_t)x;
    lanes is_inside = (lanes)(column < (uint32_t)world->width);
    for (int32_t row = 0; row < view->size; row++) {
      lanes cells = wall;
      int32_t y = corner.y + row;
      if ((uint32_t)y < (uint32_t)world->height) {
        memcpy(&cells, world->cells + y * world->width + x, sizeof(cells));
        cells = (cells & is_inside) | (wall & ~is_inside);
      }
      lanes kind = cells & kind_bits, state = cells & state_bits;
      lanes is_shut = (lanes)(kind == MG_DOOR) & (lanes)(state != MG_OPEN);
      hiding |= ((lanes)(kind == MG_WALL) | is_shut) & (uint32_t)1 << row;
      memcpy(view->cells + row * PITCH + 4 * half, &cells, sizeof(cells));
    }
    memcpy(opaque + 4 * half, &hiding, sizeof(hiding));
  }
  uint64_t found = 0;
  for (int32_t column = 0; column < view->size; column++) {
    found |= (uint64_t)opaque[column] << 8 * column;
  }
  return found;
}

/* Exchanges bits and bytes: bit c of byte r is bit r of byte c. */
static uint64_t transpose(uint64_t set) {
  uint64_t moved = (set ^ set >> 7) & 0x00aa00aa00aa00aau;
  set ^= moved ^ moved << 7;
  moved = (set ^ set >> 14) & 0x0000cccc0000ccccu;
  set ^= moved ^ moved << 14;
  moved = (set ^ set >> 28) & 0x00000000f0f0f0f0u;
  return set ^ moved ^ moved << 28;
}

/* Reverses the bits of each byte. */
static uint64_t mirror(uint64_t set) {
  set = (set >> 1 & 0x5555555555555555u) | (set & 0x5555555555555555u) << 1;
  set = (set >> 2 & 0x3333333333333333u) | (set & 0x3333333333333333u) << 2;
  return (set >> 4 & 0x0f0f0f0f0f0f0f0fu) | (set & 0x0f0f0f0f0f0f0f0fu) << 4;
}

/* Turns a set of a window's cells into one of the view's, a byte for each row with a bit for each
 * column; the other way round it is the same but for the order of the steps. */
static uint64_t to_view(uint64_t set, int32_t direction, int32_t size) {
  int32_t gap = PITCH - size;
  switch (direction) {
    case MG_RIGHT: return __builtin_bswap64(set) >> 8 * gap;
    case MG_LEFT: return mirror(set) >> gap;
    case MG_UP: return transpose(set);
    default: return __builtin_bswap64(mirror(transpose(set))) >> (8 * gap + gap);
  }
}

static uint64_t to_window(uint64_t set, int32_t direction, int32_t size) {
  int32_t gap = PITCH - size;
  switch (direction) {
    case MG_RIGHT: return __builtin_bswap64(set) >> 8 * gap;
    case MG_LEFT: return mirror(set) >> gap;
    case MG_UP: return transpose(set);
    default: return transpose(__builtin_bswap64(mirror(set)) >> (8 * gap + gap));
  }
}

/* Clears the cells of a window that are not in a set. */
static void clear_others(uint64_t set, mg_view *view) {
  lanes columns[2];
  for (int32_t half = 0; half < 2; half++) {
    for (int32_t i = 0; i < 4; i++) columns[half][i] = set >> 8 * (4 * half + i) & 0xff;
  }
  for (int32_t row = 0; row < view->size; row++) {
    for (int32_t half = 0; half < 2; half++) {
      mg_cell *at = view->cells + row * PITCH + 4 * half;
      lanes cells;
      memcpy(&cells, at, sizeof(cells));
      cells &= (lanes)((columns[half] & (uint32_t)1 << row) != 0);
      memcpy(at, &cells, sizeof(cells));
    }
  }
}

/* -------------------------------------------------------------------------- larger windows -- */

static inline bool is_opaque(mg_cell cell) {
  return (cell.kind == MG_WALL) | ((cell.kind == MG_DOOR) & (cell.state != MG_OPEN));
}

/* Copies the cells; sets bit i of opaque[j] where cell (i, j) hides what is behind it. */
static void copy_cells(const mg_world *world, mg_view *view, uint32_t *opaque) {
  int32_t size = view->size;
  for (int32_t j = 0; j < size; j++) {
    opaque[j] = 0;
    for (int32_t i = 0; i < size; i++) {
      mg_cell cell = mg_get(world, mg_view_place(world->state, size, i, j));
      view->cells[j * size + i] = cell;
      opaque[j] |= (uint32_t)is_opaque(cell) << i;
    }
  }
}

static void clear_unseen(mg_view *view) {
  for (int32_t j = 0; j < view->size; j++) {
    for (int32_t i = 0; i < view->size; i++) {
      if (!mg_sees(view, i, j)) view->cells[j * view->size + i] = (mg_cell){0};
    }
  }
}

/* ----------------------------------------------------------------------------------- light -- */

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

/* Looks through a window of 7 cells or less. */
static void look_near(const mg_world *world, bool sees_through_walls, mg_view *view) {
  int32_t direction = world->state->direction, size = view->size;
  uint32_t opaque[PITCH] = {0};
  orient(view, direction, PITCH);
  uint64_t hiding = copy_window(world, corner_of(world->state, size), view);
  if (sees_through_walls) return;
  hiding = to_view(hiding, direction, size);
  for (int32_t j = 0; j < size; j++) opaque[j] = hiding >> 8 * j & 0xff;
  find_seen(view, opaque);
  uint64_t seen = 0;
  for (int32_t j = 0; j < size; j++) seen |= (uint64_t)view->seen[j] << 8 * j;
  clear_others(to_window(seen, direction, size), view);
}

/* Looks at more cells, which the view has as the agent sees them. */
static void look_far(const mg_world *world, bool sees_through_walls, mg_view *view) {
  uint32_t opaque[MG_MOST_VIEW] = {0};
  orient(view, MG_UP, view->size);
  copy_cells(world, view, opaque);
  if (sees_through_walls) return;
  find_seen(view, opaque);
  clear_unseen(view);
}

void mg_look(const mg_world *world, int32_t size, bool sees_through_walls, mg_view *view) {
  const mg_state *it = world->state;
  view->size = size;
  for (int32_t j = 0; sees_through_walls && j < size; j++) view->seen[j] = (1u << size) - 1;
  if (size < PITCH) {
    look_near(world, sees_through_walls, view);
  } else {
    look_far(world, sees_through_walls, view);
  }
  /* the agent sees what it carries where it stands */
  view->cells[view->origin + size / 2 * view->step_i + (size - 1) * view->step_j] =
      it->carried.kind ? it->carried : mg_empty;
}
