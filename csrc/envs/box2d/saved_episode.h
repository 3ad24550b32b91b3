/* Saved episode: a snapshot of an environment whose world serves all episodes.
 *
 * It consists of the actions of the episode, the world's free nodes at its beginning, bytes of the
 * environment's own, and a box2d_saved_episode. */
#ifndef PP_ENVS_BOX2D_SAVED_EPISODE_H
#define PP_ENVS_BOX2D_SAVED_EPISODE_H

#include "base/record.h"
#include "world.h"

/* the end of a snapshot */
typedef struct box2d_saved_episode {
  pp_rng first_rng;
  int64_t num_actions; /* -1: before the first episode */
  int64_t num_nodes;
} box2d_saved_episode;

/* how the snapshots of an environment look */
typedef struct box2d_saved_format {
  size_t action_size;
  size_t own_size;
  bool (*is_action)(const void *bytes); /* which need not be aligned */
  bool (*is_own)(const void *bytes);    /* null: own_size is 0 */
} box2d_saved_format;

/* Writes a snapshot, unless bytes is null; own: the environment's own bytes. Returns its size. */
int64_t box2d_episode_save(const box2d_saved_format *format, const pp_record *actions,
                           const box2d_world *world, const pp_rng *first_rng, const void *own,
                           void *bytes);

/* Refuses a snapshot that no environment has made: check_state. */
int box2d_episode_check(const box2d_saved_format *format, const pp_saved *saved, pp_error *error);

/* Returns the end of a snapshot that has been checked, and copies the environment's own bytes. */
box2d_saved_episode box2d_episode_read(const box2d_saved_format *format, const char *bytes,
                                       int64_t size, void *own);

/* Puts the actions and the free nodes of a snapshot to their places; there is room for them. */
void box2d_episode_restore(const box2d_saved_episode *saved, const char *bytes, pp_record *actions,
                           box2d_world *world);

#endif
