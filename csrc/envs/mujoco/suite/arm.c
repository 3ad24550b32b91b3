/* The planar arm with a hand. */
#include "arm.h"

enum { NUM_JOINTS = 8, NUM_SENSORS = 5, FINGER = 4, THUMB = 6 };

static const char *const names[SUITE_NUM_ARM_IDS] = {
    "qpos:arm_root",         "qpos:arm_shoulder",   "qpos:arm_elbow",     "qpos:arm_wrist",
    "qpos:finger",           "qpos:fingertip",      "qpos:thumb",         "qpos:thumbtip",
    "qvel:arm_root",         "qvel:arm_shoulder",   "qvel:arm_elbow",     "qvel:arm_wrist",
    "qvel:finger",           "qvel:fingertip",      "qvel:thumb",         "qvel:thumbtip",
    "sensor:palm_touch",     "sensor:finger_touch", "sensor:thumb_touch", "sensor:fingertip_touch",
    "sensor:thumbtip_touch", "body:hand",           "site:grasp"};

int suite_arm_prepare(pp_config *config, suite_shared *shared) {
  suite_describe(config, shared, "arm_pos", NUM_JOINTS, 2);
  suite_describe_vector(config, shared, "arm_vel", NUM_JOINTS);
  suite_describe_vector(config, shared, "touch", NUM_SENSORS);
  suite_describe_vector(config, shared, "hand_pos", 4);
  return suite_find(config, shared, 0, names, SUITE_NUM_ARM_IDS);
}

/* the joint with this place in qpos */
static int32_t joint_at(const suite_sim *sim, int32_t place) {
  const suite_model *model = &sim->shared->model;
  int32_t i = 0;
  while (i < model->num_joints - 1 && model->joints[i].place != place) i++;
  return i;
}

void suite_arm_draw(suite_sim *sim) {
  double *qpos = sim->data->qpos;
  for (int32_t i = 0; i < NUM_JOINTS; i++) {
    int32_t place = sim->ids[SUITE_ARM_JOINTS + i], joint = joint_at(sim, place);
    const double *range = sim->values->jnt_range + 2 * joint;
    bool is_limited = sim->shared->model.joints[joint].is_limited;
    qpos[place] = pp_random_state_uniform(sim->random, is_limited ? range[0] : -SUITE_PI,
                                          is_limited ? range[1] : SUITE_PI);
  }
  qpos[sim->ids[SUITE_ARM_JOINTS + FINGER]] = qpos[sim->ids[SUITE_ARM_JOINTS + THUMB]];
}

double *suite_arm_observe(suite_sim *sim, double *row) {
  for (int32_t i = 0; i < NUM_JOINTS; i++) {
    double angle = sim->data->qpos[sim->ids[SUITE_ARM_JOINTS + i]];
    *row++ = pp_numpy_sin(sim->numpy, angle);
    *row++ = pp_numpy_cos(sim->numpy, angle);
  }
  for (int32_t i = 0; i < NUM_JOINTS; i++) {
    *row++ = sim->data->qvel[sim->ids[SUITE_ARM_VELOCITIES + i]];
  }
  for (int32_t i = 0; i < NUM_SENSORS; i++) {
    *row++ = pp_numpy_log1p(sim->numpy, suite_sensor(sim, SUITE_ARM_TOUCH + i));
  }
  return suite_arm_pose(sim, row, SUITE_ARM_HAND);
}

double *suite_arm_pose(const suite_sim *sim, double *row, int32_t id) {
  const double *position = sim->data->xpos + 3 * sim->ids[id];
  const double *orientation = sim->data->xquat + 4 * sim->ids[id];
  *row++ = position[0];
  *row++ = position[2];
  *row++ = orientation[0];
  *row++ = orientation[2];
  return row;
}

double suite_arm_distance(const suite_sim *sim, int32_t first, int32_t second) {
  double offset[3];
  suite_subtract(offset, suite_site(sim, first), suite_site(sim, second), 3);
  return suite_norm(sim, offset, 3);
}
