/* A world that serves all episodes of an environment, as in Gymnasium. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum { FIRST_NODES = 16 };

int box2d_world_init(box2d_world *it, const box2d_library *library) {
  *it = (box2d_world){.library = library, .memory = malloc((size_t)library->world_size)};
  return it->memory ? PP_OK : PP_ERR_MEMORY;
}

void box2d_world_fini(box2d_world *it) {
  box2d_world_end(it);
  free(it->memory);
}

void box2d_world_begin(box2d_world *it, float gravity) {
  const box2d_vector both = {0, gravity};
  if (it->is_begun) return;
  it->library->world_init(it->memory, &both);
  it->is_begun = true;
}

void box2d_world_end(box2d_world *it) {
  if (!it->is_begun) return;
  // Box2D must not call the listener for contacts that end with the world
  it->library->set_listener(it->memory, NULL);
  it->library->world_fini(it->memory);
  it->is_begun = false;
}

/* --------------------------------------------------------------------------- the free nodes -- */

static void *tree_of(const box2d_world *it) {
  return (char *)it->memory + it->library->tree;
}

/* Returns how many nodes the tree has in use, or has memory for. */
static int32_t count_nodes(const box2d_world *it, int64_t offset) {
  int32_t count;
  memcpy(&count, (const char *)it->memory + offset, sizeof(count));
  return count;
}

/* frees all nodes, so that the tree hands them out in the order of free_nodes */
static void free_all_nodes(box2d_world *it) {
  for (int32_t i = it->num_nodes; i--;) it->library->free_node(tree_of(it), it->free_nodes[i]);
}

int box2d_world_read_nodes(box2d_world *it, pp_error *error) {
  const box2d_library *library = it->library;
  int32_t used = count_nodes(it, library->num_nodes), room = count_nodes(it, library->node_room);

  if (used || room < FIRST_NODES || room > BOX2D_MAX_NODES) {
    return pp_fail(error, PP_ERR_ENV,
                   "Box2D's tree of an empty world has %d nodes and memory for %d", used, room);
  }
  it->num_nodes = room;
  for (int32_t i = 0; i < room; i++) {
    it->free_nodes[i] = (int16_t)library->allocate_node(tree_of(it));
  }
  free_all_nodes(it);
  return PP_OK;
}

void box2d_world_write_nodes(box2d_world *it) {
  int32_t used = count_nodes(it, it->library->num_nodes);
  // it gets memory for twice as many nodes when all are in use
  for (; used < it->num_nodes; used++) it->library->allocate_node(tree_of(it));
  free_all_nodes(it);
}

void box2d_world_set_nodes(box2d_world *it, const char *bytes, int64_t count) {
  it->num_nodes = (int32_t)count;
  memcpy(it->free_nodes, bytes, box2d_nodes_bytes(count));
}

bool box2d_nodes_check(const char *bytes, int64_t size, int64_t count) {
  bool seen[BOX2D_MAX_NODES] = {false};
  // Box2D doubles the memory of a tree
  bool is_power = !(count & (count - 1));
  if (count < FIRST_NODES || count > BOX2D_MAX_NODES || !is_power) return false;
  if (size != (int64_t)box2d_nodes_bytes(count)) return false;
  for (int64_t i = 0; i < count; i++) {
    int16_t node;
    memcpy(&node, bytes + (size_t)i * sizeof(node), sizeof(node));
    if (node < 0 || node >= count || seen[node]) return false;
    seen[node] = true;
  }
  return true;
}
