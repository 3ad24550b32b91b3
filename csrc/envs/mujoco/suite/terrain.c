/* The terrain of quadruped-escape.
 *
 * Bumps are smoothed as scipy.ndimage.zoom does: by cubic splines through all bumps. Their
 * coefficients come from a recursive filter in each direction (M. Unser, "Splines: a perfect fit
 * for signal and image processing", IEEE Signal Processing Magazine 16, 1999). */
#include "terrain.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ORDER = 3, TAPS = ORDER + 1 };

/* ----------------------------------------------------------------------------------- splines -- */

/* Turns samples into coefficients of a cubic spline; the samples are mirrored at both ends. */
static void filter(double *c, int32_t count) {
  const double pole = sqrt(3.0) - 2.0, far = pow(pole, count - 1);
  double gain = (1.0 - pole) * (1.0 - 1.0 / pole), power = pole;

  for (int32_t i = 0; i < count; i++) c[i] *= gain;
  c[0] = c[0] + far * c[count - 1];
  for (int32_t i = 1; i < count - 1; i++) {
    c[0] += power * (c[i] + far * c[count - 1 - i]);
    power *= pole;
  }
  c[0] /= 1 - far * far;
  for (int32_t i = 1; i < count; i++) c[i] += pole * c[i - 1];
  c[count - 1] = (pole * c[count - 2] + c[count - 1]) * pole / (pole * pole - 1);
  for (int32_t i = count - 2; i >= 0; i--) c[i] = pole * (c[i + 1] - c[i]);
}

static void filter_square(double *c) {
  double column[SUITE_BUMPS];
  for (int32_t j = 0; j < SUITE_BUMPS; j++) {
    for (int32_t i = 0; i < SUITE_BUMPS; i++) column[i] = c[i * SUITE_BUMPS + j];
    filter(column, SUITE_BUMPS);
    for (int32_t i = 0; i < SUITE_BUMPS; i++) c[i * SUITE_BUMPS + j] = column[i];
  }
  for (int32_t i = 0; i < SUITE_BUMPS; i++) filter(c + i * SUITE_BUMPS, SUITE_BUMPS);
}

/* the coefficients that one place in one direction depends on */
typedef struct taps {
  bool is_inside;
  int32_t at[TAPS];
  double weight[TAPS];
} taps;

static int32_t mirrored(int32_t i) {
  if (i < 0) return -i;
  return i < SUITE_BUMPS ? i : 2 * SUITE_BUMPS - 2 - i;
}

static taps taps_of(int32_t place) {
  const double zoom = (double)(SUITE_BUMPS - 1) / (SUITE_TERRAIN - 1);
  double at = place * zoom, y = at - floor(at), z = 1.0 - y;
  taps found = {.is_inside = at <= SUITE_BUMPS - 1};

  for (int32_t i = 0; i < TAPS; i++) {
    found.at[i] = mirrored((int32_t)floor(at) - ORDER / 2 + i);
  }
  found.weight[1] = (y * y * (y - 2.0) * 3.0 + 4.0) / 6.0;
  found.weight[2] = (z * z * (z - 2.0) * 3.0 + 4.0) / 6.0;
  found.weight[0] = z * z * z / 6.0;
  found.weight[3] = 1.0 - found.weight[0] - found.weight[1] - found.weight[2];
  return found;
}

/* the spline's value; beyond its end, which rounding may reach, SciPy fills with 0 */
static double interpolate(const double *c, const taps *row, const taps *column) {
  double sum = 0;
  if (!row->is_inside || !column->is_inside) return 0;
  for (int32_t i = 0; i < TAPS; i++) {
    for (int32_t j = 0; j < TAPS; j++) {
      double term = c[row->at[i] * SUITE_BUMPS + column->at[j]];
      term *= row->weight[i];
      term *= column->weight[j];
      sum += term;
    }
  }
  return sum;
}

/* -------------------------------------------------------------------------------------- bowl -- */

static double bowl(const pp_numpy_loops *numpy, int32_t row, int32_t column) {
  const double step = 2.0 / (SUITE_TERRAIN - 1);
  double x = column * step + -1, y = row * step + -1;
  double radius = fmin(fmax(sqrt(x * x + y * y), .04), 1);
  return .5 - pp_numpy_cos(numpy, 2 * 3.141592653589793238462643383279502884 * radius) / 2;
}

void suite_make_terrain(const pp_numpy_loops *numpy, const double *bumps, float *heights) {
  double c[SUITE_BUMPS * SUITE_BUMPS];
  taps places[SUITE_TERRAIN];

  memcpy(c, bumps, sizeof(c));
  filter_square(c);
  for (int32_t i = 0; i < SUITE_TERRAIN; i++) places[i] = taps_of(i);
  for (int32_t i = 0; i < SUITE_TERRAIN; i++) {
    for (int32_t j = 0; j < SUITE_TERRAIN; j++) {
      double bump = interpolate(c, &places[i], &places[j]);
      heights[i * SUITE_TERRAIN + j] = (float)(bowl(numpy, i, j) * bump);
    }
  }
}
