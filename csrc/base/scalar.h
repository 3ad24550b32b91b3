/* NumPy's arithmetic with scalars of any dtype: the result's dtype by NumPy 2's promotion, and its
 * bits. A Python number is weak: it takes the dtype of the other operand (NEP 50).
 *
 * An integer is exact up to 2^53; products wrap in their dtype. */
#ifndef PP_BASE_SCALAR_H
#define PP_BASE_SCALAR_H

#include <stdbool.h>

#include "base/half.h"
#include "pp_env.h"

typedef struct pp_scalar {
  double value;
  int32_t dtype; /* pp_dtype or pp_action_dtype, with PP_PYTHON for a Python number */
} pp_scalar;

/* (C++ does not combine values of different enumerations) */
enum {
  PP_PYTHON_FLOAT = (int)PP_FLOAT64 | (int)PP_PYTHON,
  PP_PYTHON_INT = (int)PP_INT64 | (int)PP_PYTHON
};

/* --------------------------------------------------------------------------------- dtypes -- */

static inline bool pp_dtype_is_float(int32_t dtype) {
  int32_t own = dtype & ~PP_PYTHON;
  return own == PP_FLOAT16 || own == PP_FLOAT32 || own == PP_FLOAT64;
}

static inline bool pp_dtype_is_unsigned(int32_t dtype) {
  return dtype == PP_UINT8 || dtype == PP_UINT16 || dtype == PP_UINT32 || dtype == PP_UINT64;
}

/* bytes of an integer */
static inline int pp_dtype_width(int32_t dtype) {
  switch (dtype) {
    case PP_BOOL:
    case PP_INT8:
    case PP_UINT8: return 1;
    case PP_INT16:
    case PP_UINT16: return 2;
    case PP_INT32:
    case PP_UINT32: return 4;
    default: return 8;
  }
}

/* the least float that NumPy promotes a dtype to: itself, or one for an integer of its width */
static inline int32_t pp_dtype_least_float(int32_t dtype) {
  if (pp_dtype_is_float(dtype)) return dtype;
  int width = pp_dtype_width(dtype);
  if (width == 1) return PP_FLOAT16;
  return width == 2 ? PP_FLOAT32 : PP_FLOAT64;
}

static inline int32_t pp_dtype_wider_float(int32_t a, int32_t b) {
  if (a == PP_FLOAT64 || b == PP_FLOAT64) return PP_FLOAT64;
  if (a == PP_FLOAT32 || b == PP_FLOAT32) return PP_FLOAT32;
  return PP_FLOAT16;
}

static inline int32_t pp_dtype_promote_integers(int32_t a, int32_t b) {
  if (a == PP_BOOL || b == PP_BOOL) return a == PP_BOOL ? b : a;
  if (pp_dtype_is_unsigned(a) == pp_dtype_is_unsigned(b)) {
    return pp_dtype_width(a) >= pp_dtype_width(b) ? a : b;
  }
  int32_t positive = pp_dtype_is_unsigned(a) ? a : b, other = pp_dtype_is_unsigned(a) ? b : a;
  if (pp_dtype_width(other) > pp_dtype_width(positive)) return other;
  switch (positive) {
    case PP_UINT8: return PP_INT16;
    case PP_UINT16: return PP_INT32;
    case PP_UINT32: return PP_INT64;
    default: return PP_FLOAT64;
  }
}

/* the dtype of a Python number's sum or product with a NumPy number */
static inline int32_t pp_dtype_promote_python(int32_t python, int32_t numpy) {
  if (pp_dtype_is_float(python)) return pp_dtype_is_float(numpy) ? numpy : PP_FLOAT64;
  return numpy == PP_BOOL ? PP_INT64 : numpy;
}

/* the dtype of a sum or product */
static inline int32_t pp_dtype_promote(int32_t a, int32_t b) {
  if (a & b & PP_PYTHON) {
    return pp_dtype_is_float(a) || pp_dtype_is_float(b) ? PP_PYTHON_FLOAT : PP_PYTHON_INT;
  }
  if (a & PP_PYTHON) return pp_dtype_promote_python(a, b);
  if (b & PP_PYTHON) return pp_dtype_promote_python(b, a);
  if (!pp_dtype_is_float(a) && !pp_dtype_is_float(b)) return pp_dtype_promote_integers(a, b);
  return pp_dtype_wider_float(pp_dtype_least_float(a), pp_dtype_least_float(b));
}

/* ----------------------------------------------------------------------------- arithmetic -- */

/* an option with .keeps, in the caller's type */
static inline pp_scalar pp_scalar_of(const pp_value *option) {
  return (pp_scalar){option->f, option->dtype ? option->dtype : PP_PYTHON_FLOAT};
}

static inline pp_scalar pp_scalar_float(double value) {
  return (pp_scalar){value, PP_PYTHON_FLOAT};
}

static inline pp_scalar pp_scalar_int(double value) {
  return (pp_scalar){value, PP_PYTHON_INT};
}

/* the bits of a whole number of any dtype as those of an int64 */
static inline uint64_t pp_scalar_bits(double value) {
  return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
}

static inline double pp_scalar_wrap(uint64_t bits, int32_t dtype) {
  switch (dtype) {
    case PP_BOOL: return bits != 0;
    case PP_INT8: return (int8_t)bits;
    case PP_INT16: return (int16_t)bits;
    case PP_INT32: return (int32_t)bits;
    case PP_UINT8: return (uint8_t)bits;
    case PP_UINT16: return (uint16_t)bits;
    case PP_UINT32: return (uint32_t)bits;
    case PP_UINT64: return (double)bits;
    default: return (double)(int64_t)bits;
  }
}

/* a float rounded to a float dtype */
static inline double pp_scalar_round(double value, int32_t dtype) {
  return dtype == PP_FLOAT32 ? (double)(float)value : dtype == PP_FLOAT16 ? pp_half(value) : value;
}

/* Rounds the result of one operation in double to a dtype. For float32 and float16 that gives the
 * bits of the operation in float32, because double has more than twice as many. */
static inline pp_scalar pp_scalar_rounded(double value, int32_t dtype) {
  if (dtype == PP_FLOAT16) value = (float)value;
  return (pp_scalar){pp_scalar_round(value, dtype), dtype};
}

static inline pp_scalar pp_scalar_multiply(pp_scalar a, pp_scalar b) {
  int32_t dtype = pp_dtype_promote(a.dtype, b.dtype);
  if (!pp_dtype_is_float(dtype) && !(dtype & PP_PYTHON)) {
    uint64_t bits = pp_scalar_bits(a.value) * pp_scalar_bits(b.value);
    return (pp_scalar){pp_scalar_wrap(bits, dtype), dtype};
  }
  return pp_scalar_rounded(pp_scalar_round(a.value, dtype) * pp_scalar_round(b.value, dtype),
                           dtype);
}

static inline pp_scalar pp_scalar_add(pp_scalar a, pp_scalar b) {
  int32_t dtype = pp_dtype_promote(a.dtype, b.dtype);
  if (!pp_dtype_is_float(dtype) && !(dtype & PP_PYTHON)) {
    uint64_t bits = pp_scalar_bits(a.value) + pp_scalar_bits(b.value);
    return (pp_scalar){pp_scalar_wrap(bits, dtype), dtype};
  }
  return pp_scalar_rounded(pp_scalar_round(a.value, dtype) + pp_scalar_round(b.value, dtype),
                           dtype);
}

/* a / b; of two integers it is a float64, or Python's float */
static inline pp_scalar pp_scalar_divide(pp_scalar a, pp_scalar b) {
  int32_t dtype = pp_dtype_promote(a.dtype, b.dtype);
  if (!pp_dtype_is_float(dtype)) dtype = PP_FLOAT64 | (dtype & PP_PYTHON);
  return pp_scalar_rounded(pp_scalar_round(a.value, dtype) / pp_scalar_round(b.value, dtype),
                           dtype);
}

/* -a; unsigned integers wrap */
static inline pp_scalar pp_scalar_negative(pp_scalar a) {
  if (pp_dtype_is_float(a.dtype) || a.dtype & PP_PYTHON) return (pp_scalar){-a.value, a.dtype};
  return (pp_scalar){pp_scalar_wrap(0 - pp_scalar_bits(a.value), a.dtype), a.dtype};
}

/* Returns the least double that is not less than a when NumPy compares them, so that for every
 * Python float x: x < a in a's dtype if and only if x < the result. Not for float16. */
static inline double pp_scalar_bound(pp_scalar a) {
  if (a.dtype != PP_FLOAT32) return a.value;
  double before = nextafterf((float)a.value, -INFINITY), middle = (before + a.value) / 2;
  return (float)middle < (float)a.value ? nextafter(middle, INFINITY) : middle;
}

#endif
