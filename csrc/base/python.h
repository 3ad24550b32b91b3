/* Python: what environments that are translated from Python compute with: CPython's and NumPy's
 * rules for numbers of 64 bits, random draws, memory for a call, and exceptions.
 *
 * An int of CPython has no bound. One that leaves 64 bits is an OverflowError here, never another
 * number. The arithmetic is that of CPython 3.11 to 3.14 and of NumPy 1.26 to 2.4. */
#ifndef PP_BASE_PYTHON_H
#define PP_BASE_PYTHON_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "pp_env.h"

/* ------------------------------------------------------------------------------------- call -- */

/* of memory in a call; calls that may be recursive (CPython's limit is 1,000, too, unless a program
 * sets another), and what they may take of a thread's stack */
enum { PP_PYTHON_STACK = 2048, PP_PYTHON_DEPTH = 1000, PP_PYTHON_FRAMES = 4 << 20 };

/* memory of a call beyond its first bytes */
typedef struct pp_python_chunk {
  struct pp_python_chunk *next;
  char bytes[];
} pp_python_chunk;

/* one call of an environment's method */
typedef struct pp_python {
  pp_error *error;
  pp_rng *rng;
  const char *file;
  int32_t raised; /* index of the exception's class in the program's table; -1: none */
  int32_t depth;  /* depth of calls that may be recursive */
  char *deepest;  /* where the first of these calls began on the stack */
  size_t used;    /* bytes in use of memory, which is stack or the first chunk */
  size_t size;
  char *memory;
  pp_python_chunk *chunks;
  char stack[PP_PYTHON_STACK] __attribute__((aligned(16)));
} pp_python;

static inline void pp_python_begin(pp_python *c, pp_error *error, pp_rng *rng, const char *file) {
  c->error = error;
  c->rng = rng;
  c->file = file;
  c->raised = -1;
  c->depth = 0;
  c->used = 0;
  c->size = PP_PYTHON_STACK;
  c->memory = c->stack;
  c->chunks = NULL;
}

static inline void pp_python_end(pp_python *c) {
  while (__builtin_expect(c->chunks != NULL, 0)) {
    pp_python_chunk *next = c->chunks->next;
    free(c->chunks);
    c->chunks = next;
  }
}

/* Ends a call, and begins the next one with the same error and file. */
static inline void pp_python_again(pp_python *c, pp_rng *rng) {
  pp_python_end(c);
  c->rng = rng;
  if (c->used) {
    c->used = 0;
    c->size = PP_PYTHON_STACK;
    c->memory = c->stack;
  }
}

/* Notes a call that may be recursive. Returns whether it is too deep. */
static inline bool pp_python_is_deep(pp_python *c) {
  char *here = (char *)__builtin_frame_address(0);
  if (!c->depth) c->deepest = here;
  return ++c->depth >= PP_PYTHON_DEPTH || c->deepest - here > PP_PYTHON_FRAMES;
}

/* Returns a product, or SIZE_MAX if it is greater: no memory has that size. */
static inline size_t pp_python_times(int64_t count, size_t size) {
  return __builtin_mul_overflow((size_t)count, size, &size) ? SIZE_MAX : size;
}

/* Returns memory until the end of the call, or null. */
static inline void *pp_python_memory(pp_python *c, size_t bytes) {
  if (__builtin_expect(bytes > PTRDIFF_MAX / 2, 0)) return NULL;
  bytes = (bytes + 15) & ~(size_t)15;
  if (__builtin_expect(bytes > c->size - c->used, 0)) {
    size_t size = bytes > 65536 ? bytes : 65536;
    pp_python_chunk *chunk = (pp_python_chunk *)malloc(sizeof(*chunk) + size);
    if (!chunk) return NULL;
    chunk->next = c->chunks;
    c->chunks = chunk;
    c->memory = chunk->bytes;
    c->size = size;
    c->used = 0;
  }
  void *found = c->memory + c->used;
  c->used += bytes;
  return found;
}

/* Frees what a variable points to that holds a large array of a function, when that ends. */
__attribute__((unused)) static inline void pp_python_release(void *variable) {
  free(*(void **)variable);
}

/* Writes an exception; returns the status of a call that raises it. */
__attribute__((format(printf, 5, 6), cold, noinline, unused)) static int pp_python_raise(
    pp_python *c, int32_t raised, const char *name, int line, const char *format, ...) {
  char *text = c->error->text;
  size_t size = sizeof(c->error->text);
  va_list arguments;
  c->raised = raised;
  snprintf(text, size, "%s", name);
  va_start(arguments, format);
  if (*format) {
    snprintf(text + strlen(text), size - strlen(text), ": ");
    vsnprintf(text + strlen(text), size - strlen(text), format, arguments);
  }
  va_end(arguments);
  snprintf(text + strlen(text), size - strlen(text), " (%s, line %d)", c->file, line);
  return PP_ERR_ENV;
}

/* -------------------------------------------------------------------------- reset options -- */

/* Returns whether a caller gave one of the options of a reset; values may be null. */
static inline bool pp_python_has_options(const pp_value *values, int count) {
  bool found = false;
  for (int i = 0; values && i < count; i++) found |= values[i].given;
  return found;
}

/* --------------------------------------------------------------------------------- integers -- */

/* b is not 0, and the quotient fits */
static inline int64_t pp_python_floordiv(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t pp_python_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t rest = a % b;
  return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* NumPy's: 0 for a division by 0, and the quotient wraps */
static inline int64_t pp_numpy_floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  return pp_python_floordiv(a, b);
}

static inline int64_t pp_numpy_mod(int64_t a, int64_t b) {
  return b == 0 ? 0 : pp_python_mod(a, b);
}

/* Returns a / b of ints that a double can't hold, rounded once; b is not 0. */
__attribute__((cold, noinline, unused)) static double pp_python_divide_long(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  double sign = (a < 0) != (b < 0) ? -1.0 : 1.0;
  if (!x) return sign * 0.0;
  // a quotient of so many bits that its last one can stand for all that are lost
  int shift = 62 - __builtin_clzll(y) + __builtin_clzll(x);
  __extension__ unsigned __int128 wide = (__extension__(unsigned __int128) x)
                                         << (shift > 0 ? shift : 0);
  uint64_t quotient = (uint64_t)(wide / y) | (wide % y != 0);
  return sign * ldexp((double)quotient, shift > 0 ? -shift : 0);
}

/* Returns a / b as CPython divides ints; b is not 0. */
static inline double pp_python_divide(int64_t a, int64_t b) {
  const int64_t exact = INT64_C(1) << 53;
  bool fits = -exact <= a && a <= exact && -exact <= b && b <= exact;
  return __builtin_expect(fits, 1) ? (double)a / (double)b : pp_python_divide_long(a, b);
}

/* Returns a number with the sign of n - x, or NaN: CPython compares without rounding n. */
static inline double pp_python_order(int64_t n, double x) {
  double rounded = (double)n;
  if (rounded != x) return rounded < x ? -1 : rounded > x ? 1 : x;
  if (x >= 0x1p63) return -1;
  return (double)((n > (int64_t)x) - (n < (int64_t)x));
}

/* Returns a number with the sign of n - m. */
static inline int pp_numpy_order(uint64_t n, int64_t m) {
  return m < 0 ? 1 : (n > (uint64_t)m) - (n < (uint64_t)m);
}

/* Returns round(n, digits) of an int, half to even; false if it leaves 64 bits. */
static inline bool pp_python_round_int(int64_t n, int64_t digits, int64_t *rounded) {
  uint64_t unit = 1, x = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  *rounded = n;
  if (digits >= 0) return true;
  *rounded = 0;
  if (digits < -19) return true;
  for (; digits < 0; digits++) unit *= 10;
  uint64_t rest = x % unit, whole = x / unit;
  if (rest > unit - rest || (rest == unit - rest && whole % 2)) whole++;
  if (__builtin_mul_overflow(whole, unit, &x) || x > INT64_MAX) return false;
  *rounded = n < 0 ? -(int64_t)x : (int64_t)x;
  return true;
}

/* Returns how many numbers a range has, at most INT64_MAX; step is not 0. */
static inline int64_t pp_python_range(int64_t start, int64_t stop, int64_t step) {
  bool up = step > 0;
  if (up ? start >= stop : start <= stop) return 0;
  uint64_t distance = up ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
  uint64_t count = (distance - 1) / (up ? (uint64_t)step : 0 - (uint64_t)step) + 1;
  return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

/* Returns whether the power fits; exponent is not negative. */
static inline bool pp_python_pow(int64_t base, int64_t exponent, int64_t *power) {
  *power = 1;
  for (;;) {
    if ((exponent & 1) && __builtin_mul_overflow(*power, base, power)) return false;
    exponent >>= 1;
    if (!exponent) return true;
    if (__builtin_mul_overflow(base, base, &base)) return false;
  }
}

static inline int64_t pp_numpy_pow(int64_t base, int64_t exponent) {
  uint64_t power = 1, factor = (uint64_t)base;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) power *= factor;
    factor *= factor;
  }
  return (int64_t)power;
}

static inline int64_t pp_python_gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return (int64_t)x;
}

/* Returns whether the value fits after the shift; count is not negative. */
static inline bool pp_python_shift(int64_t value, int64_t count, int64_t *shifted) {
  *shifted = 0;
  if (!value) return true;
  if (count > 62) return false;
  *shifted = (int64_t)((uint64_t)value << count);
  return *shifted >> count == value;
}

/* Adds the length to a negative index. Returns whether the index is in the sequence. */
static inline bool pp_python_index(int64_t *index, int64_t length) {
  if (*index < 0) *index += length;
  return 0 <= *index && *index < length;
}

/* Returns a bound of a slice with a positive step. */
static inline int64_t pp_python_bound(int64_t at, int64_t length) {
  if (at < 0) at += length;
  return at < 0 ? 0 : at > length ? length : at;
}

/* ----------------------------------------------------------------------------------- floats -- */

static inline double pp_python_float_mod(double a, double b) {
  double rest = fmod(a, b);
  if (rest) return (b < 0) != (rest < 0) ? rest + b : rest;
  return copysign(0.0, b);
}

static inline double pp_python_float_floordiv(double a, double b) {
  double rest = fmod(a, b), quotient = (a - rest) / b;
  if (rest && (b < 0) != (rest < 0)) quotient -= 1.0;
  if (!quotient) return copysign(0.0, a / b);
  double whole = floor(quotient);
  return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

static inline double pp_numpy_float_mod(double a, double b) {
  return b ? pp_python_float_mod(a, b) : fmod(a, b);
}

static inline double pp_numpy_float_floordiv(double a, double b) {
  return b ? pp_python_float_floordiv(a, b) : a / b;
}

/* the same of float32, each step of which is rounded to float32 */
static inline float pp_numpy_float_mod_float(float a, float b) {
  float rest = fmodf(a, b);
  if (!b) return rest;
  if (rest) return (b < 0) != (rest < 0) ? rest + b : rest;
  return copysignf(0.0f, b);
}

static inline float pp_numpy_float_floordiv_float(float a, float b) {
  if (!b) return a / b;
  float rest = fmodf(a, b), quotient = (a - rest) / b;
  if (rest && (b < 0) != (rest < 0)) quotient -= 1.0f;
  if (!quotient) return copysignf(0.0f, a / b);
  float whole = floorf(quotient);
  return quotient - whole > 0.5f ? whole + 1.0f : whole;
}

/* The C library's pow. The exponent is hidden, because compilers turn pow(x, 2) into x * x, which
 * differs. */
static inline double pp_python_power(double x, double exponent) {
  __asm__("" : "+m"(exponent));
  return pow(x, exponent);
}

static inline float pp_python_power_float(float x, float exponent) {
  __asm__("" : "+m"(exponent));
  return powf(x, exponent);
}

/* returns a float64 as an int64, as NumPy's astype does on x86-64 */
static inline int64_t pp_numpy_to_int(double x) {
  return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

/* ... and as types of fewer bits: those that int32 holds go through it */
static inline int32_t pp_numpy_to_int32(double x) {
  return x > -0x1p31 - 1 && x < 0x1p31 ? (int32_t)x : INT32_MIN;
}

static inline uint64_t pp_numpy_to_uint64(double x) {
  if (x >= 0x1p63) return x < 0x1p64 ? (uint64_t)x : 0;
  return (uint64_t)pp_numpy_to_int(x);
}

/* np.sign, np.maximum and np.minimum: NaN goes through. Of equal numbers, 0 and -0 too, it is the
 * second, as on x86-64; np.clip takes the first. */
static inline double pp_numpy_sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
}

#define PP_NUMPY_EXTREMES(type)                                     \
  static inline type pp_numpy_maximum_##type(type a, type b) {      \
    return a > b || isnan(a) ? a : b;                               \
  }                                                                 \
  static inline type pp_numpy_minimum_##type(type a, type b) {      \
    return a < b || isnan(a) ? a : b;                               \
  }                                                                 \
  static inline type pp_numpy_clip_low_##type(type x, type low) {   \
    return x >= low || isnan(x) ? x : low;                          \
  }                                                                 \
  static inline type pp_numpy_clip_high_##type(type x, type high) { \
    return x <= high || isnan(x) ? x : high;                        \
  }

PP_NUMPY_EXTREMES(double)
PP_NUMPY_EXTREMES(float)

/* adds x to a sum; what is lost goes to *rest */
static inline void pp_python_add_exactly(double *sum, double *rest, double x) {
  double before = *sum;
  *sum += x;
  *rest += (before - *sum) + x;
}

/* Returns math.hypot of numbers, which become absolute values: as CPython before 3.12 does it, with
 * squares of half a number's bits, or since then, with fused products. Both scale by a power of two
 * and correct the root once. */
__attribute__((unused)) static double pp_python_hypot(double *values, int64_t count, bool is_old) {
  double largest = 0, sum = 1, rest[3] = {0, 0, 0};
  bool has_nan = false;
  int exponent;
  for (int64_t i = 0; i < count; i++) {
    values[i] = fabs(values[i]);
    has_nan = has_nan || isnan(values[i]);
    if (values[i] > largest) largest = values[i];
  }
  if (isinf(largest)) return largest;
  if (has_nan) return NAN;
  if (largest == 0 || count <= 1) return largest;
  frexp(largest, &exponent);
  if (exponent < -1023 && is_old) {
    for (int64_t i = 0; i < count; i++) {
      double x = values[i] / largest;
      pp_python_add_exactly(&sum, &rest[0], x * x);
    }
    return largest * sqrt(sum - 1.0 + rest[0]);
  }
  if (exponent < -1023) {
    for (int64_t i = 0; i < count; i++) values[i] /= 0x1p-1022;
    return 0x1p-1022 * pp_python_hypot(values, count, is_old);
  }
  double scale = ldexp(1.0, -exponent), root = 0;
  // the last turn subtracts the square of the root
  for (int64_t i = 0; i <= count; i++) {
    bool is_last = i == count;
    if (is_last)
      root = sqrt(sum - 1.0 + (is_old ? rest[0] + rest[1] + rest[2] : rest[0] + rest[1]));
    double x = is_last ? root : values[i] * scale, sign = is_last ? -1 : 1;
    if (is_old) {
      double wide = x * 134217729.0, high = wide - (wide - x), low = x - high;
      pp_python_add_exactly(&sum, &rest[0], sign * high * high);
      pp_python_add_exactly(&sum, &rest[1], sign * 2.0 * high * low);
      if (is_last) {
        pp_python_add_exactly(&sum, &rest[2], -low * low);
      } else {
        rest[2] += low * low;
      }
    } else {
      double square = sign * x * x, total = sum + square;
      rest[0] += fma(sign * x, x, -square);
      rest[1] += square - (total - sum);
      sum = total;
    }
  }
  double left = sum - 1.0 + (is_old ? rest[0] + rest[1] + rest[2] : rest[0] + rest[1]);
  return (root + left / (2.0 * root)) / scale;
}

/* Returns np.interp(x, points, values). */
__attribute__((unused)) static double pp_numpy_interp(double x, const double *points,
                                                      const double *values, int64_t count) {
  if (isnan(x)) return x;
  if (x < points[0]) return values[0];
  if (x > points[count - 1]) return values[count - 1];
  int64_t at = 0, end = count;
  // the last point that is not greater
  while (end - at > 1) {
    int64_t middle = (at + end) / 2;
    if (points[middle] <= x) {
      at = middle;
    } else {
      end = middle;
    }
  }
  if (at == count - 1 || points[at] == x) return values[at];
  double slope = (values[at + 1] - values[at]) / (points[at + 1] - points[at]);
  double result = slope * (x - points[at]) + values[at];
  if (isnan(result)) {
    result = slope * (x - points[at + 1]) + values[at + 1];
    if (isnan(result) && values[at] == values[at + 1]) result = values[at];
  }
  return result;
}

/* Returns round(x, digits). The C library prints and reads decimals exactly, as CPython does. */
static inline double pp_python_round(double x, int64_t digits) {
  char text[400];
  if (!isfinite(x) || digits > 323 || x == 0) return x;
  if (digits < -308) return copysign(0.0, x);
  if (digits >= 0) {
    snprintf(text, sizeof(text), "%.*f", (int)digits, x);
    return strtod(text, NULL);
  }
  double unit = pow(10.0, (double)-digits), scaled = x / unit, whole = nearbyint(scaled);
  return whole * unit;
}

/* --------------------------------------------------------------------------------- sequences -- */

/* np.sum of floats in memory: see pairwise_sum.h, of which this is the form with a stride */
#define PP_PYTHON_SUM(name, type)                                                               \
  __attribute__((unused)) static type name(const char *values, int64_t count, int64_t stride) { \
    if (count > 128) {                                                                          \
      int64_t half = count / 2 / 8 * 8;                                                         \
      return name(values, half, stride) + name(values + half * stride, count - half, stride);   \
    }                                                                                           \
    type sum = 0;                                                                               \
    int64_t i = 0;                                                                              \
    if (count >= 8) {                                                                           \
      type lane[8];                                                                             \
      for (; i < 8; i++) lane[i] = *(const type *)(const void *)(values + i * stride);          \
      for (; i < count / 8 * 8; i++)                                                            \
        lane[i % 8] += *(const type *)(const void *)(values + i * stride);                      \
      sum += ((lane[0] + lane[1]) + (lane[2] + lane[3])) +                                      \
             ((lane[4] + lane[5]) + (lane[6] + lane[7]));                                       \
    }                                                                                           \
    for (; i < count; i++) sum += *(const type *)(const void *)(values + i * stride);           \
    return sum;                                                                                 \
  }

PP_PYTHON_SUM(pp_python_sum, double)
PP_PYTHON_SUM(pp_python_sum_float, float)

/* ... of what NumPy converts first, in pieces of its buffer */
__attribute__((unused)) static double pp_python_sum_converted(const char *values, int64_t count,
                                                              int64_t stride) {
  const int64_t piece = 8192;
  double sum = 0;
  for (int64_t i = 0; i < count; i += piece)
    sum += pp_python_sum(values + i * stride, count - i < piece ? count - i : piece, stride);
  return sum;
}

/* Adds one number to the sum of CPython's sum() of floats: naive before 3.12, compensated since. */
static inline void pp_python_add(double *sum, double *rest, double x) {
  double total = *sum + x;
  *rest += fabs(*sum) >= fabs(x) ? (*sum - total) + x : (x - total) + *sum;
  *sum = total;
}

/* ------------------------------------------------------------------------------------ random -- */

/* Writes Generator.choice(count, size, replace=False). Returns false without memory. */
__attribute__((unused)) static bool pp_rng_sample(pp_rng *rng, int64_t count, int64_t size,
                                                  int64_t *chosen) {
  if (count > 10000 && size > count / 50) {
    // the end of a list that is shuffled so far
    int64_t *all = (int64_t *)malloc((size_t)count * sizeof(*all));
    if (!all) return false;
    for (int64_t i = 0; i < count; i++) all[i] = i;
    int64_t first = count - size > 1 ? count - size : 1;
    for (int64_t i = count - 1; i >= first; i--) {
      int64_t j = pp_rng_integers(rng, 0, i + 1), kept = all[j];
      all[j] = all[i];
      all[i] = kept;
    }
    memcpy(chosen, all + count - size, (size_t)size * sizeof(*all));
    free(all);
    return true;
  }
  // R. Floyd's algorithm, then a shuffle
  for (int64_t i = 0; i < size; i++) {
    int64_t last = count - size + i, value = pp_rng_integers(rng, 0, last + 1);
    for (int64_t j = 0; j < i; j++) {
      if (chosen[j] == value) {
        value = last;
        break;
      }
    }
    chosen[i] = value;
  }
  for (int64_t i = size - 1; i >= 1; i--) {
    int64_t j = pp_rng_integers(rng, 0, i + 1), kept = chosen[j];
    chosen[j] = chosen[i];
    chosen[i] = kept;
  }
  return true;
}

/* Exchanges two items, which may be the same. */
static inline void pp_python_exchange(char *one, char *other, size_t bytes) {
  char kept[256];
  while (bytes) {
    size_t some = bytes < sizeof(kept) ? bytes : sizeof(kept);
    memcpy(kept, one, some);
    memmove(one, other, some);
    memcpy(other, kept, some);
    one += some, other += some, bytes -= some;
  }
}

/* Shuffles as Generator.shuffle does; bytes: of one item. */
static inline void pp_rng_shuffle(pp_rng *rng, void *items, int64_t count, size_t bytes) {
  for (int64_t i = count - 1; i > 0; i--) {
    char *one = (char *)items + (size_t)i * bytes;
    char *other = (char *)items + pp_rng_interval(rng, (uint64_t)i) * bytes;
    pp_python_exchange(one, other, bytes);
  }
}

#endif
