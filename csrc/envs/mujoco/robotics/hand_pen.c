/* HandManipulatePen: turn a pen in the hand. */
#include "hand_manipulate.h"

#define PEN "hand/manipulate_pen.xml"

const pp_env_def pp_env_hand_pen[28] = {
    HAND_TASK("HandManipulatePen", "pen", "random", "xyz", 1),
    HAND_IDS("HandManipulatePenFull", PEN, "random", "xyz", "off", 1),
    HAND_TASK("HandManipulatePenRotate", "pen", "ignore", "xyz", 1),
};
