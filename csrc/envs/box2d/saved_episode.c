/* Saved episode: a snapshot of an environment whose world serves all episodes. */
#include "saved_episode.h"

#include <string.h>

#include "base/state_check.h"

int64_t box2d_episode_save(const box2d_saved_format *format, const pp_record *actions,
                           const box2d_world *world, const pp_rng *first_rng, const void *own,
                           void *bytes) {
  const box2d_saved_episode end = {*first_rng, actions->count,
                                   actions->count >= 0 ? world->num_nodes : 0};
  size_t size = pp_record_bytes(actions), nodes = box2d_nodes_bytes(end.num_nodes);
  char *to = bytes;

  if (to) {
    memcpy(to, actions->entries, size);
    memcpy(to + size, world->free_nodes, nodes);
    if (format->own_size) memcpy(to + size + nodes, own, format->own_size);
    memcpy(to + size + nodes + format->own_size, &end, sizeof(end));
  }
  return (int64_t)(size + nodes + format->own_size + sizeof(end));
}

/* Returns whether bytes are the actions and free nodes of an end. */
static bool is_episode(const box2d_saved_format *format, const char *bytes, int64_t size,
                       const box2d_saved_episode *end) {
  if (end->num_actions == -1) return !size && !end->num_nodes;
  if (end->num_actions < 0 || end->num_actions > size) return false;
  int64_t actions = end->num_actions * (int64_t)format->action_size;
  if (actions > size) return false;
  for (int64_t i = 0; i < end->num_actions; i++) {
    if (!format->is_action(bytes + (size_t)i * format->action_size)) return false;
  }
  return box2d_nodes_check(bytes + actions, size - actions, end->num_nodes);
}

int box2d_episode_check(const box2d_saved_format *format, const pp_saved *saved, pp_error *error) {
  const char *bytes = saved->state;
  int64_t own = saved->size - (int64_t)(format->own_size + sizeof(box2d_saved_episode));
  box2d_saved_episode end;

  if (own < 0) return pp_record_refuse(saved->size, error);
  memcpy(&end, bytes + own + format->own_size, sizeof(end));
  if (!pp_state_check_rng(&end.first_rng, end.num_actions >= 0) ||
      (format->is_own && !format->is_own(bytes + own)) || !is_episode(format, bytes, own, &end)) {
    return pp_record_refuse(saved->size, error);
  }
  return pp_record_check(end.num_actions, saved->phase, error);
}

box2d_saved_episode box2d_episode_read(const box2d_saved_format *format, const char *bytes,
                                       int64_t size, void *own) {
  box2d_saved_episode end;
  const char *at = bytes + (size - (int64_t)sizeof(end));
  memcpy(&end, at, sizeof(end));
  if (format->own_size) memcpy(own, at - format->own_size, format->own_size);
  return end;
}

void box2d_episode_restore(const box2d_saved_episode *saved, const char *bytes, pp_record *actions,
                           box2d_world *world) {
  actions->count = saved->num_actions;
  if (saved->num_actions < 0) return;
  size_t size = pp_record_bytes(actions);
  memcpy(actions->entries, bytes, size);
  box2d_world_set_nodes(world, bytes + size, saved->num_nodes);
}
