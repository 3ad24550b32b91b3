/* Mask: sets of a line's pixels: `mask`, in one register with AVX2, otherwise in three words.
 *
 * Included by tia.inl, which may be compiled for several processors in one library; all functions
 * are static. In memory a mask is a pp_mask (machine.h). Bits past pixel 159 are zero. */

#if defined(__AVX2__)
#include <immintrin.h>

typedef __m256i mask;

static inline mask mask_load(const pp_mask *from) {
  return _mm256_loadu_si256((const __m256i *)from);
}

static inline void mask_store(pp_mask *to, mask m) {
  _mm256_storeu_si256((__m256i *)to, m);
}

static inline mask mask_of(uint64_t word0, uint64_t word1, uint64_t word2) {
  return _mm256_set_epi64x(0, (long long)word2, (long long)word1, (long long)word0);
}

static inline mask mask_and(mask a, mask b) {
  return _mm256_and_si256(a, b);
}

static inline mask mask_or(mask a, mask b) {
  return _mm256_or_si256(a, b);
}

static inline bool mask_meet(mask a, mask b) {
  return !_mm256_testz_si256(a, b);
}

/* the first x pixels; a shift by more than 63 gives zero */
static inline mask mask_below(int x) {
  const __m256i ends = _mm256_setr_epi64x(64, 128, 192, 256);
  __m256i missing = _mm256_subs_epu16(ends, _mm256_set1_epi64x(x));
  return _mm256_srlv_epi64(_mm256_set1_epi64x(-1), missing);
}

/* pixels from..to-1 */
static inline mask mask_span(int from, int to) {
  return _mm256_andnot_si256(mask_below(from), mask_below(to));
}

/* a pattern of up to 32 pixels at pixel x (0..159) of a line that wraps around */
static inline mask mask_place(uint64_t pattern, int x) {
  const __m256i starts = _mm256_setr_epi64x(0, 64, 128, 192);
  // of the next line only the first word can be reached
  const __m256i next = _mm256_setr_epi64x(PP_LINE_PIXELS, 1 << 16, 1 << 16, 1 << 16);
  const __m256i line = _mm256_setr_epi64x(-1, -1, UINT32_MAX, 0);
  __m256i bits = _mm256_set1_epi64x((long long)pattern), at = _mm256_set1_epi64x(x);
  __m256i up = _mm256_sllv_epi64(bits, _mm256_sub_epi64(at, starts));
  __m256i down = _mm256_srlv_epi64(bits, _mm256_sub_epi64(starts, at));
  __m256i wrapped = _mm256_srlv_epi64(bits, _mm256_sub_epi64(next, at));
  return mask_or(mask_and(mask_or(up, down), line), wrapped);
}

#else

typedef pp_mask mask;

static inline mask mask_load(const pp_mask *from) {
  return *from;
}

static inline void mask_store(pp_mask *to, mask m) {
  *to = m;
}

static inline mask mask_of(uint64_t word0, uint64_t word1, uint64_t word2) {
  return (mask){{word0, word1, word2, 0}};
}

static inline mask mask_and(mask a, mask b) {
  return mask_of(a.word[0] & b.word[0], a.word[1] & b.word[1], a.word[2] & b.word[2]);
}

static inline mask mask_or(mask a, mask b) {
  return mask_of(a.word[0] | b.word[0], a.word[1] | b.word[1], a.word[2] | b.word[2]);
}

static inline bool mask_meet(mask a, mask b) {
  mask both = mask_and(a, b);
  return (both.word[0] | both.word[1] | both.word[2]) != 0;
}

/* the first `count` bits of a word */
static inline uint64_t low_bits(int count) {
  if (count <= 0) return 0;
  return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

/* pixels from..to-1 */
static inline mask mask_span(int from, int to) {
  return mask_of(low_bits(to) & ~low_bits(from), low_bits(to - 64) & ~low_bits(from - 64),
                 low_bits(to - 128) & ~low_bits(from - 128));
}

/* a pattern of up to 32 pixels at pixel x (0..159) of a line that wraps around */
static inline mask mask_place(uint64_t pattern, int x) {
  int shift = x & 63;
  uint64_t low = pattern << shift, high = pattern >> 1 >> (63 - shift);
  if (x < 64) return mask_of(low, high, 0);
  if (x < 128) return mask_of(high >> 32, low, high & UINT32_MAX);
  return mask_of(low >> 32, 0, low & UINT32_MAX);
}

#endif

static inline mask mask_none(void) {
  return mask_of(0, 0, 0);
}

static inline bool mask_any(mask m) {
  return mask_meet(m, m);
}
