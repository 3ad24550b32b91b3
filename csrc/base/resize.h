/* Resize: scales one 8-bit picture with the bits of OpenCV's INTER_AREA and INTER_LINEAR.
 *
 * A plan holds all tables for one pair of sizes. It is made once per option set and is read-only
 * from then on, so all threads may share it. Applying it allocates nothing. */
#ifndef PP_BASE_RESIZE_H
#define PP_BASE_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa.h"

enum {
  PP_RESIZE_MAX_SOURCE = 256, /* largest side of a source picture */
  PP_RESIZE_MAX_SIDE = 2048,  /* largest side of an output picture */
  PP_RESIZE_GROUP_TAPS = 8,   /* most taps that the vector variants take */
};

/* The arithmetic that one pair of sizes needs; OpenCV chooses it from the two scale factors. */
typedef enum pp_resize_kind {
  PP_RESIZE_COPY,   /* equal sizes */
  PP_RESIZE_MEAN,   /* both factors are whole numbers: the mean of a block */
  PP_RESIZE_AREA,   /* shrinking: float32 sums weighted by covered area */
  PP_RESIZE_LINEAR, /* two taps per axis in 11-bit fixed point */
} pp_resize_kind;

/* For each output position of an axis: the source positions it reads, and their weights. */
typedef struct pp_resize_axis {
  int src;
  int dst;
  int taps;        /* row length of the tables below */
  uint16_t *count; /* [dst] taps in use; the rest of a table row repeats the last, with weight 0 */
  uint16_t *index; /* [dst][taps] */
  float *weight;   /* [dst][taps], PP_RESIZE_AREA only */
  int32_t *coef;   /* [dst][taps], PP_RESIZE_LINEAR only: weight times 2048 */
} pp_resize_axis;

/* How the vector variants find the taps of 16 neighbouring outputs: load 64 bytes of the source
 * row, permute 32-bit words so that each 128-bit lane holds the pixels of its four outputs, then
 * shuffle bytes inside the lanes. Taps that an output lacks read zero and weigh zero, which
 * does not change the bits of a sum. */
typedef struct pp_resize_group {
  int column;           /* first output; the last group is moved left to end with the row */
  int source;           /* first byte loaded */
  uint32_t permute[16]; /* words */
} pp_resize_group;

typedef struct pp_resize {
  pp_resize_kind kind;
  pp_isa isa;
  pp_resize_axis x;
  pp_resize_axis y;
  int16_t *alike; /* [y.dst] nearest output row above with the same number and weights, or -1 */

  int groups;             /* 0 where 16 outputs need more than 64 bytes of source */
  pp_resize_group *group; /* [groups] */
  /* [groups][x.taps][16][4] byte moves that zero-extend a tap to 32 bits */
  uint8_t *group_shuffle;
  float *group_weight; /* [groups][x.taps][16] */
} pp_resize;

/* some output rows, in ascending order */
typedef struct pp_resize_rows {
  int count;
  uint16_t row[PP_RESIZE_MAX_SIDE];
} pp_resize_rows;

/* Makes the plan for src_h x src_w -> dst_h x dst_w; `area` chooses INTER_AREA over INTER_LINEAR,
 * and `isa` is lowered to what the machine has. Returns NULL when a side is outside its range or
 * memory is short. Destroy with pp_resize_destroy. */
pp_resize *pp_resize_create(int src_h, int src_w, int dst_h, int dst_w, bool area, pp_isa isa);

/* Frees a plan; NULL is allowed. */
void pp_resize_destroy(pp_resize *plan);

/* Scales `src` (src_h rows of src_w bytes) into `dst` (dst_h rows of dst_w bytes, no padding).
 * run[y] is the first row of the stretch of identical rows that row y belongs to, and only that
 * row's pixels are read; repeated rows are then computed once. NULL: no stretch is known.
 * rows: the output rows to write, NULL: all; the others must have their pixels already, and no
 * source row that only they read may have the run of one that the written rows read. */
void pp_resize_apply(const pp_resize *plan, const uint8_t *src, const uint8_t *run,
                     const pp_resize_rows *rows, uint8_t *dst);

/* Finds the output rows that read a source row with changed[y] nonzero. NULL: all. */
void pp_resize_find_rows(const pp_resize *plan, const uint8_t *changed, pp_resize_rows *rows);

/* Return the first and the last source row that an output row reads. */
static inline int pp_resize_top(const pp_resize *plan, int d) {
  return plan->y.index[(size_t)d * (size_t)plan->y.taps];
}
static inline int pp_resize_bottom(const pp_resize *plan, int d) {
  return plan->y.index[(size_t)(d + 1) * (size_t)plan->y.taps - 1];
}

#endif
