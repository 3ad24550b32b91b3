/* Bonuses: what minigrid's wrappers ActionBonus and PositionBonus add to rewards. minigrid's counts
 * are dicts that last as long as the environment; in a grid a table holds all that they can. */
#include "bonus.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"

enum { DIRECTIONS = 4 };

static const char *const names_of[MG_NUM_BONUSES] = {"action", "position"};

/* numbers of each cell */
static const int32_t counts_of[MG_NUM_BONUSES] = {DIRECTIONS * MG_NUM_ACTIONS, 1};

/* Returns the kind that a text begins with, up to a comma or its end; -1: none. */
static int32_t kind_at(const char *text, size_t length) {
  for (int32_t kind = 0; kind < MG_NUM_BONUSES; kind++) {
    if (strlen(names_of[kind]) == length && !memcmp(text, names_of[kind], length)) return kind;
  }
  return -1;
}

int mg_bonuses_read(const char *names, double scale, mg_bonuses *out, pp_error *error) {
  bool is_taken[MG_NUM_BONUSES] = {false};
  *out = (mg_bonuses){.scale = scale};
  for (const char *at = names; *at;) {
    size_t length = strcspn(at, ",");
    int32_t kind = kind_at(at, length);
    if (kind < 0 || is_taken[kind]) {
      return pp_fail(error, PP_ERR_ARGUMENT,
                     "bonuses='%.60s': choose action, position, or both with a comma between them",
                     names);
    }
    is_taken[kind] = true;
    out->kinds[out->count++] = kind;
    at += length + (at[length] == ',');
  }
  return PP_OK;
}

size_t mg_bonuses_bytes(const mg_bonuses *bonuses, int32_t cells) {
  size_t numbers = 0;
  for (int32_t i = 0; i < bonuses->count; i++) {
    numbers += (size_t)counts_of[bonuses->kinds[i]] * (size_t)cells;
  }
  return numbers * sizeof(uint32_t);
}

double mg_bonuses_add(const mg_bonuses *bonuses, const mg_world *world, uint32_t *counts,
                      int64_t action, double reward) {
  const mg_state *it = world->state;
  int32_t cell = it->agent.y * world->width + it->agent.x;
  /* only before the first episode the agent is nowhere */
  if (!mg_is_inside(world, it->agent)) return reward;
  for (int32_t i = 0; i < bonuses->count; i++) {
    int32_t kind = bonuses->kinds[i], number = counts_of[kind] * cell;
    if (kind == MG_ACTION_BONUS) number += it->direction * MG_NUM_ACTIONS + (int32_t)action;
    if (counts[number] < UINT32_MAX) counts[number]++;
    double bonus = 1 / sqrt((double)counts[number]);
    reward += kind == MG_ACTION_BONUS ? bonus : bonus * bonuses->scale;
    counts += (size_t)counts_of[kind] * (size_t)(world->width * world->height);
  }
  return reward;
}
