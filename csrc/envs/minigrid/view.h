/* What the agent sees: the cells before it, and which of them nothing hides. */
#ifndef PP_ENVS_MINIGRID_VIEW_H
#define PP_ENVS_MINIGRID_VIEW_H

#include "grid.h"

enum { MG_MOST_VIEW = 31 };

/* How far beyond the grid's cells mg_look may read: the last cells of a row of 8. */
enum { MG_CELLS_AROUND = 8 };

/* A square of cells. In the agent's view it stands in the middle of the last row and looks up; the
 * cells themselves are as in the grid. */
typedef struct mg_view {
  int32_t size;
  int32_t origin; /* cell (i, j) of column i and row j of the view is */
  int32_t step_i; /* cells[origin + i * step_i + j * step_j] */
  int32_t step_j;
  uint32_t seen[MG_MOST_VIEW];                /* of each row, bit i: nothing hides column i */
  mg_cell cells[MG_MOST_VIEW * MG_MOST_VIEW]; /* zeros where the agent sees nothing */
} mg_view;

/* Looks at size x size cells; it may read, but not use, MG_CELLS_AROUND cells before and after the
 * grid's. */
void mg_look(const mg_world *world, int32_t size, bool sees_through_walls, mg_view *view);

/* the place in the grid of cell (i, j) of a view of this size */
mg_point mg_view_place(const mg_state *state, int32_t size, int32_t i, int32_t j);

static inline const mg_cell *mg_view_cell(const mg_view *view, int32_t i, int32_t j) {
  return &view->cells[view->origin + i * view->step_i + j * view->step_j];
}

static inline bool mg_sees(const mg_view *view, int32_t i, int32_t j) {
  return view->seen[j] >> i & 1;
}

#endif
