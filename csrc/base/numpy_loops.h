/* NumPy's own inner loops of functions whose results differ from the C library's.
 *
 * NumPy picks the code of exp, arctan2 and others by the processor (with AVX-512, exp differs from
 * libm in 4.6 % of all values). To get the bits of the user's NumPy, the package finds the loops in
 * its ufunc objects and passes their addresses as the internal option "_numpy": the bytes of a
 * pp_numpy_loops. The loops are plain C functions, which need no lock of the interpreter. */
#ifndef PP_BASE_NUMPY_LOOPS_H
#define PP_BASE_NUMPY_LOOPS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "pp_env.h"

/* PyUFuncGenericFunction: arguments, number of values, byte strides, data of the ufunc */
typedef void (*pp_numpy_loop)(char **arguments, const intptr_t *count, const intptr_t *strides,
                              void *data);

typedef struct pp_numpy_function {
  pp_numpy_loop loop; /* null: the C library's function */
  void *data;
} pp_numpy_function;

/* parallel_pool/_families/numpy_loops.py packs it in this order */
typedef struct pp_numpy_loops {
  pp_numpy_function exp;
  pp_numpy_function cos;
  pp_numpy_function sin;
  pp_numpy_function arctan2;
  pp_numpy_function log;
  pp_numpy_function log1p;
  pp_numpy_function arcsinh;
  pp_numpy_function tanh;
  pp_numpy_function arccos;
  pp_numpy_function matmul;
  int64_t fuses_dot; /* 1: dot of a few numbers uses fused multiply-add */
} pp_numpy_loops;

/* Reads the value of the option; an empty one stands for the C library. Returns whether the bytes
 * have the right size. */
static inline bool pp_numpy_read(pp_numpy_loops *loops, const pp_value *value) {
  memset(loops, 0, sizeof(*loops));
  if (!value->size) return true;
  if (value->size != (int64_t)sizeof(*loops)) return false;
  memcpy(loops, value->s, sizeof(*loops));
  return true;
}

static inline double pp_numpy_call(const pp_numpy_function *function, double x) {
  const intptr_t count = 1, strides[2] = {sizeof(x), sizeof(x)};
  double result;
  char *arguments[2] = {(char *)&x, (char *)&result};
  function->loop(arguments, &count, strides, function->data);
  return result;
}

static inline double pp_numpy_exp(const pp_numpy_loops *numpy, double x) {
  return numpy->exp.loop ? pp_numpy_call(&numpy->exp, x) : exp(x);
}

static inline double pp_numpy_cos(const pp_numpy_loops *numpy, double x) {
  return numpy->cos.loop ? pp_numpy_call(&numpy->cos, x) : cos(x);
}

static inline double pp_numpy_sin(const pp_numpy_loops *numpy, double x) {
  return numpy->sin.loop ? pp_numpy_call(&numpy->sin, x) : sin(x);
}

static inline double pp_numpy_arctan2(const pp_numpy_loops *numpy, double y, double x) {
  const intptr_t count = 1, strides[3] = {sizeof(x), sizeof(x), sizeof(x)};
  double result;
  char *arguments[3] = {(char *)&y, (char *)&x, (char *)&result};
  if (!numpy->arctan2.loop) return atan2(y, x);
  numpy->arctan2.loop(arguments, &count, strides, numpy->arctan2.data);
  return result;
}

static inline double pp_numpy_log(const pp_numpy_loops *numpy, double x) {
  return numpy->log.loop ? pp_numpy_call(&numpy->log, x) : log(x);
}

static inline double pp_numpy_log1p(const pp_numpy_loops *numpy, double x) {
  return numpy->log1p.loop ? pp_numpy_call(&numpy->log1p, x) : log1p(x);
}

static inline double pp_numpy_arcsinh(const pp_numpy_loops *numpy, double x) {
  return numpy->arcsinh.loop ? pp_numpy_call(&numpy->arcsinh, x) : asinh(x);
}

static inline double pp_numpy_tanh(const pp_numpy_loops *numpy, double x) {
  return numpy->tanh.loop ? pp_numpy_call(&numpy->tanh, x) : tanh(x);
}

static inline double pp_numpy_arccos(const pp_numpy_loops *numpy, double x) {
  return numpy->arccos.loop ? pp_numpy_call(&numpy->arccos, x) : acos(x);
}

/* Writes left.dot(right), of shapes (rows, inner) and (inner, columns), both in C order. NumPy's
 * BLAS chooses its code by the shape, so that of left says whether it is a vector (rows 1). */
static inline void pp_numpy_matmul(const pp_numpy_loops *numpy, const double *left, int32_t rows,
                                   int32_t inner, const double *right, int32_t columns,
                                   double *product) {
  const intptr_t size = sizeof(double), counts[4] = {1, rows, inner, columns};
  const intptr_t strides[9] = {0,   0, 0, inner * size, size, columns * size, size, columns * size,
                               size};
  char *arguments[3] = {(char *)(uintptr_t)left, (char *)(uintptr_t)right, (char *)product};
  numpy->matmul.loop(arguments, counts, strides, numpy->matmul.data);
}

/* Returns the dot product of two vectors of any length. */
static inline double pp_numpy_dot(const pp_numpy_loops *numpy, const double *left,
                                  const double *right, int32_t count) {
  double product;
  pp_numpy_matmul(numpy, left, 1, count, right, 1, &product);
  return product;
}

/* Returns numpy.linalg.norm of two numbers, which adds products in BLAS. */
static inline double pp_numpy_norm(const pp_numpy_loops *numpy, double x, double y) {
  return sqrt(numpy->fuses_dot ? fma(y, y, x * x) : x * x + y * y);
}

/* Returns numpy.logaddexp(0, x), which calls the C library. */
static inline double pp_numpy_logaddexp_0(double x) {
  if (x == 0) return 0.693147180559945309417232121458176568;
  return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

#endif
