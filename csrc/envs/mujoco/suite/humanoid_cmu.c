/* humanoid_CMU: the humanoid of CMU's motion capture stands, walks or runs. */
#include "humanoid_base.h"

static const char *const names[] = {"body:thorax",
                                    "body:head",
                                    "body:lhand",
                                    "body:lfoot",
                                    "body:rhand",
                                    "body:rfoot",
                                    "sensor:thorax_subtreelinvel"};

static int prepare(pp_config *config, suite_shared *shared) {
  return suite_humanoid_prepare(config, shared, names, SUITE_ZY);
}

static const suite_task task = {.prepare = prepare,
                                .begin = suite_humanoid_begin,
                                .observe = suite_humanoid_observe,
                                .reward = suite_humanoid_reward};
static const suite_kind stand = {.task = &task};
static const suite_kind walk = {.task = &task, .number = 1};
static const suite_kind run = {.task = &task, .number = 10};
static const pp_option options[] = SUITE_OPTIONS("humanoid_CMU", 10);

const pp_env_def pp_env_suite_humanoid_cmu[6] = {
    SUITE_TASK("humanoid_CMU", "stand", "HumanoidCMUStand", options, &stand),
    SUITE_TASK("humanoid_CMU", "walk", "HumanoidCMUWalk", options, &walk),
    SUITE_TASK("humanoid_CMU", "run", "HumanoidCMURun", options, &run),
};
