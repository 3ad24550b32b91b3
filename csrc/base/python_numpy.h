/* Python and NumPy: calls of NumPy's own inner loops, whose results are the user's NumPy's bits.
 * See numpy_loops.h, which has those of the built-in environments. */
#ifndef PP_BASE_PYTHON_NUMPY_H
#define PP_BASE_PYTHON_NUMPY_H

#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>

/* PyUFuncGenericFunction and the data of the ufunc, from parallel_pool/_translator/options.py */
typedef struct numpy_loop {
  void (*loop)(char **arguments, const intptr_t *count, const intptr_t *strides, void *data);
  void *data;
} numpy_loop;

/* numpy_power: x ** exponent of an element and one number, whose loop takes other ways for some
 * exponents; numpy_fold: what a function of two makes of numbers in memory, as reduce() does */
#define NUMPY_FOLDS(type)                                                                     \
  __attribute__((unused)) static type numpy_power_##type(const numpy_loop *function, type x,  \
                                                         type exponent) {                     \
    const intptr_t count = 1, strides[3] = {sizeof(x), 0, sizeof(x)};                         \
    type result;                                                                              \
    char *arguments[3] = {(char *)&x, (char *)&exponent, (char *)&result};                    \
    function->loop(arguments, &count, strides, function->data);                               \
    return result;                                                                            \
  }                                                                                           \
  __attribute__((unused)) static type numpy_fold_##type(const numpy_loop *function,           \
                                                        const type *values, int64_t size) {   \
    const intptr_t count = size - 1, strides[3] = {0, sizeof(type), 0};                       \
    type result = values[0];                                                                  \
    char *arguments[3] = {(char *)&result, (char *)(uintptr_t)(values + 1), (char *)&result}; \
    if (count) function->loop(arguments, &count, strides, function->data);                    \
    return result;                                                                            \
  }

#define NUMPY_CALLS(type)                                                                    \
  __attribute__((unused)) static type numpy_one_##type(const numpy_loop *function, type x) { \
    const intptr_t count = 1, strides[2] = {sizeof(x), sizeof(x)};                           \
    type result;                                                                             \
    char *arguments[2] = {(char *)&x, (char *)&result};                                      \
    function->loop(arguments, &count, strides, function->data);                              \
    return result;                                                                           \
  }                                                                                          \
  __attribute__((unused)) static type numpy_two_##type(const numpy_loop *function, type x,   \
                                                       type y) {                             \
    const intptr_t count = 1, strides[3] = {sizeof(x), sizeof(x), sizeof(x)};                \
    type result;                                                                             \
    char *arguments[3] = {(char *)&x, (char *)&y, (char *)&result};                          \
    function->loop(arguments, &count, strides, function->data);                              \
    return result;                                                                           \
  }

/* a @ b. steps: in elements, from row to row and along a row of a, along a column and from column
 * to column of b, and from row to row and along a row of the result; 0 for axes that are missing */
#define NUMPY_MATMUL(type)                                                                     \
  __attribute__((unused)) static void numpy_matmul_##type(                                     \
      const numpy_loop *function, const type *a, const type *b, type *result, int64_t rows,    \
      int64_t inner, int64_t columns, const int64_t steps[6]) {                                \
    const intptr_t counts[4] = {1, rows, inner, columns};                                      \
    intptr_t strides[9] = {0};                                                                 \
    for (int i = 0; i < 6; i++) strides[3 + i] = (intptr_t)(steps[i] * (int64_t)sizeof(type)); \
    char *arguments[3] = {(char *)(uintptr_t)a, (char *)(uintptr_t)b, (char *)result};         \
    function->loop(arguments, counts, strides, function->data);                                \
  }

/* Calls a loop of np.linalg, whose arguments, counts and strides it takes as they are. Returns
 * whether LAPACK found a result: NumPy's loops tell a failure by the floating-point flag. */
__attribute__((unused)) static bool numpy_linalg(const numpy_loop *function, char **arguments,
                                                 const intptr_t *counts, const intptr_t *strides) {
  feclearexcept(FE_INVALID);
  function->loop(arguments, counts, strides, function->data);
  return fetestexcept(FE_INVALID) == 0;
}

NUMPY_MATMUL(double)
NUMPY_MATMUL(float)
NUMPY_FOLDS(double)
NUMPY_FOLDS(float)
NUMPY_CALLS(double)
NUMPY_CALLS(float)

#endif
