/* The terrain of quadruped-escape: a bowl with smooth bumps, with the bits of NumPy and SciPy. */
#ifndef PP_ENVS_MUJOCO_SUITE_TERRAIN_H
#define PP_ENVS_MUJOCO_SUITE_TERRAIN_H

#include "base/numpy_loops.h"

/* bumps and heights on each side of the square */
enum { SUITE_BUMPS = 30, SUITE_TERRAIN = 201 };

/* Writes the heights, SUITE_TERRAIN x SUITE_TERRAIN, of such bumps, SUITE_BUMPS x SUITE_BUMPS. */
void suite_make_terrain(const pp_numpy_loops *numpy, const double *bumps, float *heights);

#endif
