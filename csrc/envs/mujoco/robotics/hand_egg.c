/* HandManipulateEgg: turn an egg in the hand. */
#include "hand_manipulate.h"

#define EGG "hand/manipulate_egg.xml"

const pp_env_def pp_env_hand_egg[28] = {
    HAND_TASK("HandManipulateEgg", "egg", "random", "xyz", 0),
    HAND_IDS("HandManipulateEggFull", EGG, "random", "xyz", "off", 0),
    HAND_TASK("HandManipulateEggRotate", "egg", "ignore", "xyz", 0),
};
