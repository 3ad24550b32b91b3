/* Writes images: cells, symbols and pictures. */
#include "image.h"

#include <string.h>

void mg_image_describe(const mg_image *image, int32_t width, int32_t height, pp_field *field) {
  int64_t size = image->view_size;
  field->ndim = 3;
  field->shape[0] = field->shape[1] = size;
  field->shape[2] = image->shows == MG_ONE_HOT ? MG_HOT : 3;
  if (image->shows == MG_RGB_PARTIAL) {
    field->shape[0] = field->shape[1] = size * image->tile_size;
  } else if (image->shows == MG_RGB) {
    field->shape[0] = (int64_t)height * image->tile_size;
    field->shape[1] = (int64_t)width * image->tile_size;
  } else if (image->shows == MG_FULL || image->shows == MG_SYMBOLIC) {
    field->shape[0] = width;
    field->shape[1] = height;
  }
}

/* ----------------------------------------------------------------------------------- cells -- */

static void put(uint8_t *out, mg_cell cell) {
  out[0] = cell.kind;
  out[1] = cell.color;
  out[2] = cell.state;
}

/* Each cell is copied with its fourth byte, which the next one overwrites. */
static void write_partial(const mg_view *view, uint8_t *out) {
  int32_t last = view->size - 1;
  for (int32_t i = 0; i <= last; i++) {
    const mg_cell *cell = mg_view_cell(view, i, 0);
    for (int32_t j = 0; j <= last; j++, cell += view->step_j, out += 3) {
      if (i < last || j < last) memcpy(out, cell, sizeof(*cell));
    }
  }
  put(out - 3, *mg_view_cell(view, last, last));
}

static void write_one_hot(const mg_view *view, uint8_t *out) {
  memset(out, 0, (size_t)(view->size * view->size * MG_HOT));
  for (int32_t i = 0; i < view->size; i++) {
    const mg_cell *cell = mg_view_cell(view, i, 0);
    for (int32_t j = 0; j < view->size; j++, cell += view->step_j, out += MG_HOT) {
      out[cell->kind] = 1;
      out[MG_NUM_KINDS + cell->color] = 1;
      out[MG_NUM_KINDS + MG_NUM_COLORS + cell->state] = 1;
    }
  }
}

static void write_full(const mg_world *world, uint8_t *out) {
  const mg_state *it = world->state;
  for (int32_t x = 0; x < world->width; x++) {
    const mg_cell *cell = world->cells + x;
    for (int32_t y = 0; y < world->height; y++, cell += world->width) {
      put(out + 3 * (x * world->height + y), *cell);
    }
  }
  mg_cell agent = {MG_AGENT, MG_RED, (uint8_t)it->direction, 0};
  if (mg_is_inside(world, it->agent)) {
    put(out + 3 * (it->agent.x * world->height + it->agent.y), agent);
  }
}

static void write_symbolic(const mg_world *world, int64_t *out) {
  const mg_state *it = world->state;
  for (int32_t x = 0; x < world->width; x++) {
    const mg_cell *cell = world->cells + x;
    for (int32_t y = 0; y < world->height; y++, cell += world->width, out += 3) {
      bool is_agent = x == it->agent.x && y == it->agent.y;
      out[0] = x;
      out[1] = y;
      out[2] = is_agent ? MG_AGENT : cell->kind == MG_EMPTY ? -1 : cell->kind;
    }
  }
}

/* -------------------------------------------------------------------------------- pictures -- */

/* Copies a tile to its place in a picture of `columns` columns of tiles. */
static void put_tile(const mg_image *image, mg_cell cell, int32_t agent, bool is_lit,
                     int32_t column, int32_t row, int32_t columns, uint8_t *out) {
  size_t line = (size_t)image->tile_size * 3, stride = line * (size_t)columns;
  int32_t object = cell.kind == MG_EMPTY
                       ? 0
                       : (cell.kind * MG_NUM_COLORS + cell.color) * MG_NUM_STATES + cell.state;
  int32_t number = (agent * 2 + is_lit) * MG_TILE_OBJECTS + object;
  const uint8_t *tile = image->tiles + (size_t)number * line * (size_t)image->tile_size;
  out += (size_t)row * (size_t)image->tile_size * stride + (size_t)column * line;
  for (int32_t y = 0; y < image->tile_size; y++, tile += line, out += stride) {
    memcpy(out, tile, line);
  }
}

static void write_rgb_partial(const mg_image *image, const mg_view *view, uint8_t *out) {
  int32_t size = view->size;
  for (int32_t i = 0; i < size; i++) {
    for (int32_t j = 0; j < size; j++) {
      bool is_seen = mg_sees(view, i, j), is_agent = i == size / 2 && j == size - 1;
      mg_cell cell = is_seen ? *mg_view_cell(view, i, j) : mg_empty;
      put_tile(image, cell, is_agent ? 1 + MG_UP : 0, is_seen, i, j, size, out);
    }
  }
}

static void write_rgb(const mg_image *image, const mg_world *world, const mg_view *view,
                      uint8_t *out) {
  const mg_state *it = world->state;
  uint64_t lit[MG_MOST_SIDE] = {0}; /* of each row, bit x: the agent sees column x */
  for (int32_t i = 0; i < view->size; i++) {
    for (int32_t j = 0; j < view->size; j++) {
      mg_point at = mg_view_place(it, view->size, i, j);
      if (mg_sees(view, i, j) && mg_is_inside(world, at)) lit[at.y] |= (uint64_t)1 << at.x;
    }
  }
  for (int32_t y = 0; y < world->height; y++) {
    for (int32_t x = 0; x < world->width; x++) {
      bool is_agent = x == it->agent.x && y == it->agent.y;
      mg_cell cell = world->cells[y * world->width + x];
      put_tile(image, cell, is_agent ? 1 + it->direction : 0, lit[y] >> x & 1, x, y, world->width,
               out);
    }
  }
}

void mg_image_write(const mg_image *image, const mg_world *world, void *out) {
  mg_view view;
  if (image->shows == MG_FULL) {
    write_full(world, out);
    return;
  }
  if (image->shows == MG_SYMBOLIC) {
    write_symbolic(world, out);
    return;
  }
  mg_look(world, image->shows == MG_RGB ? image->agent_view_size : image->view_size,
          image->sees_through_walls, &view);
  switch (image->shows) {
    case MG_ONE_HOT: write_one_hot(&view, out); break;
    case MG_RGB_PARTIAL: write_rgb_partial(image, &view, out); break;
    case MG_RGB: write_rgb(image, world, &view, out); break;
    default: write_partial(&view, out);
  }
}
