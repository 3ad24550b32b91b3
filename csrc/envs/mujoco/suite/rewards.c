/* dm_control's rewards.tolerance. */
#include "rewards.h"

#include <math.h>

#include "base/pairwise_sum.h"
#include "base/square.h"

static const double AT_MARGIN = 0.1;

/* 1 at 0, less beyond; square: of a scalar or of an element */
static double sigmoid(const pp_numpy_loops *numpy, double x, const suite_tolerance *within,
                      double (*square)(double)) {
  double scale, scaled;
  switch (within->sigmoid) {
    case SUITE_GAUSSIAN:
      scale = sqrt(-2 * pp_numpy_log(numpy, AT_MARGIN));
      return pp_numpy_exp(numpy, -0.5 * square(x * scale));
    case SUITE_LONG_TAIL: scale = sqrt(1 / AT_MARGIN - 1); return 1 / (square(x * scale) + 1);
    case SUITE_RECIPROCAL: return 1 / (fabs(x) * (1 / AT_MARGIN - 1) + 1);
    case SUITE_LINEAR:
      scaled = x * (1 - within->at_margin);
      return fabs(scaled) < 1 ? 1 - scaled : 0;
    default:
      scaled = x * sqrt(1 - within->at_margin);
      return fabs(scaled) < 1 ? 1 - square(scaled) : 0;
  }
}

static double tolerance(const pp_numpy_loops *numpy, double x, const suite_tolerance *within,
                        double (*square)(double)) {
  bool is_inside = within->low <= x && x <= within->high;
  if (is_inside || within->margin == 0) return is_inside;
  double distance = (x < within->low ? within->low - x : x - within->high) / within->margin;
  return sigmoid(numpy, distance, within, square);
}

static double product(double x) {
  return x * x;
}

double suite_reward(const pp_numpy_loops *numpy, double x, suite_tolerance within) {
  return tolerance(numpy, x, &within, pp_square);
}

double suite_reward_element(const pp_numpy_loops *numpy, double x, suite_tolerance within) {
  return tolerance(numpy, x, &within, product);
}

double suite_small_control(const pp_numpy_loops *numpy, const double *control, int32_t count) {
  const suite_tolerance within = {.margin = 1, .sigmoid = SUITE_QUADRATIC};
  double values[SUITE_MOST_CONTROLS];
  for (int32_t i = 0; i < count; i++) {
    values[i] = suite_reward_element(numpy, control[i], within);
  }
  return pp_pairwise_sum(values, count) / count;
}
