/* Joystick: the player's action in one step of an environment. */
#ifndef PP_ENVS_ATARI_JOYSTICK_H
#define PP_ENVS_ATARI_JOYSTICK_H

enum {
  PP_NOOP = 0,
  PP_FIRE = 1,
  PP_ACTIONS = 18, /* of ALE's joystick */
};

typedef struct pp_move {
  int action;     /* of ALE's list */
  float strength; /* how far a paddle turns; 1: its usual step */
} pp_move;

/* Returns the action that ALE derives from a stick: {radius, angle, how far FIRE is pressed}. Only
 * values beyond the threshold count. */
pp_move pp_move_of_stick(const float stick[3], double threshold);

#endif
