/* A world that serves all episodes of an environment, as in Gymnasium.
 *
 * When its bodies are destroyed, one trace of them is left that later results depend on: the order
 * in which the tree of fixtures hands out its nodes. So snapshots hold that order. */
#ifndef PP_ENVS_BOX2D_WORLD_H
#define PP_ENVS_BOX2D_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "library.h"

enum { BOX2D_MAX_NODES = 8192 /* more than twice the number of fixtures, and a power of two */ };

typedef struct box2d_world {
  const box2d_library *library;
  void *memory; /* world_size bytes; is_begun: Box2D's world is constructed in them */
  bool is_begun;
  int32_t num_nodes;
  int16_t free_nodes[BOX2D_MAX_NODES]; /* in the order in which the tree hands them out */
} box2d_world;

/* Allocates memory. The object must not move afterwards. */
int box2d_world_init(box2d_world *it, const box2d_library *library);

void box2d_world_fini(box2d_world *it);

/* constructs the world, if there is none yet */
void box2d_world_begin(box2d_world *it, float gravity);

/* destroys the world, if there is one */
void box2d_world_end(box2d_world *it);

/* Reads the order in which the tree of an empty world hands out its nodes. */
int box2d_world_read_nodes(box2d_world *it, pp_error *error);

/* Makes the tree of a new world hand out nodes in the order of free_nodes. */
void box2d_world_write_nodes(box2d_world *it);

/* Sets free_nodes; they have been checked. */
void box2d_world_set_nodes(box2d_world *it, const char *bytes, int64_t count);

/* Returns whether bytes are such an order of count nodes. */
bool box2d_nodes_check(const char *bytes, int64_t size, int64_t count);

static inline size_t box2d_nodes_bytes(int64_t count) {
  return (size_t)count * sizeof(int16_t);
}

#endif
