/* cartpole: balance a pole on a cart, or swing up one to three. */
#include "task.h"

enum { SLIDER, HINGE };
enum { BALANCE, BALANCE_SPARSE, SWINGUP, SWINGUP_SPARSE };

static const char *const names[] = {"qpos:slider", "qpos:hinge_1"};
/* bodies before the first pole: the world and the cart */
enum { FIRST_POLE = 2 };

static int32_t num_poles(const suite_shared *shared) {
  return shared->model.sim.nbody - FIRST_POLE;
}

static int prepare(pp_config *config, suite_shared *shared) {
  suite_describe_vector(config, shared, "position", 1 + 2 * num_poles(shared));
  suite_describe_vector(config, shared, "velocity", shared->model.sim.nv);
  return suite_find(config, shared, 0, names, 2);
}

static int begin(suite_sim *sim) {
  int32_t nv = sim->shared->model.sim.nv;
  double *qpos = sim->data->qpos, *qvel = sim->data->qvel;

  if (sim->kind->variant >= SWINGUP) {
    qpos[sim->ids[SLIDER]] = .01 * pp_random_state_randn(sim->random);
    qpos[sim->ids[HINGE]] = SUITE_PI + .01 * pp_random_state_randn(sim->random);
    for (int32_t i = 2; i < nv; i++) qpos[i] = .1 * pp_random_state_randn(sim->random);
  } else {
    qpos[sim->ids[SLIDER]] = pp_random_state_uniform(sim->random, -.1, .1);
    for (int32_t i = 1; i < nv; i++) qpos[i] = pp_random_state_uniform(sim->random, -.034, .034);
  }
  for (int32_t i = 0; i < nv; i++) qvel[i] = 0.01 * pp_random_state_randn(sim->random);
  return PP_OK;
}

static double cosine(const suite_sim *sim, int32_t pole) {
  return sim->data->xmat[9 * (FIRST_POLE + pole) + SUITE_ZZ];
}

static double *observe(suite_sim *sim, double *row) {
  *row++ = sim->data->qpos[sim->ids[SLIDER]];
  for (int32_t i = 0; i < num_poles(sim->shared); i++) {
    *row++ = cosine(sim, i);
    *row++ = sim->data->xmat[9 * (FIRST_POLE + i) + SUITE_XZ];
  }
  return suite_observe_velocities(sim, row);
}

static double sparse_reward(const suite_sim *sim) {
  double product = 1;
  for (int32_t i = 0; i < num_poles(sim->shared); i++) {
    product *= suite_tolerate(sim, cosine(sim, i), (suite_tolerance){.low = .995, .high = 1});
  }
  double position = sim->data->qpos[sim->ids[SLIDER]];
  return suite_tolerate(sim, position, (suite_tolerance){.low = -.25, .high = .25}) * product;
}

/* the mean of (1 + cosine) / 2 of all poles */
static double upright(const suite_sim *sim) {
  int32_t count = num_poles(sim->shared);
  double sum = 0;
  for (int32_t i = 0; i < count; i++) sum += (cosine(sim, i) + 1) / 2;
  return sum / count;
}

/* the least reward of the poles' velocities */
static double slow(const suite_sim *sim) {
  double least = 1;
  for (int32_t i = 1; i < sim->shared->model.sim.nv; i++) {
    double each = suite_tolerate_element(sim, sim->data->qvel[i], (suite_tolerance){.margin = 5});
    if (each < least) least = each;
  }
  return least;
}

static double reward(suite_sim *sim) {
  if (sim->kind->variant == BALANCE_SPARSE || sim->kind->variant == SWINGUP_SPARSE) {
    return sparse_reward(sim);
  }
  double position = sim->data->qpos[sim->ids[SLIDER]];
  double centered = (1 + suite_tolerate(sim, position, (suite_tolerance){.margin = 2})) / 2;
  double small = suite_tolerate_element(sim, sim->data->ctrl[0],
                                        (suite_tolerance){.margin = 1, .sigmoid = SUITE_QUADRATIC});
  return upright(sim) * ((4 + small) / 5) * ((1 + slow(sim)) / 2) * centered;
}

static const suite_task task = {
    .prepare = prepare, .begin = begin, .observe = observe, .reward = reward};
static const suite_kind balance = {.task = &task, .variant = BALANCE};
static const suite_kind balance_sparse = {.task = &task, .variant = BALANCE_SPARSE};
static const suite_kind swingup = {.task = &task, .variant = SWINGUP};
static const suite_kind swingup_sparse = {.task = &task, .variant = SWINGUP_SPARSE};
static const pp_option options[] = SUITE_OPTIONS("cartpole", 1);
static const pp_option two[] = SUITE_OPTIONS("cartpole_2", 1);
static const pp_option three[] = SUITE_OPTIONS("cartpole_3", 1);

const pp_env_def pp_env_suite_cartpole[12] = {
    SUITE_TASK("cartpole", "balance", "CartpoleBalance", options, &balance),
    SUITE_TASK("cartpole", "balance_sparse", "CartpoleBalanceSparse", options, &balance_sparse),
    SUITE_TASK("cartpole", "swingup", "CartpoleSwingup", options, &swingup),
    SUITE_TASK("cartpole", "swingup_sparse", "CartpoleSwingupSparse", options, &swingup_sparse),
    SUITE_TASK("cartpole", "two_poles", "CartpoleTwoPoles", two, &swingup),
    SUITE_TASK("cartpole", "three_poles", "CartpoleThreePoles", three, &swingup),
};
