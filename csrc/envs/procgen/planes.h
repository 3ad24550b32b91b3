/* Planes of a frame: its channels, one after another, as networks take them. */
#ifndef PP_ENVS_PROCGEN_PLANES_H
#define PP_ENVS_PROCGEN_PLANES_H

#include <stdint.h>

/* Writes the red, green and blue planes of num_pixels pixels, a multiple of 16. */
void procgen_write_planes(const uint8_t *rgb, uint8_t *planes, int32_t num_pixels);

#endif
