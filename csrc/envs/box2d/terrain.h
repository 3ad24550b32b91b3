/* BipedalWalker's ground: edges of grass, and in its hardcore version pits, stumps and stairs. */
#ifndef PP_ENVS_BOX2D_TERRAIN_H
#define PP_ENVS_BOX2D_TERRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "library.h"

/* numbers of Gymnasium's bipedal_walker.py; lengths in meters */
#define TERRAIN_SCALE 30.0
#define TERRAIN_STEP (14 / TERRAIN_SCALE)
#define TERRAIN_HEIGHT (400 / TERRAIN_SCALE / 4)

enum {
  TERRAIN_LENGTH = 200, /* points of the surface */
  TERRAIN_GRASS = 10,
  TERRAIN_START = 20, /* points of flat ground at the beginning */
  /* An obstacle has at most four parts, and the next one begins at least six points later. */
  TERRAIN_MOST_BODIES = TERRAIN_LENGTH + 4 * (TERRAIN_LENGTH / 6 + 1)
};

typedef struct terrain {
  void *bodies[TERRAIN_MOST_BODIES]; /* in the order in which they were made */
  int32_t num_bodies;
} terrain;

/* makes the bodies in a world, and draws what Gymnasium draws for the ground and its clouds */
void terrain_create(terrain *ground, const box2d_library *library, void *world, bool is_hardcore,
                    pp_rng *rng);

/* destroys the bodies, the last one first */
void terrain_destroy(terrain *ground, const box2d_library *library, void *world);

#endif
