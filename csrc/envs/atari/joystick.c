/* Joystick: turns a stick's position into an action, in float32 as NumPy's scalars do.
 * Comparisons of doubles are exact for float32, too. */
#include "joystick.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/float_trig.h"

/* ALE's action for each combination of up, none, down (rows) with left, none, right (columns) */
static const uint8_t directions[3][3] = {{7, 2, 6}, {4, 0, 3}, {9, 5, 8}};
static const uint8_t directions_firing[3][3] = {{15, 10, 14}, {12, 1, 11}, {17, 13, 16}};

static int side_of(double value, double threshold) {
  return (value > threshold) - (value < -threshold);
}

pp_move pp_move_of_stick(const float stick[3], double threshold) {
  float x = stick[0] * pp_float_cos(stick[1]);
  float y = stick[0] * pp_float_sin(stick[1]);
  int column = 1 + side_of((double)x, threshold);
  int row = 1 - side_of((double)y, threshold);
  bool fires = (double)stick[2] > threshold;
  int action = fires ? directions_firing[row][column] : directions[row][column];
  // a radius outside the action space turns a paddle by its absolute value
  return (pp_move){action, fabsf(stick[0])};
}
