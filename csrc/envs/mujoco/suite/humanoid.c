/* humanoid: stand, walk or run. */
#include "humanoid_base.h"

static const char *const names[] = {"body:torso",
                                    "body:head",
                                    "body:left_hand",
                                    "body:left_foot",
                                    "body:right_hand",
                                    "body:right_foot",
                                    "sensor:torso_subtreelinvel"};

static int prepare(pp_config *config, suite_shared *shared) {
  return suite_humanoid_prepare(config, shared, names, SUITE_ZZ);
}

static const suite_task task = {.prepare = prepare,
                                .begin = suite_humanoid_begin,
                                .observe = suite_humanoid_observe,
                                .reward = suite_humanoid_reward};
static const suite_kind stand = {.task = &task};
static const suite_kind walk = {.task = &task, .number = 1};
static const suite_kind run = {.task = &task, .number = 10};
static const suite_kind pure = {.task = &task, .number = 10, .variant = SUITE_PURE_STATE};
static const pp_option options[] = SUITE_OPTIONS("humanoid", 5);

const pp_env_def pp_env_suite_humanoid[8] = {
    SUITE_TASK("humanoid", "stand", "HumanoidStand", options, &stand),
    SUITE_TASK("humanoid", "walk", "HumanoidWalk", options, &walk),
    SUITE_TASK("humanoid", "run", "HumanoidRun", options, &run),
    SUITE_TASK("humanoid", "run_pure_state", "HumanoidRunPureState", options, &pure),
};
