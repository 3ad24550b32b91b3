/* The image of an observation, in the forms of minigrid's wrappers. */
#ifndef PP_ENVS_MINIGRID_IMAGE_H
#define PP_ENVS_MINIGRID_IMAGE_H

#include "view.h"

/* what an image shows: the agent's view, or the whole grid */
enum mg_shows {
  MG_PARTIAL,     /* kind, color and state of each cell */
  MG_ONE_HOT,     /* a one for each of them (OneHotPartialObsWrapper) */
  MG_RGB_PARTIAL, /* a picture (RGBImgPartialObsWrapper) */
  MG_FULL,        /* FullyObsWrapper */
  MG_SYMBOLIC,    /* column, row and kind (SymbolicObsWrapper) */
  MG_RGB,         /* a picture of the grid (RGBImgObsWrapper) */
  MG_NUM_SHOWS
};

/* of a cell in a one-hot image: kinds, colors and states */
enum {
  MG_NUM_KINDS = 11,
  MG_NUM_STATES = 3,
  MG_HOT = MG_NUM_KINDS + MG_NUM_COLORS + MG_NUM_STATES
};

/* Tiles come in the order of the agent in them (none, or its direction + 1), whether they are
 * highlighted, and what stands there: mg_tile_of. */
enum {
  MG_TILE_OBJECTS = MG_NUM_KINDS * MG_NUM_COLORS * MG_NUM_STATES,
  MG_NUM_TILES = 10 * MG_TILE_OBJECTS
};

typedef struct mg_image {
  int32_t shows;     /* mg_shows */
  int32_t view_size; /* of the image */
  int32_t agent_view_size;
  bool sees_through_walls;
  int32_t tile_size;
  const uint8_t *tiles; /* MG_NUM_TILES of tile_size x tile_size x 3 */
} mg_image;

/* Sets the field's shape and bounds for a grid of this size. */
void mg_image_describe(const mg_image *image, int32_t width, int32_t height, pp_field *field);
/* Writes an image. */
void mg_image_write(const mg_image *image, const mg_world *world, void *out);

#endif
