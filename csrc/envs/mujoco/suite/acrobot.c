/* acrobot: swing two links up, of which only the joint between them is driven. */
#include "task.h"

enum { UPPER_ARM, LOWER_ARM, TARGET, TIP, SHOULDER, ELBOW };
enum { SMOOTH, SPARSE };

static const char *const names[] = {"body:upper_arm", "body:lower_arm", "site:target",
                                    "site:tip",       "qpos:shoulder",  "qpos:elbow"};

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "orientations", 4);
  suite_describe_vector(config, shared, "velocity", shared->model.sim.nv);
  return suite_find(config, shared, 0, names, 6);
}

static int begin(suite_sim *sim) {
  double *qpos = sim->data->qpos;
  qpos[sim->ids[SHOULDER]] = pp_random_state_uniform(sim->random, -SUITE_PI, SUITE_PI);
  qpos[sim->ids[ELBOW]] = pp_random_state_uniform(sim->random, -SUITE_PI, SUITE_PI);
  return PP_OK;
}

static double *observe(suite_sim *sim, double *row) {
  *row++ = suite_body(sim, UPPER_ARM, SUITE_XZ);
  *row++ = suite_body(sim, LOWER_ARM, SUITE_XZ);
  *row++ = suite_body(sim, UPPER_ARM, SUITE_ZZ);
  *row++ = suite_body(sim, LOWER_ARM, SUITE_ZZ);
  return suite_observe_velocities(sim, row);
}

static double reward(suite_sim *sim) {
  double offset[3], radius = sim->values->site_size[3 * sim->ids[TARGET]];
  suite_subtract(offset, suite_site(sim, TARGET), suite_site(sim, TIP), 3);
  return suite_tolerate(
      sim, suite_norm(sim, offset, 3),
      (suite_tolerance){.high = radius, .margin = sim->kind->variant == SPARSE ? 0 : 1});
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .observe = observe, .reward = reward};
static const suite_kind smooth = {.task = &task, .variant = SMOOTH};
static const suite_kind sparse = {.task = &task, .variant = SPARSE};
static const pp_option options[] = SUITE_OPTIONS("acrobot", 1);

const pp_env_def pp_env_suite_acrobot[4] = {
    SUITE_TASK("acrobot", "swingup", "AcrobotSwingup", options, &smooth),
    SUITE_TASK("acrobot", "swingup_sparse", "AcrobotSwingupSparse", options, &sparse),
};
