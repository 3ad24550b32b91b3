/* ball_in_cup: swing a ball on a string into the cup. */
#include "task.h"

enum { BALL_X, BALL_Z, TARGET, BALL, BALL_GEOM };

static const char *const names[] = {"qpos:ball_x", "qpos:ball_z", "site:target", "body:ball",
                                    "geom:ball"};

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "position", shared->model.sim.nq);
  suite_describe_vector(config, shared, "velocity", shared->model.sim.nv);
  return suite_find(config, shared, 0, names, 5);
}

static int draw(suite_sim *sim) {
  double *qpos = sim->data->qpos;
  qpos[sim->ids[BALL_X]] = pp_random_state_uniform(sim->random, -.2, .2);
  qpos[sim->ids[BALL_Z]] = pp_random_state_uniform(sim->random, .2, .5);
  return PP_OK;
}

static int begin(suite_sim *sim) {
  return suite_draw_without_contacts(sim, draw, SUITE_MOST_ATTEMPTS);
}

static double *observe(suite_sim *sim, double *row) {
  return suite_observe_velocities(sim, suite_observe_positions(sim, row, 0));
}

static double reward(suite_sim *sim) {
  const double *target = suite_site(sim, TARGET);
  const double *ball = sim->data->xpos + 3 * sim->ids[BALL];
  const double *size = sim->values->site_size + 3 * sim->ids[TARGET];
  double radius = sim->values->geom_size[3 * sim->ids[BALL_GEOM]];
  return fabs(target[0] - ball[0]) < size[0] - radius &&
         fabs(target[2] - ball[2]) < size[2] - radius;
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .observe = observe, .reward = reward};
static const suite_kind kind = {.task = &task};
static const pp_option options[] = SUITE_OPTIONS("ball_in_cup", 10);

const pp_env_def pp_env_suite_ball_in_cup[2] = {
    SUITE_TASK("ball_in_cup", "catch", "BallInCupCatch", options, &kind)};
