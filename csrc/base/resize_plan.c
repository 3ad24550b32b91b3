/* Resize plan: builds the tables from which resize.c scales pictures.
 *
 * The rules were found by comparing with the OpenCV 5.0 binary on random pictures;
 * tests/parity/test_atari_screen.py checks them. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "resize.h"

enum { LANE = 4, LANE_BYTES = 16, GROUP = 16, GROUP_BYTES = 64 };

/* OpenCV goes through the inverse factor, which rounds differently from src / dst. */
static double axis_scale(int src, int dst) {
  return 1.0 / ((double)dst / (double)src);
}

static bool scale_is_whole(double scale) {
  return fabs(scale - rint(scale)) < DBL_EPSILON;
}

static int clamp_index(int i, int size) {
  return i < 0 ? 0 : i >= size ? size - 1 : i;
}

static bool axis_alloc(pp_resize_axis *axis, int src, int dst, int taps) {
  size_t cells = (size_t)dst * (size_t)taps;
  axis->src = src;
  axis->dst = dst;
  axis->taps = taps;
  axis->count = calloc((size_t)dst, sizeof(*axis->count));
  axis->index = calloc(cells, sizeof(*axis->index));
  axis->weight = calloc(cells, sizeof(*axis->weight));
  axis->coef = calloc(cells, sizeof(*axis->coef));
  return axis->count && axis->index && axis->weight && axis->coef;
}

static void axis_free(pp_resize_axis *axis) {
  free(axis->count);
  free(axis->index);
  free(axis->weight);
  free(axis->coef);
}

/* Appends one tap; taps arrive in the order in which they are summed. */
static void axis_add(pp_resize_axis *axis, int d, int source, double weight) {
  size_t cell = (size_t)d * (size_t)axis->taps + axis->count[d]++;
  axis->index[cell] = (uint16_t)source;
  axis->weight[cell] = (float)weight;
}

/* Output d covers [d*scale, (d+1)*scale) of the source; slivers thinner than 0.001 are dropped. */
static void axis_fill_area(pp_resize_axis *axis) {
  double scale = axis_scale(axis->src, axis->dst);
  for (int d = 0; d < axis->dst; d++) {
    double begin = d * scale;
    double end = begin + scale;
    double cell = fmin(scale, axis->src - begin);
    int last = (int)fmin(floor(end), axis->src - 1);
    int first = (int)fmin(ceil(begin), last);
    if (first - begin > 1e-3) {
      axis_add(axis, d, first - 1, (first - begin) / cell);
    }
    for (int i = first; i < last; i++) {
      axis_add(axis, d, i, 1.0 / cell);
    }
    if (end - last > 1e-3) {
      axis_add(axis, d, last, fmin(fmin(end - last, 1.0), cell) / cell);
    }
  }
}

/* A block mean needs no weights, only the rows and columns of each block. */
static void axis_fill_mean(pp_resize_axis *axis) {
  for (int d = 0; d < axis->dst; d++) {
    for (int t = 0; t < axis->taps; t++) {
      axis_add(axis, d, d * axis->taps + t, 1.0);
    }
  }
}

/* Two taps s and s+1 with weights 1-f and f in 11-bit fixed point. INTER_LINEAR aligns the pixels'
 * centres; enlarging with INTER_AREA aligns their edges and starts blending late. Beyond the
 * border a column takes the border pixel alone, a row the border row twice with both weights. */
static void axis_fill_linear(pp_resize_axis *axis, bool area, bool columns) {
  double inverse = (double)axis->dst / (double)axis->src;
  double scale = axis_scale(axis->src, axis->dst);
  for (int d = 0; d < axis->dst; d++) {
    int s;
    float f;
    if (area) {
      s = (int)floor(d * scale);
      f = (float)((d + 1) - (s + 1) * inverse);
      f = f <= 0 ? 0 : f - floorf(f);
    } else {
      f = (float)((d + 0.5) * scale - 0.5);
      s = (int)floorf(f);
      f -= (float)s;
    }
    if (columns && (s < 0 || s >= axis->src - 1)) {
      s = clamp_index(s, axis->src);
      f = 0;
    }
    for (int t = 0; t < 2; t++) {
      axis->index[2 * d + t] = (uint16_t)clamp_index(s + t, axis->src);
    }
    axis->coef[2 * d] = (int32_t)rintf((1.0f - f) * 2048.0f);
    axis->coef[2 * d + 1] = (int32_t)rintf(f * 2048.0f);
    axis->count[d] = 2;
  }
}

/* Unused cells repeat the last position, so that a kernel may read all taps of a table row. */
static void axis_pad(pp_resize_axis *axis) {
  for (int d = 0; d < axis->dst; d++) {
    uint16_t *index = axis->index + (size_t)d * (size_t)axis->taps;
    for (int t = axis->count[d]; t < axis->taps; t++) {
      index[t] = index[axis->count[d] - 1];
    }
  }
}

static int axis_taps(const pp_resize_axis *axis, pp_resize_kind kind) {
  double scale = axis_scale(axis->src, axis->dst);
  switch (kind) {
    case PP_RESIZE_AREA: return (int)ceil(scale) + 1;
    case PP_RESIZE_MEAN: return (int)rint(scale);
    case PP_RESIZE_LINEAR: return 2;
    case PP_RESIZE_COPY: return 1;
  }
  return 1;
}

static bool axis_make(pp_resize_axis *axis, pp_resize_kind kind, bool area, bool columns) {
  if (!axis_alloc(axis, axis->src, axis->dst, axis_taps(axis, kind))) {
    return false;
  }
  if (kind == PP_RESIZE_AREA) {
    axis_fill_area(axis);
  } else if (kind == PP_RESIZE_LINEAR) {
    axis_fill_linear(axis, area, columns);
  } else {
    axis_fill_mean(axis);
  }
  axis_pad(axis);
  return true;
}

/* Returns whether two output rows have equal weights: then equal source rows give equal pixels. */
static bool rows_weigh_alike(const pp_resize_axis *y, int a, int b) {
  size_t taps = (size_t)y->taps;
  size_t at_a = (size_t)a * taps;
  size_t at_b = (size_t)b * taps;
  return y->count[a] == y->count[b] &&
         memcmp(y->weight + at_a, y->weight + at_b, taps * sizeof(*y->weight)) == 0 &&
         memcmp(y->coef + at_a, y->coef + at_b, taps * sizeof(*y->coef)) == 0;
}

static bool plan_alike(pp_resize *plan) {
  plan->alike = malloc((size_t)plan->y.dst * sizeof(*plan->alike));
  if (!plan->alike) {
    return false;
  }
  for (int d = 0; d < plan->y.dst; d++) {
    int above = d - 1;
    while (above >= 0 && !rows_weigh_alike(&plan->y, above, d)) {
      above--;
    }
    plan->alike[d] = (int16_t)above;
  }
  return true;
}

static int first_pixel(const pp_resize_axis *x, int d) {
  return x->index[(size_t)d * (size_t)x->taps];
}

static int last_pixel(const pp_resize_axis *x, int d) {
  return x->index[(size_t)(d + 1) * (size_t)x->taps - 1];
}

/* Lays out one group. Returns false if its pixels do not fit into the load or into the lanes. */
static bool group_locate(const pp_resize_axis *x, int g, pp_resize_group *group) {
  int column = g * GROUP;
  group->column = column > x->dst - GROUP ? x->dst - GROUP : column;
  int source = first_pixel(x, group->column);
  group->source = source > x->src - GROUP_BYTES ? x->src - GROUP_BYTES : source;
  for (int lane = 0; lane < GROUP / LANE; lane++) {
    int d = group->column + lane * LANE;
    int word = (first_pixel(x, d) - group->source) / 4;
    if (word > (GROUP_BYTES - LANE_BYTES) / 4) {
      word = (GROUP_BYTES - LANE_BYTES) / 4;
    }
    if (last_pixel(x, d + LANE - 1) - group->source - 4 * word >= LANE_BYTES) {
      return false;
    }
    for (int i = 0; i < LANE; i++) {
      group->permute[lane * LANE + i] = (uint32_t)(word + i);
    }
  }
  return true;
}

static void group_fill(pp_resize *plan, int g) {
  const pp_resize_axis *x = &plan->x;
  const pp_resize_group *group = plan->group + g;
  for (int i = 0; i < GROUP; i++) {
    int d = group->column + i;
    int lane_start = group->source + 4 * (int)group->permute[i / LANE * LANE];
    for (int t = 0; t < x->count[d]; t++) {
      size_t cell = ((size_t)g * (size_t)x->taps + (size_t)t) * GROUP + (size_t)i;
      size_t tap = (size_t)d * (size_t)x->taps + (size_t)t;
      plan->group_weight[cell] = x->weight[tap];
      plan->group_shuffle[4 * cell] = (uint8_t)(x->index[tap] - lane_start);
    }
  }
}

/* Makes the groups if the sizes allow it. Returns false only if memory is short. */
static bool plan_groups(pp_resize *plan) {
  const pp_resize_axis *x = &plan->x;
  if (plan->kind != PP_RESIZE_AREA || x->src < GROUP_BYTES || x->dst < GROUP ||
      x->taps > PP_RESIZE_GROUP_TAPS) {
    return true;
  }
  int groups = (x->dst + GROUP - 1) / GROUP;
  size_t cells = (size_t)groups * (size_t)x->taps * GROUP;
  plan->group = calloc((size_t)groups, sizeof(*plan->group));
  plan->group_shuffle = malloc(4 * cells);
  plan->group_weight = calloc(cells, sizeof(*plan->group_weight));
  if (!plan->group || !plan->group_shuffle || !plan->group_weight) {
    return false;
  }
  for (int g = 0; g < groups; g++) {
    if (!group_locate(x, g, plan->group + g)) {
      return true;
    }
  }
  memset(plan->group_shuffle, 0x80, 4 * cells);  // a move from nowhere yields zero
  for (int g = 0; g < groups; g++) {
    group_fill(plan, g);
  }
  plan->groups = groups;
  return true;
}

static pp_resize_kind choose_kind(int src_h, int src_w, int dst_h, int dst_w, bool area) {
  double scale_y = axis_scale(src_h, dst_h);
  double scale_x = axis_scale(src_w, dst_w);
  bool whole = scale_is_whole(scale_y) && scale_is_whole(scale_x);
  if (src_h == dst_h && src_w == dst_w) {
    return PP_RESIZE_COPY;
  }
  if (!area || scale_y < 1.0 || scale_x < 1.0) {
    return PP_RESIZE_LINEAR;
  }
  return whole ? PP_RESIZE_MEAN : PP_RESIZE_AREA;
}

static bool side_ok(int side, int limit) {
  return side >= 1 && side <= limit;
}

pp_resize *pp_resize_create(int src_h, int src_w, int dst_h, int dst_w, bool area, pp_isa isa) {
  if (!side_ok(src_h, PP_RESIZE_MAX_SOURCE) || !side_ok(src_w, PP_RESIZE_MAX_SOURCE) ||
      !side_ok(dst_h, PP_RESIZE_MAX_SIDE) || !side_ok(dst_w, PP_RESIZE_MAX_SIDE)) {
    return NULL;
  }
  pp_resize *plan = calloc(1, sizeof(*plan));
  if (!plan) {
    return NULL;
  }
  plan->kind = choose_kind(src_h, src_w, dst_h, dst_w, area);
  plan->isa = pp_isa_limit(isa);
  plan->x.src = src_w;
  plan->x.dst = dst_w;
  plan->y.src = src_h;
  plan->y.dst = dst_h;
  if (!axis_make(&plan->x, plan->kind, area, true) ||
      !axis_make(&plan->y, plan->kind, area, false) || !plan_alike(plan) || !plan_groups(plan)) {
    pp_resize_destroy(plan);
    return NULL;
  }
  return plan;
}

void pp_resize_destroy(pp_resize *plan) {
  if (!plan) {
    return;
  }
  axis_free(&plan->x);
  axis_free(&plan->y);
  free(plan->alike);
  free(plan->group);
  free(plan->group_shuffle);
  free(plan->group_weight);
  free(plan);
}
