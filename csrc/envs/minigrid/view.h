/* What the agent sees: the cells before it, and which of them nothing hides. */
#ifndef PP_ENVS_MINIGRID_VIEW_H
#define PP_ENVS_MINIGRID_VIEW_H

#include "grid.h"

enum { MG_MOST_VIEW = 31 };

/* A square of cells, turned so that the agent stands in the middle of the last row and looks up.
 * Cell (i, j) of column i and row j is cells[i * size + j]. */
typedef struct mg_view {
  int32_t size;
  uint32_t seen[MG_MOST_VIEW]; /* of each row, bit i: nothing hides column i */
  mg_cell cells[MG_MOST_VIEW * MG_MOST_VIEW];
} mg_view;

/* Looks at size x size cells. */
void mg_look(const mg_world *world, int32_t size, bool sees_through_walls, mg_view *view);

/* the place in the grid of cell (i, j) of a view of this size */
mg_point mg_view_place(const mg_state *state, int32_t size, int32_t i, int32_t j);

static inline bool mg_sees(const mg_view *view, int32_t i, int32_t j) {
  return view->seen[j] >> i & 1;
}

#endif
