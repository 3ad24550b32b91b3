/* Missions: what the agent is told, as a code of one integer. */
#ifndef PP_ENVS_MINIGRID_MISSION_H
#define PP_ENVS_MINIGRID_MISSION_H

#include <stdint.h>

enum {
  MG_MOST_TEXT = 96, /* characters of MiniGrid's longest text; as in minigrid's FlatObsWrapper */
  MG_LONGEST_TEXT = 352, /* of BabyAI's, too */
  MG_MISSION_WORDS = 4   /* integers of a code: MiniGrid has one */
};

enum mg_mission {
  MG_GET_TO_GOAL,
  MG_USE_KEY,
  MG_REACH_GOAL,
  MG_AVOID_LAVA,
  MG_FIND_OPENING,
  MG_TRAVERSE,
  MG_OPEN_DOOR,
  MG_PICK_UP,
  MG_MATCH,
  MG_RED_THEN_BLUE,
  MG_FETCH, /* in five ways */
  MG_GO_TO_DOOR = MG_FETCH + 5,
  MG_GO_TO,
  MG_PUT_NEAR,
  MG_UNLOCK_ROOM,
  MG_PLAY,
  MG_NUM_MISSIONS
};

/* Returns a code: a mission, and its words in order, each an mg_color or mg_kind. */
static inline int32_t mg_mission_of(int32_t mission, int32_t a, int32_t b, int32_t c, int32_t d) {
  return mission | a << 8 | b << 12 | c << 16 | d << 20;
}

/* Writes the text of a code, at most MG_MOST_TEXT characters; returns their number. */
int32_t mg_mission_text(const void *code, char *out);

#endif
