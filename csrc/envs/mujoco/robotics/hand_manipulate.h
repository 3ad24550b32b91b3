/* HandManipulate: the tasks of the shadow hand with an object, in which their ids differ only by
 * the defaults of options. */
#ifndef PP_ENVS_MUJOCO_ROBOTICS_HAND_MANIPULATE_H
#define PP_ENVS_MUJOCO_ROBOTICS_HAND_MANIPULATE_H

#include "hand.h"

extern const robotics_kind hand_manipulate_kind;

enum {
  HAND_REWARD_TYPE = ROBOTICS_NUM_COMMON_OPTIONS,
  HAND_TARGET_POSITION,
  HAND_TARGET_ROTATION,
  HAND_TOUCH,
  HAND_RANDOM_POSITION,
  HAND_RANDOM_ROTATION,
  HAND_IGNORES_Z,
  HAND_DISTANCE_THRESHOLD,
  HAND_ROTATION_THRESHOLD,
  HAND_NUM_OPTIONS
};

/* clang-format off */
#define HAND_FLAG(id, value, text)                                                                 \
  {.name = id, .type = PP_OPT_BOOL, .number = value, .varies = true, .doc = text}

/* is_pen: it begins as it lies in the model, and its rotation about its own axis does not count */
#define HAND_OPTIONS(xml, reward, position, rotation, touch, is_pen)                               \
  {ROBOTICS_COMMON_OPTIONS(xml, 20),                                                               \
   ROBOTICS_REWARD_TYPE(reward),                                                                   \
   {.name = "target_position", .type = PP_OPT_STRING, .text = position,                            \
    .doc = "\"random\", \"fixed\" (where the object begins), or \"ignore\""},                      \
   {.name = "target_rotation", .type = PP_OPT_STRING, .text = rotation,                            \
    .doc = "\"xyz\", \"z\", or \"parallel\" (to the axes, but for a rotation about z)"},           \
   {.name = "touch_get_obs", .type = PP_OPT_STRING, .text = touch,                                 \
    .doc = "what is observed of touch sensors: \"sensordata\", \"boolean\", \"log\" or \"off\""},  \
   HAND_FLAG("randomize_initial_position", 1, "draw where the object begins"),                     \
   HAND_FLAG("randomize_initial_rotation", !(is_pen), "draw how the object is turned at first"),   \
   HAND_FLAG("ignore_z_target_rotation", is_pen, "a rotation about z does not count"),             \
   MUJOCO_WEIGHT("distance_threshold", (is_pen) ? 0.05 : 0.01,                                     \
                 "distance in m from which a position is achieved"),                               \
   MUJOCO_WEIGHT("rotation_threshold", 0.1, "angle in radians from which a rotation is achieved")}

#define HAND_DEFINITION(...)                                                                       \
  ROBOTICS_DEFINITION, .options = (const pp_option[])HAND_OPTIONS(__VA_ARGS__),                    \
      .num_options = HAND_NUM_OPTIONS, .data = &hand_manipulate_kind, .max_episode_steps = 100,    \
      .action_dtypes = PP_ALL_ACTION_DTYPES

/* The four ids of a task: both rewards, each with the version that EnvPool has besides. */
#define HAND_IDS(title, xml, position, rotation, touch, is_pen)                                    \
  {HAND_DEFINITION(xml, "sparse", position, rotation, touch, is_pen),                              \
   ROBOTICS_ENVPOOL(title "-v0")},                                                                 \
  {HAND_DEFINITION(xml, "sparse", position, rotation, touch, is_pen), ROBOTICS_ID(title "-v1")},   \
  {HAND_DEFINITION(xml, "dense", position, rotation, touch, is_pen),                               \
   ROBOTICS_ENVPOOL(title "Dense-v0")},                                                            \
  {HAND_DEFINITION(xml, "dense", position, rotation, touch, is_pen),                               \
   ROBOTICS_ID(title "Dense-v1")}

/* A task without touch sensors, with those that say whether they touch, and with those that say how
 * much: twelve ids. */
#define HAND_TASK(title, name, position, rotation, is_pen)                                         \
  HAND_IDS(title, "hand/manipulate_" name ".xml", position, rotation, "off", is_pen),              \
  HAND_IDS(title "_BooleanTouchSensors", "hand/manipulate_" name "_touch_sensors.xml",             \
           position, rotation, "boolean", is_pen),                                                 \
  HAND_IDS(title "_ContinuousTouchSensors", "hand/manipulate_" name "_touch_sensors.xml",          \
           position, rotation, "sensordata", is_pen)
/* clang-format on */

#endif
