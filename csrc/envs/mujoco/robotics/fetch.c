/* Fetch: a robot's arm reaches for a place, or brings a block or a puck there.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/fetch, envs/robot_env.py) bit for bit. */
#include <stdlib.h>

#include "rotations.h"
#include "task.h"

typedef struct fetch_kind {
  robotics_kind base;
  bool has_object;
} fetch_kind;

/* ---------------------------------------------------------------------------------- options -- */

/* those from GRIPPER_EXTRA_HEIGHT on determine the setup, which Python computes */
enum {
  REWARD_TYPE = ROBOTICS_NUM_COMMON_OPTIONS,
  DISTANCE_THRESHOLD,
  OBJ_RANGE,
  TARGET_RANGE,
  TARGET_OFFSET_X,
  TARGET_OFFSET_Y,
  TARGET_IN_THE_AIR,
  BLOCK_GRIPPER,
  NUM_OPTIONS = BLOCK_GRIPPER + 8
};

/* a range of a place that is drawn */
#define RANGE(id, value, text) \
  {.name = id, .type = PP_OPT_FLOAT, .number = value, .high = 1e6, .doc = text, .varies = true}

#define OPTIONS(xml, reward, range, target, offset, air, block, height, slide0, x, y, z)         \
  {ROBOTICS_COMMON_OPTIONS(xml, 20),                                                             \
   ROBOTICS_REWARD_TYPE(reward),                                                                 \
   MUJOCO_WEIGHT("distance_threshold", 0.05, "distance in m from which a goal is achieved"),     \
   RANGE("obj_range", range, "most distance in m of an object from the gripper, on both axes"),  \
   RANGE("target_range", target, "most distance in m of a goal from the gripper, on each axis"), \
   MUJOCO_WEIGHT("target_offset_x", offset, "what is added to a goal, in m"),                    \
   MUJOCO_WEIGHT("target_offset_y", 0, "what is added to a goal, in m"),                         \
   {.name = "target_in_the_air",                                                                 \
    .type = PP_OPT_BOOL,                                                                         \
    .number = air,                                                                               \
    .varies = true,                                                                              \
    .doc = "half of the goals of an object are above the table"},                                \
   {.name = "block_gripper",                                                                     \
    .type = PP_OPT_BOOL,                                                                         \
    .number = block,                                                                             \
    .varies = true,                                                                              \
    .doc = "keep the gripper closed"},                                                           \
   MUJOCO_FLOAT("gripper_extra_height", height, "height of the gripper at the start, in m"),     \
   MUJOCO_FLOAT("initial_slide0", slide0, "the robot's place at the start, in m"),               \
   MUJOCO_FLOAT("initial_slide1", 0.48, "the robot's place at the start, in m"),                 \
   MUJOCO_FLOAT("initial_slide2", 0, "the robot's place at the start, in m"),                    \
   MUJOCO_FLOAT("initial_object_x", x, "the object's place before it is drawn, in m"),           \
   MUJOCO_FLOAT("initial_object_y", y, "the object's place before it is drawn, in m"),           \
   MUJOCO_FLOAT("initial_object_z", z, "the object's height, in m")}

#define REACH(reward) \
  OPTIONS("fetch/reach.xml", reward, 0.15, 0.15, 0, 1, 1, 0.2, 0.4049, 1.25, 0.53, 0.4)
#define PUSH(reward) \
  OPTIONS("fetch/push.xml", reward, 0.15, 0.15, 0, 0, 1, 0, 0.405, 1.25, 0.53, 0.4)
#define SLIDE(reward) \
  OPTIONS("fetch/slide.xml", reward, 0.1, 0.3, 0.4, 0, 1, -0.02, 0.05, 1.7, 1.1, 0.41)
#define PICK(reward) \
  OPTIONS("fetch/pick_and_place.xml", reward, 0.15, 0.15, 0, 1, 0, 0.2, 0.405, 1.25, 0.53, 0.4)

static const pp_option reach_sparse[NUM_OPTIONS] = REACH("sparse");
static const pp_option reach_dense[NUM_OPTIONS] = REACH("dense");
static const pp_option push_sparse[NUM_OPTIONS] = PUSH("sparse");
static const pp_option push_dense[NUM_OPTIONS] = PUSH("dense");
static const pp_option slide_sparse[NUM_OPTIONS] = SLIDE("sparse");
static const pp_option slide_dense[NUM_OPTIONS] = SLIDE("dense");
static const pp_option pick_sparse[NUM_OPTIONS] = PICK("sparse");
static const pp_option pick_dense[NUM_OPTIONS] = PICK("dense");

static const pp_field infos[] = {MUJOCO_STEP_INFO("is_success", PP_FLOAT32)};

/* --------------------------------------------------------------------------------- prepare -- */

enum {
  GRIP,
  HAND, /* the body that is welded to the mocap body */
  RIGHT_QPOS,
  LEFT_QPOS,
  RIGHT_QVEL,
  LEFT_QVEL,
  TARGET,
  NUM_NAMES,
  OBJECT = NUM_NAMES,
  OBJECT_QPOS,
  NUM_IDS
};

static const char *const names[NUM_IDS] = {
    "site:robot0:grip",
    "body:welded",
    "qpos:robot0:r_gripper_finger_joint",
    "qpos:robot0:l_gripper_finger_joint",
    "qvel:robot0:r_gripper_finger_joint",
    "qvel:robot0:l_gripper_finger_joint",
    "site:target0",
    "site:object0",
    "qpos:object0:joint",
};

/* own numbers: the goal, and the pose of the hand at the end of the last step */
enum { GOAL = 0, HAND_POSITION = 3, HAND_ROTATION = 6, NUM_OWN = 10 };

/* What all environments share. */
typedef struct fetch {
  bool is_dense;
  int32_t num_controls;
  int32_t control_qpos[2]; /* of a position actuator: where its joint is in qpos; -1: a motor */
  /* the setup: where an episode starts */
  double time;
  const double *qpos;
  const double *qvel;
  const double *gripper;
  double object_height;
} fetch;

static const fetch *fetch_of(const robotics_sim *sim) {
  return sim->shared->extra;
}

static bool has_object(const robotics_kind *kind) {
  return ((const fetch_kind *)(const void *)kind)->has_object;
}

static int check_model(pp_config *config, const robotics_shared *shared) {
  enum { MOST_NV = 256, NUM_FINGERS = 2 };
  const mujoco_simulator *sim = &shared->mujoco.sim;
  if (sim->nv <= MOST_NV && sim->nu <= NUM_FINGERS) return PP_OK;
  return pp_fail(config->error, PP_ERR_ARGUMENT,
                 "the model has nv=%d, nu=%d: Fetch needs nv <= %d, nu <= %d", sim->nv, sim->nu,
                 MOST_NV, NUM_FINGERS);
}

static int read_controls(pp_config *config, const robotics_shared *shared, fetch *it) {
  int status = PP_OK;
  it->num_controls = shared->mujoco.sim.nu;
  for (int32_t i = 0; i < it->num_controls && status >= 0; i++) {
    const char *const lines[2] = {"control0_qpos", "control1_qpos"};
    int64_t place = 0;
    status = mujoco_link_number(shared->link, lines[i], &place, config->error);
    it->control_qpos[i] = (int32_t)place;
  }
  return status;
}

static void read_setup(const robotics_shared *shared, fetch *it) {
  const double *setup = shared->setup;
  it->time = *setup++;
  it->qpos = setup;
  it->qvel = it->qpos + shared->mujoco.sim.nq;
  it->gripper = it->qvel + shared->mujoco.sim.nv;
  it->object_height = it->gripper[3];
}

static int prepare(pp_config *config, robotics_shared *shared) {
  enum { NUM_ACTIONS = 4, REACH_NUMBERS = 10, OBJECT_NUMBERS = 25 };
  bool with_object = has_object(shared->kind);
  fetch *it = calloc(1, sizeof(*it));
  if (!it) return PP_ERR_MEMORY;
  shared->extra = it;
  int status = check_model(config, shared);
  if (status >= 0) {
    status = robotics_find(config, shared, names, with_object ? NUM_IDS : NUM_NAMES);
  }
  if (status >= 0) status = read_controls(config, shared, it);
  if (status >= 0) status = robotics_read_reward_type(config, REWARD_TYPE, &it->is_dense);
  if (status < 0) return status;
  read_setup(shared, it);
  shared->target = shared->ids[TARGET];
  shared->num_own = NUM_OWN;
  shared->num_actions = NUM_ACTIONS;
  shared->infos = infos;
  shared->num_infos = 1;
  config->action = (pp_field){.name = "action",
                              .dtype = PP_FLOAT32,
                              .ndim = 1,
                              .shape = {NUM_ACTIONS},
                              .low = -1,
                              .high = 1};
  robotics_describe_goals(config, shared, with_object ? OBJECT_NUMBERS : REACH_NUMBERS, 3);
  return PP_OK;
}

static void release(robotics_shared *shared) {
  free(shared->extra);
}

/* ----------------------------------------------------------------------------------- reset -- */

/* Puts the object somewhere around the gripper, but not under it. */
static int draw_object(robotics_sim *sim) {
  const double *gripper = fetch_of(sim)->gripper;
  double *place = sim->in->qpos + sim->ids[OBJECT_QPOS], range = sim->options[OBJ_RANGE].f;
  double offset[2];

  for (int32_t attempt = 0; attempt < ROBOTICS_MOST_ATTEMPTS; attempt++) {
    for (int i = 0; i < 2; i++) {
      place[i] = gripper[i] + pp_rng_uniform(sim->env->rng, -range, range);
    }
    for (int i = 0; i < 2; i++) offset[i] = place[i] - gripper[i];
    if (!(mujoco_norm(&sim->shared->mujoco, offset, 2) < 0.1)) return PP_OK;
  }
  return pp_fail(sim->env->error, PP_ERR_ENV,
                 "obj_range=%g: no place of the object is 0.1 m from the gripper: choose more than "
                 "0.08",
                 range);
}

static int begin(robotics_sim *sim) {
  const fetch *it = fetch_of(sim);
  const mujoco_simulator *simulator = &sim->shared->mujoco.sim;

  *sim->data.time = it->time;
  robotics_copy(sim->in->qpos, it->qpos, simulator->nq);
  robotics_copy(sim->in->qvel, it->qvel, simulator->nv);
  return has_object(sim->kind) ? draw_object(sim) : PP_OK;
}

static void draw_goal(robotics_sim *sim) {
  const fetch *it = fetch_of(sim);
  const pp_value *options = sim->options;
  pp_rng *rng = sim->env->rng;
  double *goal = sim->own + GOAL, range = options[TARGET_RANGE].f;

  for (int i = 0; i < 3; i++) goal[i] = it->gripper[i] + pp_rng_uniform(rng, -range, range);
  if (!has_object(sim->kind)) return;
  for (int i = 0; i < 2; i++) goal[i] += options[TARGET_OFFSET_X + i].f;
  goal[2] = it->object_height;
  if (options[TARGET_IN_THE_AIR].i && pp_rng_double(rng) < 0.5) {
    goal[2] += pp_rng_uniform(rng, 0, 0.45);
  }
}

/* Keeps where the hand is, from which the next action moves the mocap body. */
static void keep_hand(robotics_sim *sim) {
  robotics_copy(sim->own + HAND_POSITION, sim->in->xpos + 3 * sim->ids[HAND], 3);
  robotics_copy(sim->own + HAND_ROTATION, sim->data.xquat + 4 * sim->ids[HAND], 4);
}

static void after_begin(robotics_sim *sim) {
  draw_goal(sim);
  keep_hand(sim);
}

/* ------------------------------------------------------------------------------------ step -- */

/* np.clip(action, -1, 1), whose numbers keep the caller's dtype */
static double clipped(const robotics_sim *sim, int32_t i) {
  return mujoco_clip(sim->action[i], -1, 1);
}

/* one axis of the hand's way: the product is a float32 if the action is one */
static double displacement(const robotics_sim *sim, int32_t axis) {
  if (sim->action_dtype != PP_FLOAT32) return clipped(sim, axis) * 0.05;
  return (float)clipped(sim, axis) * 0.05f;
}

static void act(robotics_sim *sim) {
  const double rotation[4] = {1, 0, 1, 0};
  const fetch *it = fetch_of(sim);
  double finger = sim->options[BLOCK_GRIPPER].i ? 0 : clipped(sim, 3);

  for (int32_t i = 0; i < it->num_controls; i++) {
    int32_t place = it->control_qpos[i];
    sim->in->ctrl[i] = place < 0 ? finger : sim->in->qpos[place] + finger;
  }
  for (int i = 0; i < 3; i++) {
    sim->data.mocap_pos[i] = sim->own[HAND_POSITION + i] + displacement(sim, i);
  }
  for (int i = 0; i < 4; i++) sim->data.mocap_quat[i] = sim->own[HAND_ROTATION + i] + rotation[i];
}

static void advance(robotics_sim *sim) {
  robotics_advance(sim);
  if (!sim->options[BLOCK_GRIPPER].i) return;
  sim->in->qpos[sim->ids[LEFT_QPOS]] = 0;
  sim->in->qpos[sim->ids[RIGHT_QPOS]] = 0;
  robotics_forward(sim);
}

/* what an observation has of the object, before and after the fingers' positions */
typedef struct object_numbers {
  const double *position;
  double to_grip[3];
  double angles[3];
  double linear[3];
  double angular[3];
} object_numbers;

static object_numbers look_at_object(robotics_sim *sim, const double *grip_velocity) {
  object_numbers it;
  int32_t site = sim->ids[OBJECT];
  const double *grip = sim->in->site_xpos + 3 * sim->ids[GRIP];
  double dt = sim->shared->mujoco.sim.dt;

  it.position = sim->in->site_xpos + 3 * site;
  robotics_matrix_to_euler(&sim->shared->numpy, sim->data.site_xmat + 9 * site, it.angles);
  robotics_site_velocities(sim, site, it.linear, it.angular);
  for (int i = 0; i < 3; i++) {
    it.to_grip[i] = it.position[i] - grip[i];
    it.linear[i] = it.linear[i] * dt - grip_velocity[i];
    it.angular[i] *= dt;
  }
  return it;
}

static double *observe(robotics_sim *sim, double *row) {
  const mujoco_workspace *in = sim->in;
  const int32_t *ids = sim->ids;
  const double *grip = in->site_xpos + 3 * ids[GRIP], *achieved = grip;
  double dt = sim->shared->mujoco.sim.dt, velocity[3], angular[3];
  object_numbers object;

  robotics_site_velocities(sim, ids[GRIP], velocity, angular);
  for (int i = 0; i < 3; i++) velocity[i] *= dt;
  row = robotics_copy(row, grip, 3);
  if (has_object(sim->kind)) {
    object = look_at_object(sim, velocity);
    achieved = object.position;
    row = robotics_copy(row, object.position, 3);
    row = robotics_copy(row, object.to_grip, 3);
  }
  *row++ = in->qpos[ids[RIGHT_QPOS]];
  *row++ = in->qpos[ids[LEFT_QPOS]];
  if (has_object(sim->kind)) {
    row = robotics_copy(row, object.angles, 3);
    row = robotics_copy(row, object.linear, 3);
    row = robotics_copy(row, object.angular, 3);
  }
  row = robotics_copy(row, velocity, 3);
  *row++ = in->qvel[ids[RIGHT_QVEL]] * dt;
  *row++ = in->qvel[ids[LEFT_QVEL]] * dt;
  row = robotics_copy(row, achieved, 3);
  return robotics_copy(row, sim->own + GOAL, 3);
}

static int judge(robotics_sim *sim) {
  int32_t site = has_object(sim->kind) ? sim->ids[OBJECT] : sim->ids[GRIP];
  double threshold = sim->options[DISTANCE_THRESHOLD].f;
  double distance = robotics_distance(sim->in->site_xpos + 3 * site, sim->own + GOAL, 3);

  keep_hand(sim);
  sim->infos[0] = distance < threshold;
  sim->reward = fetch_of(sim)->is_dense ? -distance : -(double)(distance > threshold);
  return PP_OK;
}

/* ------------------------------------------------------------------------------ definitions -- */

static const robotics_task task = {
    .prepare = prepare,
    .release = release,
    .begin = begin,
    .after_begin = after_begin,
    .act = act,
    .advance = advance,
    .observe = observe,
    .judge = judge,
};
static const fetch_kind without_object = {.base = {&task}};
static const fetch_kind with_object = {.base = {&task}, .has_object = true};

#define DEFINITION(table, of)                                                      \
  ROBOTICS_DEFINITION, MUJOCO_OPTIONS(table), .data = of, .max_episode_steps = 50, \
      .action_dtypes = 1 << PP_FLOAT64
#define IDS(title, table, of)                               \
  {DEFINITION(table, of), ROBOTICS_ENVPOOL(title "-v1")}, { \
    DEFINITION(table, of), ROBOTICS_ID(title "-v4")         \
  }

const pp_env_def pp_env_fetch[16] = {
    IDS("FetchReach", reach_sparse, &without_object),
    IDS("FetchReachDense", reach_dense, &without_object),
    IDS("FetchPush", push_sparse, &with_object),
    IDS("FetchPushDense", push_dense, &with_object),
    IDS("FetchSlide", slide_sparse, &with_object),
    IDS("FetchSlideDense", slide_dense, &with_object),
    IDS("FetchPickAndPlace", pick_sparse, &with_object),
    IDS("FetchPickAndPlaceDense", pick_dense, &with_object),
};
