/* The texts of missions. */
#include "mission.h"

#include <string.h>

/* %c: the next word of the code, a color; %k: the next, a kind of object */
static const char *const patterns[MG_NUM_MISSIONS] = {
    [MG_GET_TO_GOAL] = "get to the green goal square",
    [MG_USE_KEY] = "use the key to open the door and then get to the goal",
    [MG_REACH_GOAL] = "reach the goal",
    [MG_AVOID_LAVA] = "avoid the lava and get to the green goal square",
    [MG_FIND_OPENING] = "find the opening and get to the green goal square",
    [MG_TRAVERSE] = "traverse the rooms to get to the goal",
    [MG_OPEN_DOOR] = "open the door",
    [MG_PICK_UP] = "pick up the %c %k",
    [MG_MATCH] = "go to the matching object at the end of the hallway",
    [MG_RED_THEN_BLUE] = "open the red door then the blue door",
    [MG_FETCH] = "get a %c %k",
    [MG_FETCH + 1] = "go get a %c %k",
    [MG_FETCH + 2] = "fetch a %c %k",
    [MG_FETCH + 3] = "go fetch a %c %k",
    [MG_FETCH + 4] = "you must fetch a %c %k",
    [MG_GO_TO_DOOR] = "go to the %c door",
    [MG_GO_TO] = "go to the %c %k",
    [MG_PUT_NEAR] = "put the %c %k near the %c %k",
    [MG_UNLOCK_ROOM] = "get the %c key from the %c room, unlock the %c door and go to the goal",
    [MG_PLAY] = "",
};

static const char *const colors[8] = {"red", "green", "blue", "purple", "yellow", "grey", "", ""};
static const char *const kinds[8] = {"", "", "", "", "door", "key", "ball", "box"};

int32_t mg_mission_text(const void *code, char *out) {
  uint32_t words = (uint32_t)*(const int32_t *)code;
  uint32_t mission = words & 0xff;
  int32_t length = 0;
  words >>= 8;
  for (const char *p = patterns[mission < MG_NUM_MISSIONS ? mission : MG_PLAY]; *p; p++) {
    if (*p != '%') {
      out[length++] = *p;
      continue;
    }
    const char *word = (*++p == 'c' ? colors : kinds)[words & 7];
    size_t size = strlen(word);
    memcpy(out + length, word, size);
    length += (int32_t)size;
    words >>= 4;
  }
  return length;
}
