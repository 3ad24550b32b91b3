/* numpy.sum of contiguous floats, with the same bits (NumPy 1.26 to 2.4).
 *
 * Fewer than 8 numbers are added one after the other. Up to 128 are added in eight lanes, the lanes
 * are added in pairs, and the numbers that remain follow. More are split in two at a multiple of
 * eight. Each sum starts at 0, so none is -0. */
#ifndef PP_BASE_PAIRWISE_SUM_H
#define PP_BASE_PAIRWISE_SUM_H

#include <stdint.h>

#define PP_PAIRWISE_SUM(name, type)                                  \
  static inline type name(const type *values, int32_t count) {       \
    if (count > 128) {                                               \
      int32_t half = count / 2 / 8 * 8;                              \
      return name(values, half) + name(values + half, count - half); \
    }                                                                \
    type sum = 0;                                                    \
    int32_t i = 0;                                                   \
    if (count >= 8) {                                                \
      type lane[8];                                                  \
      for (; i < 8; i++) lane[i] = values[i];                        \
      for (; i < count / 8 * 8; i++) lane[i % 8] += values[i];       \
      sum += ((lane[0] + lane[1]) + (lane[2] + lane[3])) +           \
             ((lane[4] + lane[5]) + (lane[6] + lane[7]));            \
    }                                                                \
    for (; i < count; i++) sum += values[i];                         \
    return sum;                                                      \
  }

PP_PAIRWISE_SUM(pp_pairwise_sum, double)
PP_PAIRWISE_SUM(pp_pairwise_sum_float, float)

#endif
