/* Rotations: conversions between angles, matrices and quaternions, in the order of NumPy's sums. */
#include "rotations.h"

#include <float.h>
#include <string.h>

typedef struct sines {
  double si, sj, sk;
  double ci, cj, ck;
} sines;

static sines sines_of(const pp_numpy_loops *numpy, double i, double j, double k) {
  return (sines){.si = pp_numpy_sin(numpy, i),
                 .sj = pp_numpy_sin(numpy, j),
                 .sk = pp_numpy_sin(numpy, k),
                 .ci = pp_numpy_cos(numpy, i),
                 .cj = pp_numpy_cos(numpy, j),
                 .ck = pp_numpy_cos(numpy, k)};
}

/* euler2mat */
static void euler_to_matrix(const pp_numpy_loops *numpy, const double euler[3], double matrix[9]) {
  sines of = sines_of(numpy, -euler[2], -euler[1], -euler[0]);
  double cc = of.ci * of.ck, cs = of.ci * of.sk;
  double sc = of.si * of.ck, ss = of.si * of.sk;

  matrix[0] = of.cj * of.ci;
  matrix[1] = of.cj * of.si;
  matrix[2] = -of.sj;
  matrix[3] = of.sj * cs - sc;
  matrix[4] = of.sj * ss + cc;
  matrix[5] = of.cj * of.sk;
  matrix[6] = of.sj * cc + ss;
  matrix[7] = of.sj * sc - cs;
  matrix[8] = of.cj * of.ck;
}

void robotics_euler_to_quat(const pp_numpy_loops *numpy, const double euler[3], double quat[4]) {
  sines of = sines_of(numpy, euler[2] / 2, -euler[1] / 2, euler[0] / 2);
  double cc = of.ci * of.ck, cs = of.ci * of.sk;
  double sc = of.si * of.ck, ss = of.si * of.sk;

  quat[0] = of.cj * cc + of.sj * ss;
  quat[1] = of.cj * cs - of.sj * sc;
  quat[2] = -(of.cj * ss + of.sj * cc);
  quat[3] = of.cj * sc - of.sj * cs;
}

void robotics_matrix_to_euler(const pp_numpy_loops *numpy, const double matrix[9],
                              double euler[3]) {
  double cy = sqrt(matrix[8] * matrix[8] + matrix[5] * matrix[5]);
  // otherwise the middle angle is a right one, and only one of the other two has a meaning
  bool is_regular = cy > DBL_EPSILON * 4.0;

  euler[0] = is_regular ? -pp_numpy_arctan2(numpy, matrix[5], matrix[8]) : 0;
  euler[1] = -pp_numpy_arctan2(numpy, -matrix[2], cy);
  euler[2] = is_regular ? -pp_numpy_arctan2(numpy, matrix[1], matrix[0])
                        : -pp_numpy_arctan2(numpy, -matrix[3], matrix[4]);
}

/* quat2mat */
static void quat_to_matrix(const double quat[4], double matrix[9]) {
  static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  double w = quat[0], x = quat[1], y = quat[2], z = quat[3];
  double square = w * w + x * x + y * y + z * z;
  double s = 2.0 / square;
  double xs = x * s, ys = y * s, zs = z * s;
  double wx = w * xs, wy = w * ys, wz = w * zs;
  double xx = x * xs, xy = x * ys, xz = x * zs;
  double yy = y * ys, yz = y * zs, zz = z * zs;

  if (!(square > DBL_EPSILON)) {
    memcpy(matrix, identity, sizeof(identity));
    return;
  }
  matrix[0] = 1.0 - (yy + zz);
  matrix[1] = xy - wz;
  matrix[2] = xz + wy;
  matrix[3] = xy + wz;
  matrix[4] = 1.0 - (xx + zz);
  matrix[5] = yz - wx;
  matrix[6] = xz - wy;
  matrix[7] = yz + wx;
  matrix[8] = 1.0 - (xx + yy);
}

void robotics_quat_to_euler(const pp_numpy_loops *numpy, const double quat[4], double euler[3]) {
  double matrix[9];
  quat_to_matrix(quat, matrix);
  robotics_matrix_to_euler(numpy, matrix, euler);
}

void robotics_multiply_quats(const double left[4], const double right[4], double product[4]) {
  double w0 = left[0], x0 = left[1], y0 = left[2], z0 = left[3];
  double w1 = right[0], x1 = right[1], y1 = right[2], z1 = right[3];

  product[0] = w0 * w1 - x0 * x1 - y0 * y1 - z0 * z1;
  product[1] = w0 * x1 + x0 * w1 + y0 * z1 - z0 * y1;
  product[2] = w0 * y1 + y0 * w1 + z0 * x1 - x0 * z1;
  product[3] = w0 * z1 + z0 * w1 + x0 * y1 - y0 * x1;
}

void robotics_conjugate_quat(const double quat[4], double conjugate[4]) {
  conjugate[0] = quat[0];
  for (int i = 1; i < 4; i++) conjugate[i] = -quat[i];
}

void robotics_axis_to_quat(const pp_numpy_loops *numpy, double angle, double axis[3],
                           double quat[4]) {
  robotics_normalize(numpy, axis, 3);
  double sine = pp_numpy_sin(numpy, angle / 2.0);
  quat[0] = pp_numpy_cos(numpy, angle / 2.0);
  for (int i = 0; i < 3; i++) quat[1 + i] = sine * axis[i];
  robotics_normalize(numpy, quat, 4);
}

/* the angles as multiples of a right one, of which 2 and -2 are the same but in the middle */
static void to_right_angles(const pp_numpy_loops *numpy, const double euler[3], double angles[3]) {
  double matrix[9];
  euler_to_matrix(numpy, euler, matrix);
  robotics_matrix_to_euler(numpy, matrix, angles);
  for (int i = 0; i < 3; i++) angles[i] = rint(angles[i] / (ROBOTICS_PI / 2));
  if (angles[0] == -2) angles[0] = 2;
  if (angles[2] == -2) angles[2] = 2;
  for (int i = 0; i < 3; i++) angles[i] *= ROBOTICS_PI / 2;
}

static bool is_known(double rotations[][3], int32_t count, const double rotation[3]) {
  for (int32_t i = 0; i < count; i++) {
    bool differs = false;
    for (int j = 0; j < 3; j++) differs |= rotations[i][j] != rotation[j];
    if (!differs) return true;
  }
  return false;
}

void robotics_parallel_quats(const pp_numpy_loops *numpy,
                             double quats[ROBOTICS_PARALLEL_ROTATIONS][4]) {
  static const double right[4] = {0, ROBOTICS_PI / 2, -ROBOTICS_PI / 2, ROBOTICS_PI};
  double rotations[ROBOTICS_PARALLEL_ROTATIONS][3], angles[3];
  int32_t count = 0;

  for (int i = 0; i < 64 && count < ROBOTICS_PARALLEL_ROTATIONS; i++) {
    const double euler[3] = {right[i / 16], right[i / 4 % 4], right[i % 4]};
    to_right_angles(numpy, euler, angles);
    if (is_known(rotations, count, angles)) continue;
    memcpy(rotations[count], angles, sizeof(angles));
    robotics_euler_to_quat(numpy, angles, quats[count++]);
  }
}

void robotics_normalize(const pp_numpy_loops *numpy, double *vector, int32_t count) {
  double norm = sqrt(pp_numpy_dot(numpy, vector, vector, count));
  for (int32_t i = 0; i < count; i++) vector[i] /= norm;
}
