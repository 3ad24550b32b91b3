/* Bonuses: what minigrid's wrappers ActionBonus and PositionBonus add to rewards, for places and
 * actions that an environment has seldom seen. */
#ifndef PP_ENVS_MINIGRID_BONUS_H
#define PP_ENVS_MINIGRID_BONUS_H

#include "grid.h"

enum mg_bonus_kind {
  MG_ACTION_BONUS,   /* counts places, directions and actions */
  MG_POSITION_BONUS, /* counts places */
  MG_NUM_BONUSES
};

typedef struct mg_bonuses {
  int32_t count;
  int32_t kinds[MG_NUM_BONUSES]; /* mg_bonus_kind, in the order in which they are added */
  double scale;                  /* of position bonuses */
} mg_bonuses;

/* Reads names with commas between them, each at most once. */
int mg_bonuses_read(const char *names, double scale, mg_bonuses *out, pp_error *error);

/* Returns the bytes of an environment's counts in a grid of `cells` cells. */
size_t mg_bonuses_bytes(const mg_bonuses *bonuses, int32_t cells);

/* Counts the step that has led to a world, and returns its reward with the bonuses. counts:
 * mg_bonuses_bytes of them, zeros before the first episode. */
double mg_bonuses_add(const mg_bonuses *bonuses, const mg_world *world, uint32_t *counts,
                      int64_t action, double reward);

#endif
