/* Resize: runs a resize plan over a picture.
 *
 * Sums of the area kind must round as OpenCV's do: float32, horizontal before vertical, taps in
 * order, separate multiplication and addition. The build therefore forbids fused multiply-add
 * (-ffp-contract=off); a vector variant changes only how many outputs are computed at once. */
#include "resize.h"

#include <stddef.h>
#include <string.h>

#if PP_ISA_X86
#include <immintrin.h>
#endif

enum {
  NO_ROW = -1,
  /* output rows per sweep over the columns, so that their source stays in the L1 cache */
  BLOCK = 16,
};

/* Added to a float in 0..255, it pushes the fraction out of the significand. */
#define ROUNDER 12582912.0f

static int run_of(const uint8_t *run, int y) {
  return run ? run[y] : y;
}

void pp_resize_find_rows(const pp_resize *plan, const uint8_t *changed, pp_resize_rows *rows) {
  const int taps = plan->y.taps;
  const uint16_t *index = plan->y.index;
  int count = 0;
  // without a cache of lines every row may have changed
  if (changed && !memchr(changed, 0, (size_t)plan->y.src)) {
    changed = NULL;
  }
  for (int d = 0; d < plan->y.dst; d++, index += taps) {
    unsigned any = !changed;
    for (int t = 0; changed && t < taps; t++) {
      any |= changed[index[t]];
    }
    rows->row[count] = (uint16_t)d;
    count += any != 0;
  }
  rows->count = count;
}

/* origin[d] becomes the first output row that has the pixels of row d: d itself if none above has.
 * Those of `rows` that are their own origin are listed in `own`. A stretch of identical rows that
 * covers the first source row of one output and the last of a lower one covers all in between, so
 * with equal weights the two are equal. */
static void find_origins(const pp_resize *plan, const uint8_t *run, const pp_resize_rows *rows,
                         uint16_t *origin, pp_resize_rows *own) {
  for (int d = 0; d < plan->y.dst; d++) {
    origin[d] = (uint16_t)d;
  }
  own->count = 0;
  for (int i = 0; i < rows->count; i++) {
    const int d = rows->row[i], above = plan->alike[d];
    if (run && above != NO_ROW &&
        run[pp_resize_top(plan, above)] == run[pp_resize_bottom(plan, d)]) {
      origin[d] = origin[above];
    } else {
      own->row[own->count++] = (uint16_t)d;
    }
  }
}

/* Copies a row, which is so short that a call of memcpy would take longer. */
static PP_ALWAYS_INLINE void copy_row(uint8_t *dst, const uint8_t *src, int width) {
  int i = 0;
  for (; i + 16 <= width; i += 16) {
    memcpy(dst + i, src + i, 16);
  }
  if (i > 0 && i < width) {
    memcpy(dst + width - 16, src + width - 16, 16);
  } else {
    memcpy(dst + i, src + i, (size_t)(width - i));
  }
}

/* Copies the rows that are repeats by find_origins. */
static void fill_repeats(const pp_resize *plan, const pp_resize_rows *rows, const uint16_t *origin,
                         uint8_t *dst) {
  int width = plan->x.dst;
  for (int i = 0; i < rows->count; i++) {
    const int d = rows->row[i];
    if (origin[d] != d) {
      copy_row(dst + (size_t)d * (size_t)width, dst + (size_t)origin[d] * (size_t)width, width);
    }
  }
}

/* --------------------------------------------------------------- shrinking by covered area -- */

/* The vertical pass as a list: each output row is the sum of some terms, each a scaled source row
 * times a weight. A term that is not fresh has the source row of the term before it. */
typedef struct area_term {
  const uint8_t *row;
  float weight;
  bool fresh;
} area_term;

typedef struct area_output {
  uint8_t *dst;
  int terms;
} area_output;

/* A source row has at most three terms: one inside an output row, and two at output rows'
 * borders. */
typedef struct area_job {
  int outputs;
  int first_term[PP_RESIZE_MAX_SOURCE / BLOCK + 1];
  area_output output[PP_RESIZE_MAX_SOURCE];
  area_term term[3 * PP_RESIZE_MAX_SOURCE];
} area_job;

static void job_fill(area_job *job, const pp_resize *plan, const uint8_t *src, const uint8_t *run,
                     const pp_resize_rows *rows, uint8_t *dst) {
  const pp_resize_axis *y = &plan->y;
  const uint8_t *last = NULL;
  area_term *term = job->term;
  job->outputs = 0;
  for (int i = 0; i < rows->count; i++) {
    const int d = rows->row[i];
    if (job->outputs % BLOCK == 0) {
      job->first_term[job->outputs / BLOCK] = (int)(term - job->term);
      last = NULL;
    }
    area_output *output = &job->output[job->outputs++];
    output->dst = dst + (size_t)d * (size_t)plan->x.dst;
    output->terms = y->count[d];
    size_t cell = (size_t)d * (size_t)y->taps;
    for (int t = 0; t < y->count[d]; t++, term++) {
      int source = run_of(run, y->index[cell + (size_t)t]);
      term->row = src + (size_t)source * (size_t)plan->x.src;
      term->weight = y->weight[cell + (size_t)t];
      term->fresh = term->row != last;
      last = term->row;
    }
  }
}

/* Scales one source row, already in floats. Unused taps read some pixel and weigh nothing. */
static PP_ALWAYS_INLINE void row_scale_taps(const pp_resize_axis *x, int taps, const float *pixels,
                                            float *dst) {
  const uint16_t *index = x->index;
  const float *weight = x->weight;
  for (int d = 0; d < x->dst; d++, index += taps, weight += taps) {
    float sum = 0;
    for (int t = 0; t < taps; t++) {
      sum += pixels[index[t]] * weight[t];
    }
    dst[d] = sum;
  }
}

/* Scales one source row. A constant number of taps is twice as fast; 84 columns take three. */
static void row_scale(const pp_resize_axis *x, const uint8_t *src, float *dst) {
  float pixels[PP_RESIZE_MAX_SOURCE];
  for (int i = 0; i < x->src; i++) {
    pixels[i] = (float)src[i];
  }
  if (x->taps == 3) {
    row_scale_taps(x, 3, pixels, dst);
  } else {
    row_scale_taps(x, x->taps, pixels, dst);
  }
}

/* Rounds half to even: near 1.5 * 2^23 a float has no fraction bits, so the addition rounds and
 * the low byte is the integer. The weights of a pixel sum to 1, so no result exceeds 255. */
static uint8_t round_even(float value) {
  float shifted = value + ROUNDER;
  uint32_t bits;
  memcpy(&bits, &shifted, sizeof(bits));
  return (uint8_t)bits;
}

static void area_generic(const pp_resize *plan, const area_job *job) {
  float scaled[PP_RESIZE_MAX_SOURCE];
  float sum[PP_RESIZE_MAX_SOURCE];
  int width = plan->x.dst;
  const area_term *term = job->term;
  for (int o = 0; o < job->outputs; o++) {
    memset(sum, 0, sizeof(sum));
    for (int t = 0; t < job->output[o].terms; t++, term++) {
      if (term->fresh) {
        row_scale(&plan->x, term->row, scaled);
      }
      for (int i = 0; i < width; i++) {
        sum[i] += scaled[i] * term->weight;
      }
    }
    for (int i = 0; i < width; i++) {
      job->output[o].dst[i] = round_even(sum[i]);
    }
  }
}

#if PP_ISA_X86

static int block_end(const area_job *job, int block) {
  int end = (block + 1) * BLOCK;
  return end < job->outputs ? end : job->outputs;
}

/* Eight outputs are half a group. Each 128-bit lane loads its own 16 pixels. */
PP_TARGET_AVX2 static PP_ALWAYS_INLINE __m256i half_load(const uint8_t *low, const uint8_t *high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                 _mm_loadu_si128((const __m128i *)high), 1);
}

PP_TARGET_AVX2 static PP_ALWAYS_INLINE __m256 half_scale(__m256i pixels, const __m256i *move,
                                                         const __m256 *weight, int taps) {
  __m256 sum = _mm256_setzero_ps();
  for (int t = 0; t < taps; t++) {
    __m256 tap = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, move[t]));
    tap = _mm256_mul_ps(tap, weight[t]);
    sum = t == 0 ? tap : _mm256_add_ps(sum, tap);
  }
  return sum;
}

PP_TARGET_AVX2 static PP_ALWAYS_INLINE void half_round(__m256 sum, uint8_t *dst) {
  __m256i rounded = _mm256_castps_si256(_mm256_add_ps(sum, _mm256_set1_ps(ROUNDER)));
  rounded = _mm256_and_si256(rounded, _mm256_set1_epi32(0xFF));
  __m128i words =
      _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
  _mm_storel_epi64((__m128i *)dst, _mm_packus_epi16(words, words));
}

PP_TARGET_AVX2 static PP_ALWAYS_INLINE void half_avx2(const pp_resize *plan, const area_job *job,
                                                      int block, int g, int half, int taps) {
  const pp_resize_group *group = plan->group + g;
  const area_term *term = job->term + job->first_term[block];
  int low = group->source + 4 * (int)group->permute[8 * half];
  int high = group->source + 4 * (int)group->permute[8 * half + 4];
  __m256i move[PP_RESIZE_GROUP_TAPS];
  __m256 weight[PP_RESIZE_GROUP_TAPS];
  for (int t = 0; t < taps; t++) {
    size_t cell = (((size_t)g * (size_t)taps + (size_t)t) * 2 + (size_t)half) * 8;
    move[t] = _mm256_loadu_si256((const __m256i *)(plan->group_shuffle + 4 * cell));
    weight[t] = _mm256_loadu_ps(plan->group_weight + cell);
  }
  __m256 scaled = _mm256_setzero_ps();
  for (int o = block * BLOCK; o < block_end(job, block); o++) {
    __m256 sum = _mm256_setzero_ps();
    for (int t = 0; t < job->output[o].terms; t++, term++) {
      if (term->fresh) {
        scaled = half_scale(half_load(term->row + low, term->row + high), move, weight, taps);
      }
      sum = _mm256_add_ps(sum, _mm256_mul_ps(scaled, _mm256_set1_ps(term->weight)));
    }
    half_round(sum, job->output[o].dst + group->column + 8 * half);
  }
}

/* A constant number of taps lets the compiler keep the tables in registers; 84 columns take
 * three. */
PP_TARGET_AVX2 static void area_avx2(const pp_resize *plan, const area_job *job) {
  for (int block = 0; block * BLOCK < job->outputs; block++) {
    for (int part = 0; part < 2 * plan->groups; part++) {
      if (plan->x.taps == 3) {
        half_avx2(plan, job, block, part / 2, part % 2, 3);
      } else {
        half_avx2(plan, job, block, part / 2, part % 2, plan->x.taps);
      }
    }
  }
}

PP_TARGET_AVX512 static PP_ALWAYS_INLINE __m512 group_scale(__m512i pixels, const __m512i *move,
                                                            const __m512 *weight, int taps) {
  __m512 sum = _mm512_setzero_ps();
  for (int t = 0; t < taps; t++) {
    __m512 tap = _mm512_cvtepi32_ps(_mm512_shuffle_epi8(pixels, move[t]));
    tap = _mm512_mul_ps(tap, weight[t]);
    sum = t == 0 ? tap : _mm512_add_ps(sum, tap);
  }
  return sum;
}

PP_TARGET_AVX512 static PP_ALWAYS_INLINE void group_avx512(const pp_resize *plan,
                                                           const area_job *job, int block, int g,
                                                           int taps) {
  const pp_resize_group *group = plan->group + g;
  const area_term *term = job->term + job->first_term[block];
  __m512i permute = _mm512_loadu_si512(group->permute);
  __m512i move[PP_RESIZE_GROUP_TAPS];
  __m512 weight[PP_RESIZE_GROUP_TAPS];
  for (int t = 0; t < taps; t++) {
    size_t cell = ((size_t)g * (size_t)taps + (size_t)t) * 16;
    move[t] = _mm512_loadu_si512(plan->group_shuffle + 4 * cell);
    weight[t] = _mm512_loadu_ps(plan->group_weight + cell);
  }
  __m512 scaled = _mm512_setzero_ps();
  for (int o = block * BLOCK; o < block_end(job, block); o++) {
    __m512 sum = _mm512_setzero_ps();
    for (int t = 0; t < job->output[o].terms; t++, term++) {
      if (term->fresh) {
        __m512i pixels = _mm512_loadu_si512(term->row + group->source);
        pixels = _mm512_permutexvar_epi32(permute, pixels);
        scaled = group_scale(pixels, move, weight, taps);
      }
      sum = _mm512_add_ps(sum, _mm512_mul_ps(scaled, _mm512_set1_ps(term->weight)));
    }
    __m512i rounded = _mm512_castps_si512(_mm512_add_ps(sum, _mm512_set1_ps(ROUNDER)));
    _mm_storeu_si128((__m128i *)(job->output[o].dst + group->column),
                     _mm512_cvtepi32_epi8(rounded));
  }
}

PP_TARGET_AVX512 static void area_avx512(const pp_resize *plan, const area_job *job) {
  for (int block = 0; block * BLOCK < job->outputs; block++) {
    for (int g = 0; g < plan->groups; g++) {
      if (plan->x.taps == 3) {
        group_avx512(plan, job, block, g, 3);
      } else {
        group_avx512(plan, job, block, g, plan->x.taps);
      }
    }
  }
}

#endif

static void apply_area(const pp_resize *plan, const uint8_t *src, const uint8_t *run,
                       const pp_resize_rows *rows, uint8_t *dst) {
  area_job job;
  job_fill(&job, plan, src, run, rows, dst);
#if PP_ISA_X86
  if (plan->groups && plan->isa == PP_ISA_AVX512) {
    area_avx512(plan, &job);
    return;
  }
  if (plan->groups && plan->isa == PP_ISA_AVX2) {
    area_avx2(plan, &job);
    return;
  }
#endif
  area_generic(plan, &job);
}

/* ----------------------------------------------------------------------------- block means -- */

static void mean_row(const pp_resize *plan, const uint32_t *columns, uint8_t *dst) {
  int block_w = plan->x.taps;
  int block = block_w * plan->y.taps;
  float inverse = (float)(1.0 / block);
  bool two_by_two = block_w == 2 && plan->y.taps == 2;
  for (int d = 0; d < plan->x.dst; d++) {
    uint32_t sum = 0;
    for (int t = 0; t < block_w; t++) {
      sum += columns[d * block_w + t];
    }
    // OpenCV rounds 2x2 blocks up at the half, all others half to even
    dst[d] = two_by_two ? (uint8_t)((sum + 2) >> 2) : round_even((float)sum * inverse);
  }
}

static void apply_mean(const pp_resize *plan, const uint8_t *src, const uint8_t *run,
                       const pp_resize_rows *rows, uint8_t *dst) {
  uint32_t columns[PP_RESIZE_MAX_SOURCE];
  const pp_resize_axis *y = &plan->y;
  int width = plan->x.src;
  for (int i = 0; i < rows->count; i++) {
    const int d = rows->row[i];
    memset(columns, 0, sizeof(columns));
    for (int t = 0; t < y->taps; t++) {
      const uint8_t *row = src + (size_t)run_of(run, d * y->taps + t) * (size_t)width;
      for (int x = 0; x < width; x++) {
        columns[x] += row[x];
      }
    }
    mean_row(plan, columns, dst + (size_t)d * (size_t)plan->x.dst);
  }
}

/* ----------------------------------------------------------------- two taps in fixed point -- */

static void linear_row(const pp_resize_axis *x, const uint8_t *src, int32_t *dst) {
  for (int d = 0; d < x->dst; d++) {
    dst[d] = src[x->index[2 * d]] * x->coef[2 * d] + src[x->index[2 * d + 1]] * x->coef[2 * d + 1];
  }
}

/* Drops bits where OpenCV's 16-bit vertical pass drops them. */
static void linear_blend(const int32_t *restrict top, const int32_t *restrict bottom,
                         const int32_t *coef, int width, uint8_t *restrict dst) {
  for (int d = 0; d < width; d++) {
    int32_t sum = (((top[d] >> 4) * coef[0]) >> 16) + (((bottom[d] >> 4) * coef[1]) >> 16);
    dst[d] = (uint8_t)((sum + 2) >> 2);
  }
}

static void apply_linear(const pp_resize *plan, const uint8_t *src, const uint8_t *run,
                         const pp_resize_rows *rows, uint8_t *dst) {
  int32_t scaled[2][PP_RESIZE_MAX_SIDE];
  int have[2] = {NO_ROW, NO_ROW};
  const pp_resize_axis *y = &plan->y;
  for (int i = 0; i < rows->count; i++) {
    const int d = rows->row[i];
    // neighbouring rows sit in slots of different parity; a repeated row may sit in both
    const int32_t *taps[2];
    for (int t = 0; t < 2; t++) {
      int source = y->index[2 * d + t];
      int need = run_of(run, source);
      int slot = source & 1;
      if (have[slot] != need) {
        linear_row(&plan->x, src + (size_t)need * (size_t)plan->x.src, scaled[slot]);
        have[slot] = need;
      }
      taps[t] = scaled[slot];
    }
    linear_blend(taps[0], taps[1], y->coef + 2 * d, plan->x.dst,
                 dst + (size_t)d * (size_t)plan->x.dst);
  }
}

static void apply_copy(const pp_resize *plan, const uint8_t *src, const uint8_t *run,
                       const pp_resize_rows *rows, uint8_t *dst) {
  size_t bytes = (size_t)plan->x.dst;
  for (int i = 0; i < rows->count; i++) {
    const int y = rows->row[i];
    memcpy(dst + (size_t)y * bytes, src + (size_t)run_of(run, y) * bytes, bytes);
  }
}

void pp_resize_apply(const pp_resize *plan, const uint8_t *src, const uint8_t *run,
                     const pp_resize_rows *rows, uint8_t *dst) {
  pp_resize_rows all;
  if (!rows) {
    pp_resize_find_rows(plan, NULL, &all);
    rows = &all;
  }
  if (plan->kind == PP_RESIZE_COPY) {
    apply_copy(plan, src, run, rows, dst);
    return;
  }
  uint16_t origin[PP_RESIZE_MAX_SIDE];
  pp_resize_rows own;
  find_origins(plan, run, rows, origin, &own);
  if (plan->kind == PP_RESIZE_AREA) {
    apply_area(plan, src, run, &own, dst);
  } else if (plan->kind == PP_RESIZE_MEAN) {
    apply_mean(plan, src, run, &own, dst);
  } else {
    apply_linear(plan, src, run, &own, dst);
  }
  fill_repeats(plan, rows, origin, dst);
}
