/* HandManipulate: bring an object in the hand to a pose.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/shadow_dexterous_hand/manipulate.py and
 * manipulate_touch_sensors.py) bit for bit. */
#include "hand_manipulate.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/normal.h"
#include "rotations.h"

/* A pose is a position and a quaternion. The object's joint follows the hand's; that of the target,
 * which only pictures show, is the last. */
enum { POSE = 7, ROTATION = 3, MOTION = 6, NUM_POSITIONS = HAND_JOINTS + 2 * POSE };

enum { CENTER, NUM_NAMES };
static const char *const names[NUM_NAMES] = {"site:object:center"};

/* own numbers: the goal is a pose */
enum { GOAL, HAS_BEGUN = POSE, NUM_OWN };

enum { RANDOM, FIXED, IGNORE };
enum { XYZ, Z, PARALLEL };
enum { OFF, SENSORDATA, BOOLEAN, LOG };
static const char *const positions[] = {"random", "fixed", "ignore", NULL};
static const char *const rotations[] = {"xyz", "z", "parallel", NULL};
static const char *const touches[] = {"off", "sensordata", "boolean", "log", NULL};

/* what all environments share */
typedef struct manipulate {
  int32_t position;
  int32_t rotation;
  int32_t touch;
  int32_t first_sensor; /* of touch, in sensordata */
  int32_t num_sensors;
  double parallel[ROBOTICS_PARALLEL_ROTATIONS][4];
} manipulate;

static const manipulate *manipulate_of(const robotics_sim *sim) {
  return sim->shared->extra;
}

/* --------------------------------------------------------------------------------- prepare -- */

/* reads which of these texts an option is */
static int read_choice(pp_config *config, int32_t option, const char *const *texts,
                       int32_t *choice) {
  const char *given = config->options[option].s;
  char all[64] = "";
  size_t length = 0;

  for (*choice = 0; texts[*choice]; ++*choice) {
    if (!strcmp(given, texts[*choice])) return PP_OK;
    length += (size_t)snprintf(all + length, sizeof(all) - length, "%s\"%s\"", *choice ? ", " : "",
                               texts[*choice]);
  }
  return pp_fail(config->error, PP_ERR_ARGUMENT, "%s=\"%.60s\": choose from %s",
                 config->def->options[option].name, given, all);
}

static int read_sensors(pp_config *config, const robotics_shared *shared, manipulate *it) {
  int64_t first = 0, count = 0;
  int status = read_choice(config, HAND_TOUCH, touches, &it->touch);
  if (status < 0 || it->touch == OFF) return status;
  status = mujoco_link_number(shared->link, "first_touch_sensor", &first, config->error);
  if (status >= 0) {
    status = mujoco_link_number(shared->link, "num_touch_sensors", &count, config->error);
  }
  it->first_sensor = (int32_t)first;
  it->num_sensors = (int32_t)count;
  return status;
}

static int prepare(pp_config *config, robotics_shared *shared) {
  manipulate *it = calloc(1, sizeof(*it));
  if (!it) return PP_ERR_MEMORY;
  shared->extra = it;
  shared->num_own = NUM_OWN;
  shared->target_pose = HAND_JOINTS + POSE;
  int status = hand_prepare(config, shared, NUM_POSITIONS, HAND_REWARD_TYPE);
  if (status >= 0) status = robotics_find(config, shared, names, NUM_NAMES);
  if (status >= 0) status = read_choice(config, HAND_TARGET_POSITION, positions, &it->position);
  if (status >= 0) status = read_choice(config, HAND_TARGET_ROTATION, rotations, &it->rotation);
  if (status >= 0) status = read_sensors(config, shared, it);
  robotics_parallel_quats(&shared->numpy, it->parallel);
  robotics_describe_goals(config, shared, 2 * HAND_JOINTS + MOTION + POSE + it->num_sensors, POSE);
  return status;
}

static void release(robotics_shared *shared) {
  free(shared->extra);
}

/* ----------------------------------------------------------------------------------- reset -- */

/* An episode begins in the mjData of the one before: only positions and velocities are reset, and
 * the solver starts from its last solution. Before the first episode mj_forward was called once. */
static void resume(robotics_sim *sim) {
  robotics_set_state(sim, sim->own[HAS_BEGUN] ? sim->state : sim->shared->setup);
}

/* draws a rotation as target_rotation says */
static void draw_rotation(robotics_sim *sim, double quat[4]) {
  const manipulate *it = manipulate_of(sim);
  const pp_numpy_loops *numpy = &sim->shared->numpy;
  pp_rng *rng = sim->env->rng;
  double axis[3] = {0.0, 0.0, 1.0}, angle = pp_rng_uniform(rng, -ROBOTICS_PI, ROBOTICS_PI);

  for (int i = 0; it->rotation == XYZ && i < 3; i++) axis[i] = pp_rng_uniform(rng, -1.0, 1.0);
  robotics_axis_to_quat(numpy, angle, axis, quat);
  if (it->rotation != PARALLEL) return;
  int64_t chosen = pp_rng_integers(rng, 0, ROBOTICS_PARALLEL_ROTATIONS);
  robotics_multiply_quats(quat, it->parallel[chosen], quat);
}

static void draw_object(robotics_sim *sim) {
  const manipulate *it = manipulate_of(sim);
  double *pose = sim->in->qpos + HAND_JOINTS, offset[4];

  if (sim->options[HAND_RANDOM_ROTATION].i) {
    draw_rotation(sim, offset);
    robotics_multiply_quats(pose + ROTATION, offset, pose + ROTATION);
  }
  if (sim->options[HAND_RANDOM_POSITION].i && it->position != FIXED) {
    mujoco_add_normal(sim->env->rng, 0.005, pose, 3);
  }
  robotics_normalize(&sim->shared->numpy, pose + ROTATION, 4);
}

static int begin(robotics_sim *sim) {
  enum { SETTLING_STEPS = 10 };
  const mujoco_simulator *simulator = &sim->shared->mujoco.sim;

  *sim->data.time = 0;
  robotics_copy(sim->in->qpos, simulator->init_qpos, simulator->nq);
  robotics_copy(sim->in->qvel, simulator->init_qvel, simulator->nv);
  robotics_forward(sim);
  draw_object(sim);
  for (int i = 0; i < SETTLING_STEPS; i++) {
    hand_relax(sim);
    robotics_advance(sim);
  }
  return PP_OK;
}

/* The object lies on the palm. */
static bool can_begin(const robotics_sim *sim) {
  return robotics_site(sim, CENTER)[2] > 0.04;
}

static void after_begin(robotics_sim *sim) {
  static const double low[3] = {-0.04, -0.06, 0.0}, high[3] = {0.04, 0.02, 0.06};
  double *goal = sim->own + GOAL;

  robotics_copy(goal, sim->in->qpos + HAND_JOINTS, 3);
  if (manipulate_of(sim)->position == RANDOM) {
    for (int i = 0; i < 3; i++) goal[i] += pp_rng_uniform(sim->env->rng, low[i], high[i]);
  }
  draw_rotation(sim, goal + ROTATION);
  robotics_normalize(&sim->shared->numpy, goal + ROTATION, 4);
  sim->own[HAS_BEGUN] = 1;
}

/* ------------------------------------------------------------------------------------ step -- */

static double *observe_touch(const robotics_sim *sim, double *row) {
  const manipulate *it = manipulate_of(sim);
  for (int32_t i = 0; i < it->num_sensors; i++) {
    double touch = sim->data.sensordata[it->first_sensor + i];
    if (it->touch == BOOLEAN) touch = touch > 0.0;
    if (it->touch == LOG) touch = pp_numpy_log(&sim->shared->numpy, touch + 1.0);
    *row++ = touch;
  }
  return row;
}

static double *observe(robotics_sim *sim, double *row) {
  const double *pose = sim->in->qpos + HAND_JOINTS;
  row = hand_observe(sim, row);
  row = robotics_copy(row, sim->in->qvel + HAND_JOINTS, MOTION);
  row = robotics_copy(row, pose, POSE);
  row = observe_touch(sim, row);
  row = robotics_copy(row, pose, POSE);
  return robotics_copy(row, sim->own + GOAL, POSE);
}

/* the angle between two rotations */
static double angle_between(const robotics_sim *sim, const double *achieved, const double *goal) {
  const pp_numpy_loops *numpy = &sim->shared->numpy;
  double quat[4], angles[3], goal_angles[3];

  robotics_copy(quat, achieved, 4);
  if (sim->options[HAND_IGNORES_Z].i) {
    robotics_quat_to_euler(numpy, achieved, angles);
    robotics_quat_to_euler(numpy, goal, goal_angles);
    angles[2] = goal_angles[2];
    robotics_euler_to_quat(numpy, angles, quat);
  }
  double inverse[4];
  robotics_conjugate_quat(goal, inverse);
  robotics_multiply_quats(quat, inverse, quat);
  return 2 * pp_numpy_arccos(numpy, mujoco_clip(quat[0], -1.0, 1.0));
}

static int judge(robotics_sim *sim) {
  const double *pose = sim->in->qpos + HAND_JOINTS, *goal = sim->own + GOAL;
  bool ignores_position = manipulate_of(sim)->position == IGNORE;
  double distance = ignores_position ? 0 : robotics_distance(pose, goal, 3);
  double angle = angle_between(sim, pose + ROTATION, goal + ROTATION);
  bool is_achieved = distance < sim->options[HAND_DISTANCE_THRESHOLD].f &&
                     angle < sim->options[HAND_ROTATION_THRESHOLD].f;

  sim->infos[0] = is_achieved;
  sim->reward = sim->shared->is_dense ? -(10.0 * distance + angle) : is_achieved - 1.0;
  return PP_OK;
}

static const robotics_task task = {.prepare = prepare,
                                   .release = release,
                                   .resume = resume,
                                   .begin = begin,
                                   .can_begin = can_begin,
                                   .after_begin = after_begin,
                                   .act = hand_act,
                                   .advance = robotics_advance,
                                   .observe = observe,
                                   .judge = judge};
const robotics_kind hand_manipulate_kind = {&task};
