/* dm_control's rewards.tolerance, with the bits of its NumPy code.
 *
 * NumPy squares an element of an array by a product and a scalar by pow, so both have functions
 * here. */
#ifndef PP_ENVS_MUJOCO_SUITE_REWARDS_H
#define PP_ENVS_MUJOCO_SUITE_REWARDS_H

#include "base/numpy_loops.h"

enum { SUITE_MOST_CONTROLS = 128 };

enum suite_sigmoid {
  SUITE_GAUSSIAN,
  SUITE_LINEAR,
  SUITE_QUADRATIC,
  SUITE_LONG_TAIL,
  SUITE_RECIPROCAL
};

/* what tolerance takes besides its number */
typedef struct suite_tolerance {
  double low;
  double high;
  double margin;
  int32_t sigmoid;
  double at_margin; /* value_at_margin of linear and quadratic; it is 0.1 for the others */
} suite_tolerance;

/* rewards.tolerance of a scalar */
double suite_reward(const pp_numpy_loops *numpy, double x, suite_tolerance within);

/* rewards.tolerance of one element of an array */
double suite_reward_element(const pp_numpy_loops *numpy, double x, suite_tolerance within);

/* rewards.tolerance(control, margin=1, value_at_margin=0, sigmoid="quadratic").mean(), of
 * at most SUITE_MOST_CONTROLS numbers */
double suite_small_control(const pp_numpy_loops *numpy, const double *control, int32_t count);

#endif
