/* Humanoids: stand, walk or run. */
#include "humanoid_base.h"

enum { TORSO, HEAD, LIMBS, VELOCITY = LIMBS + 4, NUM_NAMES, UP = NUM_NAMES };
enum { NUM_LIMBS = 4, ROOT = 7 /* positions of the free joint */ };
static const double STAND_HEIGHT = 1.4;

int suite_humanoid_prepare(pp_config *config, suite_shared *shared, const char *const names[7],
                           int32_t up) {
  const mujoco_simulator *sim = &shared->model.sim;
  shared->ids[UP] = up;
  if (shared->kind->variant == SUITE_PURE_STATE) {
    suite_describe_vector(config, shared, "position", sim->nq);
  } else {
    suite_describe_vector(config, shared, "joint_angles", sim->nq - ROOT);
    suite_describe_vector(config, shared, "head_height", 0);
    suite_describe_vector(config, shared, "extremities", 3 * NUM_LIMBS);
    suite_describe_vector(config, shared, "torso_vertical", 3);
    suite_describe_vector(config, shared, "com_velocity", 3);
  }
  suite_describe_vector(config, shared, "velocity", sim->nv);
  return suite_find(config, shared, 0, names, NUM_NAMES);
}

static int draw(suite_sim *sim) {
  suite_randomize_joints(sim);
  return PP_OK;
}

int suite_humanoid_begin(suite_sim *sim) {
  return suite_draw_without_contacts(sim, draw, SUITE_MOST_ATTEMPTS);
}

static double head_height(const suite_sim *sim) {
  return sim->data->xpos[3 * sim->ids[HEAD] + 2];
}

double *suite_humanoid_observe(suite_sim *sim, double *row) {
  const double *xpos = sim->data->xpos, *frame = sim->data->xmat + 9 * sim->ids[TORSO];
  double offset[3];

  if (sim->kind->variant == SUITE_PURE_STATE) {
    return suite_observe_velocities(sim, suite_observe_positions(sim, row, 0));
  }
  row = suite_observe_positions(sim, row, ROOT);
  *row++ = head_height(sim);
  for (int32_t i = 0; i < NUM_LIMBS; i++) {
    suite_subtract(offset, xpos + 3 * sim->ids[LIMBS + i], xpos + 3 * sim->ids[TORSO], 3);
    row = suite_localize(sim, row, offset, frame);
  }
  row = suite_copy(row, frame + SUITE_ZX, 3);
  row = suite_copy(row, sim->data->sensordata + sim->ids[VELOCITY], 3);
  return suite_observe_velocities(sim, row);
}

/* the reward for not moving, or for moving fast */
static double move_reward(const suite_sim *sim) {
  const double *velocity = sim->data->sensordata + sim->ids[VELOCITY];
  double speed = sim->kind->number;

  if (speed == 0) {
    const suite_tolerance within = {.margin = 2};
    return (suite_tolerate_element(sim, velocity[0], within) +
            suite_tolerate_element(sim, velocity[1], within)) /
           2;
  }
  double move = suite_tolerate(
      sim, suite_norm(sim, velocity, 2),
      (suite_tolerance){.low = speed, .high = HUGE_VAL, .margin = speed, .sigmoid = SUITE_LINEAR});
  return (5 * move + 1) / 6;
}

double suite_humanoid_reward(suite_sim *sim) {
  double standing = suite_tolerate(
      sim, head_height(sim),
      (suite_tolerance){.low = STAND_HEIGHT, .high = HUGE_VAL, .margin = STAND_HEIGHT / 4});
  double upright = suite_tolerate(
      sim, suite_body(sim, TORSO, sim->ids[UP]),
      (suite_tolerance){.low = 0.9, .high = HUGE_VAL, .margin = 1.9, .sigmoid = SUITE_LINEAR});
  double small_control = (4 + suite_control_reward(sim)) / 5;
  return small_control * (standing * upright) * move_reward(sim);
}
