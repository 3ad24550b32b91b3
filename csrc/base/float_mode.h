/* The floating-point mode of the calling thread: rounding, and what becomes of denormal numbers. */
#ifndef PP_BASE_FLOAT_MODE_H
#define PP_BASE_FLOAT_MODE_H

/* x86-64 and aarch64 keep the mode in one register, which costs a nanosecond or two to read; C's
 * own functions also save the x87 unit, which takes 30 ns each. */
#if defined(__x86_64__)
#include <xmmintrin.h>

typedef unsigned int pp_float_mode;
#define PP_FLOAT_MODE_DEFAULT 0x1f80u /* all exceptions masked, nearest, denormals kept */

static inline pp_float_mode pp_float_mode_get(void) {
  return _mm_getcsr() & ~0x3fu; /* without the flags of exceptions that have occurred */
}

static inline void pp_float_mode_set(pp_float_mode mode) {
  _mm_setcsr(mode);
}
#elif defined(__aarch64__)
#include <stdint.h>

typedef uint64_t pp_float_mode;
#define PP_FLOAT_MODE_DEFAULT ((pp_float_mode)0)

static inline pp_float_mode pp_float_mode_get(void) {
  pp_float_mode mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}

static inline void pp_float_mode_set(pp_float_mode mode) {
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else /* of other processors the mode is left as it is */
typedef int pp_float_mode;
#define PP_FLOAT_MODE_DEFAULT 0

static inline pp_float_mode pp_float_mode_get(void) {
  return PP_FLOAT_MODE_DEFAULT;
}

static inline void pp_float_mode_set(pp_float_mode mode) {
  (void)mode;
}
#endif

/* Sets the default mode; returns the one before, for pp_float_mode_restore. */
static inline pp_float_mode pp_float_mode_reset(void) {
  pp_float_mode before = pp_float_mode_get();
  if (before != PP_FLOAT_MODE_DEFAULT) pp_float_mode_set(PP_FLOAT_MODE_DEFAULT);
  return before;
}

static inline void pp_float_mode_restore(pp_float_mode before) {
  if (before != PP_FLOAT_MODE_DEFAULT) pp_float_mode_set(before);
}

#endif
