/* The track of CarRacing: a closed road of tiles, each of which is a static body that only notices
 * what is on it, and red and white borders in sharp bends. */
#ifndef PP_ENVS_BOX2D_RACING_TRACK_H
#define PP_ENVS_BOX2D_RACING_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "../library.h"

/* numbers of Gymnasium's car_racing.py; lengths in meters */
#define RACING_SCALE 6.0
#define RACING_PLAYFIELD (2000 / RACING_SCALE)

enum { TRACK_MOST_TILES = 2500 };

/* a quadrilateral: x and y of its corners */
typedef double track_corners[4][2];

typedef struct track_tile {
  void *body;
  track_corners corners;
  track_corners border; /* if has_border */
  bool has_border;
  bool is_visited; /* a wheel has been on it */
  bool is_plain;   /* something has been on it, which takes its shade from it */
} track_tile;

/* The owner frees tiles. */
typedef struct track {
  track_tile *tiles; /* room of them */
  int32_t count;     /* 0: the world has none */
  int32_t room;
  double start[3]; /* angle, x and y of its beginning */
} track;

/* Draws a track, and makes its tiles in a world. Returns the status: there may be no memory. */
int track_create(track *road, const box2d_library *library, void *world, pp_rng *rng,
                 pp_error *error);

/* destroys the tiles' bodies */
void track_destroy(track *road, const box2d_library *library, void *world);

/* Returns the tile with this body, or null. */
track_tile *track_find(track *road, const void *body);

#endif
