/* HandManipulateBlock: turn a block in the hand. */
#include "hand_manipulate.h"

#define BLOCK "hand/manipulate_block.xml"

const pp_env_def pp_env_hand_block[52] = {
    HAND_TASK("HandManipulateBlock", "block", "random", "xyz", 0),
    HAND_IDS("HandManipulateBlockFull", BLOCK, "random", "xyz", "off", 0),
    HAND_TASK("HandManipulateBlockRotateZ", "block", "ignore", "z", 0),
    HAND_TASK("HandManipulateBlockRotateParallel", "block", "ignore", "parallel", 0),
    HAND_TASK("HandManipulateBlockRotateXYZ", "block", "ignore", "xyz", 0),
};
