/* Adroit: what its tasks compute alike. */
#include "adroit.h"

static const pp_field infos[] = {MUJOCO_STEP_INFO("success", PP_BOOL)};

int adroit_prepare(pp_config *config, robotics_shared *shared, int32_t positions, int32_t numbers) {
  const mujoco_simulator *sim = &shared->mujoco.sim;

  robotics_describe(config, shared, "obs", numbers);
  robotics_describe_action(config, shared, sim->nu);
  shared->infos = infos;
  shared->num_infos = 1;
  if (sim->nq == positions && sim->nv == positions) return PP_OK;
  return pp_fail(config->error, PP_ERR_ARGUMENT,
                 "the model has nq=%d and nv=%d: the task needs nq = nv = %d", sim->nq, sim->nv,
                 positions);
}

void adroit_act(robotics_sim *sim) {
  const double *range = sim->shared->control_ranges;
  for (int32_t i = 0; i < sim->shared->num_actions; i++, range += 2) {
    double mean = (range[0] + range[1]) / 2, half = 0.5 * (range[1] - range[0]);
    sim->in->ctrl[i] = mean + mujoco_clip(sim->action[i], -1, 1) * half;
  }
}

double adroit_distance(const robotics_sim *sim, const double *from, const double *to) {
  double offset[3];
  robotics_subtract(offset, from, to, 3);
  return robotics_norm(sim, offset, 3);
}

bool adroit_judge(robotics_sim *sim, bool is_achieved) {
  sim->infos[0] = is_achieved;
  sim->reward = is_achieved ? 10.0 : -0.1;
  return sim->shared->is_dense;
}
