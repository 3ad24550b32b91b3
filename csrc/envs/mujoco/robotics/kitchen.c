/* FrankaKitchen: a robot's arm completes tasks in a kitchen.
 *
 * Equals gymnasium-robotics 1.4.2 (envs/franka_kitchen) bit for bit, but for infos: lists of tasks
 * are flags here, one for each task, because the order of the lists differs in each process. */
#include <stdlib.h>

#include "task.h"

/* ---------------------------------------------------------------------------------- options -- */

enum {
  TASKS_TO_COMPLETE = ROBOTICS_NUM_COMMON_OPTIONS,
  TERMINATES,
  REMOVES,
  OBJECT_NOISE,
  ROBOT_NOISE,
  NUM_OPTIONS
};

#define FLAG(id, text) {.name = id, .type = PP_OPT_BOOL, .number = 1, .varies = true, .doc = text}

static const pp_option options[NUM_OPTIONS] = {
    ROBOTICS_COMMON_OPTIONS("kitchen_franka/kitchen_assets/kitchen_env_model.xml", 40),
    {.name = "tasks_to_complete",
     .type = PP_OPT_STRING,
     .text = "bottom burner,top burner,light switch,slide cabinet,hinge cabinet,microwave,kettle",
     .doc = "a list of tasks, or a text with commas between them"},
    FLAG("terminate_on_tasks_completed", "an episode ends when all tasks are completed"),
    FLAG("remove_task_when_completed", "a task gives a reward only once"),
    MUJOCO_WEIGHT("object_noise_ratio", 0.0005, "factor of the noise in what is seen of objects"),
    MUJOCO_WEIGHT("robot_noise_ratio", 0.01, "factor of the noise in what is seen of the robot"),
};

/* ------------------------------------------------------------------------------------ tasks -- */

enum { NUM_TASKS = 7, MOST_GOAL = 7 };

/* something in the kitchen, and the goal of its joints */
typedef struct chore {
  const char *name;
  const char *achieved; /* names of observations */
  const char *desired;
  int32_t place; /* in qpos */
  int32_t size;
  double goal[MOST_GOAL];
} chore;

#define CHORE(title) \
  .name = title, .achieved = "achieved_goal." title, .desired = "desired_goal." title

static const chore chores[NUM_TASKS] = {
    {CHORE("bottom burner"), 11, 2, {-0.88, -0.01}},
    {CHORE("top burner"), 15, 2, {-0.92, -0.01}},
    {CHORE("light switch"), 17, 2, {-0.69, -0.05}},
    {CHORE("slide cabinet"), 19, 1, {0.37}},
    {CHORE("hinge cabinet"), 20, 2, {0.0, 1.45}},
    {CHORE("microwave"), 22, 1, {-0.75}},
    {CHORE("kettle"), 23, 7, {-0.23, 0.75, 1.62, 0.99, 0.0, 0.0, -0.06}},
};

enum { ROBOT = 9, NUM_POSITIONS = 30, NUM_VELOCITIES = 29 };

/* where each episode begins */
static const double start[NUM_POSITIONS] = {
    1.48388023e-01,  -1.76848573e00,  1.84390296e00,   -2.47685760e00,  2.60252026e-01,
    7.12533105e-01,  1.59515394e00,   4.79267505e-02,  3.71350919e-02,  -2.66279850e-04,
    -5.18043486e-05, 3.12877220e-05,  -4.51199853e-05, -3.90842156e-06, -4.22629655e-05,
    6.28065475e-05,  4.04984708e-05,  4.62730939e-04,  -2.26906415e-04, -4.65501369e-04,
    -6.44129196e-03, -1.77048263e-03, 1.08009684e-03,  -2.69397440e-01, 3.50383255e-01,
    1.61944683e00,   1.00618764e00,   4.06395120e-03,  -6.62095997e-03, -2.68278933e-04};

/* own numbers: the positions of the robot in the last observation, and flags of tasks */
enum {
  SEEN,
  TO_COMPLETE = ROBOT,
  COMPLETED = TO_COMPLETE + NUM_TASKS,
  NUM_OWN = COMPLETED + NUM_TASKS
};

/* infos, each with one flag for each task */
enum { INFO_TO_COMPLETE, INFO_EPISODE, INFO_STEP, NUM_INFOS };
static const char *const info_names[NUM_INFOS] = {"tasks_to_complete", "episode_task_completions",
                                                  "step_task_completions"};

/* what all environments share */
typedef struct kitchen {
  const chore *chores[NUM_TASKS];
  int32_t num_chores;
  pp_field infos[NUM_INFOS];
  /* the setup, from the robot's configuration: for each velocity */
  const double *position_bounds; /* low, high */
  const double *velocity_bounds;
  const double *position_noise;
  const double *velocity_noise;
} kitchen;

static const kitchen *kitchen_of(const robotics_sim *sim) {
  return sim->shared->extra;
}

/* --------------------------------------------------------------------------------- prepare -- */

static int add_chore(pp_config *config, kitchen *it, const char *name, size_t size) {
  for (int32_t i = 0; i < NUM_TASKS; i++) {
    const chore *found = &chores[i];
    if (strlen(found->name) != size || memcmp(found->name, name, size) != 0) continue;
    for (int32_t j = 0; j < it->num_chores; j++) {
      if (it->chores[j] == found) return PP_OK;
    }
    it->chores[it->num_chores++] = found;
    return PP_OK;
  }
  return pp_fail(config->error, PP_ERR_ARGUMENT,
                 "tasks_to_complete: there is no task \"%.*s\": choose from %s",
                 (int)(size < 60 ? size : 60), name, options[TASKS_TO_COMPLETE].text);
}

static int read_chores(pp_config *config, kitchen *it) {
  int status = PP_OK;
  for (const char *name = config->options[TASKS_TO_COMPLETE].s; status >= 0 && name;) {
    const char *comma = strchr(name, ',');
    status = add_chore(config, it, name, comma ? (size_t)(comma - name) : strlen(name));
    name = comma ? comma + 1 : NULL;
  }
  return status;
}

static void describe(pp_config *config, robotics_shared *shared, kitchen *it) {
  robotics_describe(config, shared, "observation", NUM_POSITIONS + NUM_VELOCITIES);
  for (int32_t i = 0; i < it->num_chores; i++) {
    robotics_describe(config, shared, it->chores[i]->achieved, it->chores[i]->size);
  }
  for (int32_t i = 0; i < it->num_chores; i++) {
    robotics_describe(config, shared, it->chores[i]->desired, it->chores[i]->size);
  }
  for (int32_t i = 0; i < NUM_INFOS; i++) {
    it->infos[i] = (pp_field){.name = info_names[i],
                              .is_info = true,
                              .when = PP_ALWAYS,
                              .dtype = PP_BOOL,
                              .ndim = 1,
                              .shape = {it->num_chores}};
  }
  shared->infos = it->infos;
  shared->num_infos = NUM_INFOS;
  robotics_describe_action(config, shared, ROBOT);
  config->action.dtype = PP_FLOAT64;
}

static void read_setup(const robotics_shared *shared, kitchen *it) {
  it->position_bounds = shared->setup;
  it->velocity_bounds = it->position_bounds + 2 * NUM_VELOCITIES;
  it->position_noise = it->velocity_bounds + 2 * NUM_VELOCITIES;
  it->velocity_noise = it->position_noise + NUM_VELOCITIES;
}

static int prepare(pp_config *config, robotics_shared *shared) {
  const mujoco_simulator *sim = &shared->mujoco.sim;
  kitchen *it = calloc(1, sizeof(*it));
  if (!it) return PP_ERR_MEMORY;
  shared->extra = it;
  shared->num_own = NUM_OWN;
  if (sim->nq != NUM_POSITIONS || sim->nv != NUM_VELOCITIES || sim->nu != ROBOT) {
    return pp_fail(config->error, PP_ERR_ARGUMENT,
                   "the model has nq=%d, nv=%d, nu=%d: the task needs %d, %d and %d", sim->nq,
                   sim->nv, sim->nu, NUM_POSITIONS, NUM_VELOCITIES, ROBOT);
  }
  int status = read_chores(config, it);
  if (status < 0) return status;
  read_setup(shared, it);
  describe(config, shared, it);
  return PP_OK;
}

static void release(robotics_shared *shared) {
  free(shared->extra);
}

/* ------------------------------------------------------------------------------------ calls -- */

static int begin(robotics_sim *sim) {
  robotics_copy(sim->in->qpos, start, NUM_POSITIONS);
  return PP_OK;
}

static void write_infos(robotics_sim *sim, const double *step) {
  int32_t count = kitchen_of(sim)->num_chores;
  robotics_copy(sim->infos + count * INFO_TO_COMPLETE, sim->own + TO_COMPLETE, count);
  robotics_copy(sim->infos + count * INFO_EPISODE, sim->own + COMPLETED, count);
  robotics_copy(sim->infos + count * INFO_STEP, step, count);
}

static void after_begin(robotics_sim *sim) {
  static const double none[NUM_TASKS] = {0};
  for (int32_t i = 0; i < NUM_TASKS; i++) {
    sim->own[TO_COMPLETE + i] = 1;
    sim->own[COMPLETED + i] = 0;
  }
  write_infos(sim, none);
}

/* Velocities within their bounds lead from the positions seen last to positions within theirs. */
static void act(robotics_sim *sim) {
  const kitchen *it = kitchen_of(sim);
  for (int32_t i = 0; i < ROBOT; i++) {
    const double *fast = it->velocity_bounds + 2 * i, *far = it->position_bounds + 2 * i;
    double velocity = mujoco_clip(mujoco_clip(sim->action[i], -1.0, 1.0) * 2, fast[0], fast[1]);
    double position = sim->own[SEEN + i] + velocity * sim->shared->mujoco.sim.dt;
    sim->in->ctrl[i] = mujoco_clip(position, far[0], far[1]);
  }
}

/* values with noise */
static double *look(robotics_sim *sim, double *row, const double *values, const double *noise,
                    double ratio, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    row[i] = values[i] + ratio * noise[i] * pp_rng_uniform(sim->env->rng, -1.0, 1.0);
  }
  return row + count;
}

static double *observe(robotics_sim *sim, double *row) {
  const kitchen *it = kitchen_of(sim);
  const double *qpos = sim->in->qpos, *qvel = sim->in->qvel;
  double robot = sim->options[ROBOT_NOISE].f, objects = sim->options[OBJECT_NOISE].f;

  double *seen = row;
  row = look(sim, row, qpos, it->position_noise, robot, ROBOT);
  robotics_copy(sim->own + SEEN, seen, ROBOT);
  row = look(sim, row, qvel, it->velocity_noise, robot, ROBOT);
  // as in Gymnasium-Robotics, the noise of positions begins one too early, as there is one more
  row =
      look(sim, row, qpos + ROBOT, it->position_noise + ROBOT - 1, objects, NUM_POSITIONS - ROBOT);
  row = look(sim, row, qvel + ROBOT, it->velocity_noise + ROBOT, objects, NUM_VELOCITIES - ROBOT);
  for (int32_t i = 0; i < it->num_chores; i++) {
    row = robotics_copy(row, qpos + it->chores[i]->place, it->chores[i]->size);
  }
  for (int32_t i = 0; i < it->num_chores; i++) {
    row = robotics_copy(row, it->chores[i]->goal, it->chores[i]->size);
  }
  return row;
}

static bool is_complete(const robotics_sim *sim, const chore *of) {
  double offset[MOST_GOAL];
  robotics_subtract(offset, sim->in->qpos + of->place, of->goal, of->size);
  return robotics_norm(sim, offset, of->size) < 0.3;
}

static int judge(robotics_sim *sim) {
  const kitchen *it = kitchen_of(sim);
  double *to_complete = sim->own + TO_COMPLETE, *completed = sim->own + COMPLETED;
  double step[NUM_TASKS] = {0};
  int32_t left = 0;

  for (int32_t i = 0; i < it->num_chores; i++) {
    step[i] = to_complete[i] != 0 && is_complete(sim, it->chores[i]);
    sim->reward += step[i];
    if (step[i] != 0) completed[i] = 1;
    if (step[i] != 0 && sim->options[REMOVES].i) to_complete[i] = 0;
    left += completed[i] == 0;
  }
  sim->terminated = sim->options[TERMINATES].i && left == 0;
  write_infos(sim, step);
  return PP_OK;
}

static const robotics_task task = {.prepare = prepare,
                                   .release = release,
                                   .begin = begin,
                                   .after_begin = after_begin,
                                   .act = act,
                                   .advance = robotics_advance,
                                   .observe = observe,
                                   .judge = judge};
static const robotics_kind kind = {&task};

const pp_env_def pp_env_franka_kitchen = {
    ROBOTICS_DEFINITION,
    MUJOCO_OPTIONS(options),
    .data = &kind,
    .max_episode_steps = 280,
    ROBOTICS_ID("FrankaKitchen-v1"),
    .action_dtypes = PP_ALL_ACTION_DTYPES,
};
