/* Gymnasium-Robotics' rotations (gymnasium_robotics.utils.rotations), with the bits of the user's
 * NumPy. Quaternions are w, x, y, z; matrices are 3 x 3 in C order; angles are in radians. */
#ifndef PP_ENVS_MUJOCO_ROBOTICS_ROTATIONS_H
#define PP_ENVS_MUJOCO_ROBOTICS_ROTATIONS_H

#include "base/numpy_loops.h"

#define ROBOTICS_PI 3.141592653589793238462643383279502884

enum { ROBOTICS_PARALLEL_ROTATIONS = 24 };

/* euler2quat, mat2euler, quat2euler */
void robotics_euler_to_quat(const pp_numpy_loops *numpy, const double euler[3], double quat[4]);
void robotics_matrix_to_euler(const pp_numpy_loops *numpy, const double matrix[9], double euler[3]);
void robotics_quat_to_euler(const pp_numpy_loops *numpy, const double quat[4], double euler[3]);

/* quat_mul; product may be one of the factors */
void robotics_multiply_quats(const double left[4], const double right[4], double product[4]);

/* quat_conjugate */
void robotics_conjugate_quat(const double quat[4], double conjugate[4]);

/* the hands' quat_from_angle_and_axis, which normalizes axis, too */
void robotics_axis_to_quat(const pp_numpy_loops *numpy, double angle, double axis[3],
                           double quat[4]);

/* euler2quat of get_parallel_rotations: those that turn axes into axes */
void robotics_parallel_quats(const pp_numpy_loops *numpy,
                             double quats[ROBOTICS_PARALLEL_ROTATIONS][4]);

/* vector /= np.linalg.norm(vector) */
void robotics_normalize(const pp_numpy_loops *numpy, double *vector, int32_t count);

#endif
