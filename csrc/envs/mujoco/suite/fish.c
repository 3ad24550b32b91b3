/* fish: keep upright, or swim to a target. */
#include "task.h"

enum { TORSO, MOUTH, TARGET, ROOT, JOINTS, NUM_IDS = JOINTS + 7 };
enum { UPRIGHT, SWIM };
enum { NUM_JOINTS = 7, NUM_OWN = 3 };

static const char *const names[] = {
    "body:torso",          "geom:mouth",        "geom:target",       "qpos:root",
    "qpos:tail1",          "qpos:tail_twist",   "qpos:tail2",        "qpos:finright_roll",
    "qpos:finright_pitch", "qpos:finleft_roll", "qpos:finleft_pitch"};

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "joint_angles", NUM_JOINTS);
  suite_describe_vector(config, shared, "upright", 0);
  if (shared->kind->variant == SWIM) {
    suite_describe_vector(config, shared, "target", 3);
    shared->num_own = NUM_OWN;
  }
  suite_describe_vector(config, shared, "velocity", shared->model.sim.nv);
  return suite_find(config, shared, 0, names, NUM_IDS);
}

static void apply(suite_sim *sim) {
  if (sim->kind->variant == UPRIGHT) return;
  suite_copy(sim->values->geom_pos + 3 * sim->ids[TARGET], sim->own, NUM_OWN);
}

static int begin(suite_sim *sim) {
  double *orientation = sim->data->qpos + sim->ids[ROOT] + 3;
  for (int32_t i = 0; i < 4; i++) orientation[i] = pp_random_state_randn(sim->random);
  suite_normalize(sim->numpy, orientation, 4);
  for (int32_t i = 0; i < NUM_JOINTS; i++) {
    sim->data->qpos[sim->ids[JOINTS + i]] = pp_random_state_uniform(sim->random, -.2, .2);
  }
  if (sim->kind->variant == UPRIGHT) return PP_OK;
  sim->own[0] = pp_random_state_uniform(sim->random, -.4, .4);
  sim->own[1] = pp_random_state_uniform(sim->random, -.4, .4);
  sim->own[2] = pp_random_state_uniform(sim->random, .1, .3);
  apply(sim);
  return PP_OK;
}

/* the vector from mouth to target in the frame of the mouth */
static double *to_target(const suite_sim *sim, double *row) {
  double offset[3];
  suite_subtract(offset, suite_geom(sim, TARGET), suite_geom(sim, MOUTH), 3);
  return suite_localize(sim, row, offset, sim->data->geom_xmat + 9 * sim->ids[MOUTH]);
}

static double *observe(suite_sim *sim, double *row) {
  for (int32_t i = 0; i < NUM_JOINTS; i++) *row++ = sim->data->qpos[sim->ids[JOINTS + i]];
  *row++ = suite_body(sim, TORSO, SUITE_ZZ);
  if (sim->kind->variant == SWIM) row = to_target(sim, row);
  return suite_observe_velocities(sim, row);
}

static double reward(suite_sim *sim) {
  double upright = suite_body(sim, TORSO, SUITE_ZZ), local[3];
  if (sim->kind->variant == UPRIGHT) {
    return suite_tolerate(sim, upright, (suite_tolerance){.low = 1, .high = 1, .margin = 1});
  }
  const double *sizes = sim->values->geom_size;
  double radii = sizes[3 * sim->ids[MOUTH]] + sizes[3 * sim->ids[TARGET]];
  to_target(sim, local);
  double near = suite_tolerate(sim, suite_norm(sim, local, 3),
                               (suite_tolerance){.high = radii, .margin = 2 * radii});
  return (7 * near + 0.5 * (upright + 1)) / 8;
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .apply = apply, .observe = observe, .reward = reward};
static const suite_kind upright_kind = {.task = &task, .variant = UPRIGHT};
static const suite_kind swim = {.task = &task, .variant = SWIM, .writes_model = true};
static const pp_option options[] = SUITE_OPTIONS("fish", 10);

const pp_env_def pp_env_suite_fish[4] = {
    SUITE_TASK("fish", "upright", "FishUpright", options, &upright_kind),
    SUITE_TASK("fish", "swim", "FishSwim", options, &swim),
};
