/* Screen: makes frames from screens: palette look-up, pooling of two screens, resizing.
 *
 * Most rows of a game's picture repeat the row above. Those are found first, by comparing palette
 * indices; look-up and resize then work on one row of each stretch. Rows of a frame that depend on
 * no row of the screens that has changed are taken from an earlier frame. */
#include "screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if PP_ISA_X86
#include <immintrin.h>
#endif

enum { WIDTH = PP_SCREEN_WIDTH };

/* Looks up one row of `last`, or the larger value of two rows where `before` is not NULL. */
typedef void row_shader(const uint8_t *last, const uint8_t *before, const uint8_t *table,
                        uint8_t *out);

/* Compares rows top .. end - 1 with the rows above them, and two screens, which may be the same. */
typedef void row_comparer(const uint8_t *last, const uint8_t *before, int top, int end,
                          uint8_t *known);

/* -------------------------------------------------------------------------------- creation -- */

/* Rounds half away from zero, in double, as ALE makes its gray palette. */
static uint8_t luminance(const uint8_t color[3]) {
  return (uint8_t)round(0.2989 * color[0] + 0.5870 * color[1] + 0.1140 * color[2]);
}

/* returns whether odd indices have other colours than the even ones; on NTSC they never occur */
static bool has_odd(const uint8_t (*palette)[3]) {
  for (int i = 0; i < 256; i += 2) {
    if (memcmp(palette[i], palette[i + 1], 3) != 0) return true;
  }
  return false;
}

/* ALE stores a gray after each colour, and reads the gray of an odd index from the next colour's
 * blue. After the last colour there is none. */
static uint8_t gray_of(const uint8_t (*palette)[3], int index, bool odd) {
  if (!odd || index % 2 == 0) return luminance(palette[index]);
  return index < 255 ? palette[index + 1][2] : 0;
}

static void fill_tables(pp_screen *screen, const uint8_t (*palette)[3]) {
  screen->odd = has_odd(palette);
  for (int i = 0; i < 256; i++) {
    if (screen->planes == 1) {
      screen->table[0][i] = gray_of(palette, i, screen->odd);
      continue;
    }
    for (int plane = 0; plane < screen->planes; plane++) {
      screen->table[plane][i] = palette[i][plane];
    }
  }
}

pp_screen *pp_screen_create(const pp_screen_options *options) {
  if (options->rows < 1 || options->rows > PP_SCREEN_MAX_ROWS) {
    return NULL;
  }
  pp_screen *screen = calloc(1, sizeof(*screen));
  if (!screen) {
    return NULL;
  }
  screen->isa = pp_isa_limit(options->isa);
  screen->rows = options->rows;
  screen->planes = options->gray ? 1 : 3;
  screen->frame_bytes = (size_t)screen->planes * (size_t)options->height * (size_t)options->width;
  screen->resize = pp_resize_create(options->rows, WIDTH, options->height, options->width,
                                    options->area, screen->isa);
  if (!screen->resize) {
    pp_screen_destroy(screen);
    return NULL;
  }
  fill_tables(screen, options->palette);
  return screen;
}

void pp_screen_destroy(pp_screen *screen) {
  if (screen) {
    pp_resize_destroy(screen->resize);
    free(screen);
  }
}

/* --------------------------------------------------------------------------- repeated rows -- */

/* what is known of a row */
enum {
  REPEATS = 1, /* it equals the row above it, in both screens */
  MOVED = 2,   /* it is not the same in both screens; means nothing if it repeats */
};

/* Without branches, so that the compiler turns it into a few vector operations. */
static PP_ALWAYS_INLINE bool row_equals(const uint8_t *a, const uint8_t *b) {
  uint64_t differ = 0;
  for (int i = 0; i < WIDTH; i += 8) {
    uint64_t x, y;
    memcpy(&x, a + i, 8);
    memcpy(&y, b + i, 8);
    differ |= x ^ y;
  }
  return differ == 0;
}

static PP_ALWAYS_INLINE bool row_is_odd(const uint8_t *row) {
  uint64_t bits = 0;
  for (int i = 0; i < WIDTH; i += 8) {
    uint64_t x;
    memcpy(&x, row + i, 8);
    bits |= x;
  }
  return (bits & 0x0101010101010101u) != 0;
}

/* Compares the rows top .. end - 1. The first of them does not count as a repeat. */
static PP_ALWAYS_INLINE void compare_plain(const uint8_t *last, const uint8_t *before, int top,
                                           int end, uint8_t *known) {
  for (int y = top; y < end; y++) {
    const uint8_t *row = last + y * WIDTH, *other = before + y * WIDTH;
    bool repeats = y > top && row_equals(row, row - WIDTH);
    if (repeats && before != last) repeats = row_equals(other, other - WIDTH);
    bool moved = !repeats && before != last && !row_equals(row, other);
    known[y] = (uint8_t)((repeats ? REPEATS : 0) | (moved ? MOVED : 0));
  }
}

#if PP_ISA_X86

/* a row of 160 bytes; the last 64 of them overlap the others */
typedef struct row_avx512 {
  __m512i part[3];
} row_avx512;

PP_TARGET_AVX512 static PP_ALWAYS_INLINE row_avx512 load_row(const uint8_t *row) {
  return (row_avx512){{_mm512_loadu_si512(row), _mm512_loadu_si512(row + 64),
                       _mm512_loadu_si512(row + WIDTH - 64)}};
}

PP_TARGET_AVX512 static PP_ALWAYS_INLINE __m512i differ_avx512(row_avx512 a, row_avx512 b) {
  __m512i differ = _mm512_xor_si512(a.part[0], b.part[0]);
  differ = _mm512_or_si512(differ, _mm512_xor_si512(a.part[1], b.part[1]));
  return _mm512_or_si512(differ, _mm512_xor_si512(a.part[2], b.part[2]));
}

/* Loads each row once. */
PP_TARGET_AVX512 static PP_ALWAYS_INLINE void compare_avx512(const uint8_t *last,
                                                             const uint8_t *before, int top,
                                                             int end, uint8_t *known) {
  row_avx512 above = load_row(last + top * WIDTH), other_above = load_row(before + top * WIDTH);
  for (int y = top; y < end; y++) {
    const row_avx512 row = load_row(last + y * WIDTH), other = load_row(before + y * WIDTH);
    const __m512i moved = differ_avx512(row, other);
    const __m512i differ =
        _mm512_or_si512(differ_avx512(row, above), differ_avx512(other, other_above));
    known[y] = (uint8_t)((_mm512_test_epi64_mask(differ, differ) ? 0 : REPEATS) |
                         (_mm512_test_epi64_mask(moved, moved) ? MOVED : 0));
    above = row;
    other_above = other;
  }
  known[top] &= (uint8_t)~REPEATS;
}

#endif

/* rows of the screens from which a frame is made */
typedef struct sources {
  uint8_t known[PP_SCREEN_MAX_ROWS];
  /* first row of the stretch of equal rows; itself if not needed */
  uint8_t run[PP_SCREEN_MAX_ROWS];
  uint8_t first[PP_SCREEN_MAX_ROWS]; /* the first rows of all stretches */
  int count;
} sources;

/* Adds the rows top .. end - 1, which have been compared. */
static PP_ALWAYS_INLINE void add_sources(sources *found, int top, int end) {
  int first = top, count = found->count;
  for (int y = top; y < end; y++) {
    // no branch depends on the picture
    const bool repeats = found->known[y] & REPEATS;
    first = repeats ? first : y;
    found->run[y] = (uint8_t)first;
    found->first[count] = (uint8_t)y;
    count += !repeats;
  }
  found->count = count;
}

/* Finds the stretches of equal rows, among those that the output rows read. */
static PP_ALWAYS_INLINE void find_sources(const pp_resize *resize, const pp_resize_rows *rows,
                                          const uint8_t *last, const uint8_t *before,
                                          row_comparer *compare, sources *found) {
  found->count = 0;
  for (int y = 0; y < PP_SCREEN_MAX_ROWS; y++) {
    found->run[y] = (uint8_t)y;
  }
  for (int i = 0; i < rows->count;) {
    const int top = pp_resize_top(resize, rows->row[i]);
    int end;
    // Neighbouring output rows may share source rows, or leave out some between them. Those are
    // compared, too, as stretches may go on beyond them.
    do {
      end = pp_resize_bottom(resize, rows->row[i]) + 1;
      i++;
    } while (i < rows->count &&
             (rows->row[i] == rows->row[i - 1] + 1 || pp_resize_top(resize, rows->row[i]) <= end));
    compare(last, before, top, end, found->known);
    add_sources(found, top, end);
  }
}

/* --------------------------------------------------------------------- look-up and pooling -- */

static void shade_plain(const uint8_t *last, const uint8_t *before, const uint8_t *table,
                        uint8_t *out) {
  for (int i = 0; i < WIDTH; i++) {
    out[i] = table[last[i]];
  }
  for (int i = 0; before && i < WIDTH; i++) {
    uint8_t other = table[before[i]];
    out[i] = other > out[i] ? other : out[i];
  }
}

#if PP_ISA_X86

/* The vector variants drop bit 0 of an index, so 128 entries are left. */

/* Eight tables of 16 entries: a shuffle yields zero for all pixels but those of its own table,
 * because the saturating addition lifts their indices to 0x80 or more. */
PP_TARGET_AVX2 static PP_ALWAYS_INLINE __m256i lookup_avx2(__m256i index, const __m256i *tables) {
  __m256i found = _mm256_setzero_si256();
  index = _mm256_and_si256(_mm256_srli_epi16(index, 1), _mm256_set1_epi8(0x7F));
  for (int t = 0; t < 8; t++) {
    __m256i move = _mm256_xor_si256(index, _mm256_set1_epi8((char)(16 * t)));
    move = _mm256_adds_epu8(move, _mm256_set1_epi8(0x70));
    found = _mm256_or_si256(found, _mm256_shuffle_epi8(tables[t], move));
  }
  return found;
}

PP_TARGET_AVX2 static void shade_avx2(const uint8_t *last, const uint8_t *before,
                                      const uint8_t *table, uint8_t *out) {
  __m256i tables[8];
  for (int t = 0; t < 8; t++) {
    // gather the even entries of 32: packing keeps the low byte of each pair
    __m128i low = _mm_loadu_si128((const __m128i *)(table + 32 * t));
    __m128i high = _mm_loadu_si128((const __m128i *)(table + 32 * t + 16));
    low = _mm_and_si128(low, _mm_set1_epi16(0xFF));
    high = _mm_and_si128(high, _mm_set1_epi16(0xFF));
    tables[t] = _mm256_broadcastsi128_si256(_mm_packus_epi16(low, high));
  }
  for (int i = 0; i < WIDTH; i += 32) {
    __m256i found = lookup_avx2(_mm256_loadu_si256((const __m256i *)(last + i)), tables);
    if (before) {
      __m256i index = _mm256_loadu_si256((const __m256i *)(before + i));
      found = _mm256_max_epu8(found, lookup_avx2(index, tables));
    }
    _mm256_storeu_si256((__m256i *)(out + i), found);
  }
}

/* The 128 entries fill two registers as 64 pairs. Bits 2..7 of an index choose its pair, bit 1 the
 * half. Pixels at even and odd positions are looked up separately, as the permutation works on
 * 16-bit words. */
PP_TARGET_AVX512 static PP_ALWAYS_INLINE __m512i lookup_avx512(__m512i index, __m512i pairs_low,
                                                               __m512i pairs_high) {
  __mmask32 upper_even = _mm512_test_epi16_mask(index, _mm512_set1_epi16(0x0002));
  __mmask32 lower_odd = _mm512_testn_epi16_mask(index, _mm512_set1_epi16(0x0200));
  __m512i even = _mm512_srli_epi16(index, 2);
  __m512i odd = _mm512_srli_epi16(index, 10);
  even = _mm512_permutex2var_epi16(pairs_low, even, pairs_high);
  odd = _mm512_permutex2var_epi16(pairs_low, odd, pairs_high);
  even = _mm512_mask_srli_epi16(even, upper_even, even, 8);
  odd = _mm512_mask_slli_epi16(odd, lower_odd, odd, 8);
  return _mm512_mask_blend_epi8(0xAAAAAAAAAAAAAAAAull, even, odd);
}

PP_TARGET_AVX512 static void shade_avx512(const uint8_t *last, const uint8_t *before,
                                          const uint8_t *table, uint8_t *out) {
  // the even entries of each half of the table: truncating words to bytes drops the odd ones
  __m256i quarter[4];
  for (int q = 0; q < 4; q++) {
    quarter[q] = _mm512_cvtepi16_epi8(_mm512_loadu_si512(table + 64 * q));
  }
  __m512i low = _mm512_inserti64x4(_mm512_castsi256_si512(quarter[0]), quarter[1], 1);
  __m512i high = _mm512_inserti64x4(_mm512_castsi256_si512(quarter[2]), quarter[3], 1);
  // 160 = 64 + 64 + 32: the last step overlaps
  static const int at[3] = {0, 64, WIDTH - 64};
  for (int i = 0; i < 3; i++) {
    __m512i found = lookup_avx512(_mm512_loadu_si512(last + at[i]), low, high);
    if (before) {
      __m512i index = _mm512_loadu_si512(before + at[i]);
      found = _mm512_max_epu8(found, lookup_avx512(index, low, high));
    }
    _mm512_storeu_si512(out + at[i], found);
  }
}

#endif

/* ---------------------------------------------------------------------------------- frames -- */

/* Copies the rows of an earlier frame's plane that are between those to be written. */
static void copy_others(const pp_resize *resize, const pp_resize_rows *rows, const uint8_t *earlier,
                        uint8_t *plane) {
  const size_t width = (size_t)resize->x.dst;
  for (int i = 0, next = 0; i <= rows->count; i++) {
    const int end = i < rows->count ? rows->row[i] : resize->y.dst;
    const size_t at = (size_t)next * width, bytes = (size_t)(end - next) * width;
    if (bytes) memcpy(plane + at, earlier + at, bytes);
    next = end + 1;
  }
}

static PP_ALWAYS_INLINE void frame_body(const pp_screen *screen, const uint8_t *last,
                                        const uint8_t *before, const pp_screen_past *past,
                                        uint8_t *frame, row_shader *shade, row_comparer *compare) {
  uint8_t picture[PP_SCREEN_MAX_ROWS * WIDTH];
  pp_resize_rows rows;
  sources found;
  pp_resize_find_rows(screen->resize, past ? past->changed : NULL, &rows);
  find_sources(screen->resize, &rows, last, before ? before : last, compare, &found);
  const size_t plane_bytes = screen->frame_bytes / (size_t)screen->planes;
  for (int plane = 0; plane < screen->planes; plane++) {
    const size_t at = (size_t)plane * plane_bytes;
    for (int i = 0; i < found.count; i++) {
      const int y = found.first[i];
      // a row that did not move needs no pooling
      const uint8_t *row = last + y * WIDTH;
      const uint8_t *other = found.known[y] & MOVED ? before + y * WIDTH : NULL;
      bool odd = screen->odd && (row_is_odd(row) || (other && row_is_odd(other)));
      (odd ? shade_plain : shade)(row, other, screen->table[plane], picture + y * WIDTH);
    }
    if (past && past->frame != frame) {
      copy_others(screen->resize, &rows, past->frame + at, frame + at);
    }
    pp_resize_apply(screen->resize, picture, found.run, &rows, frame + at);
  }
}

static void frame_generic(const pp_screen *screen, const uint8_t *last, const uint8_t *before,
                          const pp_screen_past *past, uint8_t *frame) {
  frame_body(screen, last, before, past, frame, shade_plain, compare_plain);
}

#if PP_ISA_X86
PP_TARGET_AVX2 static void frame_avx2(const pp_screen *screen, const uint8_t *last,
                                      const uint8_t *before, const pp_screen_past *past,
                                      uint8_t *frame) {
  frame_body(screen, last, before, past, frame, shade_avx2, compare_plain);
}

PP_TARGET_AVX512 static void frame_avx512(const pp_screen *screen, const uint8_t *last,
                                          const uint8_t *before, const pp_screen_past *past,
                                          uint8_t *frame) {
  frame_body(screen, last, before, past, frame, shade_avx512, compare_avx512);
}
#endif

void pp_screen_frame(const pp_screen *screen, const uint8_t *last, const uint8_t *before,
                     const pp_screen_past *past, uint8_t *frame) {
#if PP_ISA_X86
  if (screen->isa == PP_ISA_AVX512) {
    frame_avx512(screen, last, before, past, frame);
    return;
  }
  if (screen->isa == PP_ISA_AVX2) {
    frame_avx2(screen, last, before, past, frame);
    return;
  }
#endif
  frame_generic(screen, last, before, past, frame);
}
