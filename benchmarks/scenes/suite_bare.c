/* The upper limit of pools of dm_control's tasks: a loop over MuJoCo's steps in dm_control's order,
 * with the same states and actions as a pool, but without observations, rewards and resets.
 *
 * benchmarks/studies/control_suite.py builds it as a library and calls its exported function. */
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef void part(const void *model, void *data);

/* Bare in control_suite.py has the same members. */
typedef struct bare {
  part *step; /* MuJoCo's functions */
  part *step1;
  part *step2;
  const void *model;
  void *const *data;     /* num_envs */
  double *const *ctrl;   /* num_envs */
  const double *actions; /* num_rows x num_envs x nu */
  int32_t num_rows;
  int32_t num_envs;
  int32_t nu;
  int32_t frame_skip;
  int32_t is_rk4; /* bool */
} bare;

static void advance(const bare *it, void *data) {
  int32_t count = it->frame_skip;
  if (!it->is_rk4) {
    it->step2(it->model, data);
    count--;
  }
  for (int32_t i = 0; i < count; i++) it->step(it->model, data);
  it->step1(it->model, data);
}

EXPORT void suite_bare_play(const bare *it, int32_t batches) {
  size_t size = sizeof(double) * (size_t)it->nu;
  for (int32_t row = 0; row < batches; row++) {
    const double *action = it->actions + (size_t)(row % it->num_rows * it->num_envs * it->nu);
    for (int32_t i = 0; i < it->num_envs; i++, action += it->nu) {
      memcpy(it->ctrl[i], action, size);
      advance(it, it->data[i]);
    }
  }
}
