"""csrc/base's sines, cosines and squares have the bits of the C library's and NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.c_library import compile_c

SOURCE = """
#include "base/float_trig.h"
#include "base/sincos.h"
#include "base/square.h"
typedef int64_t size;
void sincos_many(const double *x, double *s, double *c, size n) {
  for (size i = 0; i < n; i++) pp_sincos(x[i], &s[i], &c[i]);
}
void sincos_tiles(const double *x, double *s, double *c, size n) {
  for (size i = 0; i < n; i += PP_SINCOS_MANY) {
    size rest = n - i;
    pp_sincos_many(x + i, s + i, c + i, rest < PP_SINCOS_MANY ? (int32_t)rest : PP_SINCOS_MANY);
  }
}
void square_many(const double *x, double *y, size n) {
  for (size i = 0; i < n; i++) y[i] = pp_square(x[i]);
}
void square_float_many(const float *x, float *y, size n) {
  for (size i = 0; i < n; i++) y[i] = pp_square_float(x[i]);
}
void float_sin_many(const float *x, float *y, size n) {
  for (size i = 0; i < n; i++) y[i] = pp_float_sin(x[i]);
}
void float_cos_many(const float *x, float *y, size n) {
  for (size i = 0; i < n; i++) y[i] = pp_float_cos(x[i]);
}
"""
PROTOTYPES = """
void sincos_many(const double *x, double *s, double *c, int64_t n);
void sincos_tiles(const double *x, double *s, double *c, int64_t n);
void square_many(const double *x, double *y, int64_t n);
void square_float_many(const float *x, float *y, int64_t n);
void float_sin_many(const float *x, float *y, int64_t n);
void float_cos_many(const float *x, float *y, int64_t n);
"""
Doubles = npt.NDArray[np.float64]
RANGES = [0.05, 0.21, 0.9, 3.2, 8.0, 100.0, 1e5, 1e9, 1e300]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return compile_c(tmp_path_factory.mktemp("math"), SOURCE, PROTOTYPES)


def call(native: tuple[Any, Any], name: str, x: npt.NDArray[Any], outputs: int = 1) -> Any:
    ffi, lib = native
    kind = "double *" if x.dtype == np.float64 else "float *"
    results = [np.empty_like(x) for _ in range(outputs)]
    pointers = [ffi.from_buffer(kind, array) for array in (x, *results)]
    getattr(lib, name)(*pointers, len(x))
    return results if outputs > 1 else results[0]


def sample(limit: float, count: int) -> Doubles:
    return np.random.default_rng(int(limit * 100) % 2**60).uniform(-limit / 2, limit / 2, count) * 2


def assert_same_bits(actual: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    assert actual.dtype == expected.dtype
    integer = np.uint64 if actual.dtype == np.float64 else np.uint32
    different = np.flatnonzero(actual.view(integer) != expected.view(integer))
    assert different.size == 0, f"{different.size} differ, first at indices {different[:3]}"


@pytest.mark.quick(2)
@pytest.mark.parametrize("limit", RANGES)
def test_sincos_is_sin_and_cos(native: tuple[Any, Any], limit: float) -> None:
    """NumPy (and so Gymnasium) and Python call the C library for float64."""
    x = sample(limit, 50_000)
    sine, cosine = call(native, "sincos_many", x, 2)
    assert_same_bits(sine, np.sin(x))
    assert_same_bits(cosine, np.cos(x))
    assert_same_bits(sine[:5000], np.array([math.sin(value) for value in x[:5000].tolist()]))
    assert_same_bits(cosine[:5000], np.array([math.cos(value) for value in x[:5000].tolist()]))


@pytest.mark.quick(5)
@pytest.mark.parametrize("limit", [1e-9, 1e-4, 0.03, 0.1, 0.21, 0.25, 0.5, 100.0])
def test_sincos_of_many_angles(native: tuple[Any, Any], limit: float) -> None:
    """Most small angles are computed without the C library; their bits are the library's, too."""
    x = sample(limit, 300_001)
    sine, cosine = call(native, "sincos_tiles", x, 2)
    assert_same_bits(sine, np.sin(x))
    assert_same_bits(cosine, np.cos(x))


def test_sincos_of_special_angles(native: tuple[Any, Any]) -> None:
    quarter = [np.nextafter(0.25, to) for to in (0, 1)]
    x = np.array([0.0, 5e-324, 1e-308, 1e-30, 2.0**-27, 0.125, 0.25, *quarter, 1e22, 1e308])
    x = np.concatenate([x, -x, [np.inf, -np.inf, np.nan]])
    with np.errstate(invalid="ignore"):
        expected = np.sin(x), np.cos(x)
    for name in ("sincos_many", "sincos_tiles"):
        for actual, wanted in zip(call(native, name, x, 2), expected, strict=True):
            numbers = ~np.isnan(wanted)
            assert_same_bits(actual[numbers], wanted[numbers])
            assert np.isnan(actual[~numbers]).all()


@pytest.mark.parametrize("limit", [0.01, 1.0, 3.2, 30.0])
def test_square_of_scalars(native: tuple[Any, Any], limit: float) -> None:
    x = sample(limit, 50_000)
    assert_same_bits(call(native, "square_many", x), np.array([value**2 for value in x]))
    narrow = x.astype(np.float32)
    expected = np.array([value**2 for value in narrow])
    assert_same_bits(call(native, "square_float_many", narrow), expected)


@pytest.mark.quick(6)
@pytest.mark.parametrize("limit", [0.1, 0.8, 3.2, 100.0, 7e4, 2e5, 1e9, 3e38])
@pytest.mark.parametrize("function", [np.sin, np.cos])
def test_float_trig(native: tuple[Any, Any], function: Callable[[Any], Any], limit: float) -> None:
    x = sample(limit, 200_000).astype(np.float32)
    actual = call(native, f"float_{function.__name__}_many", x)
    assert_same_bits(actual, function(x))
    assert_same_bits(actual[:2000], np.array([function(value) for value in x[:2000]]))


@pytest.mark.parametrize("function", [np.sin, np.cos])
def test_float_trig_at_the_edges(native: tuple[Any, Any], function: Callable[[Any], Any]) -> None:
    """Zeros, the smallest numbers, and the limits where NumPy hands over to the C library."""
    edges = np.array([0.0, 1e-45, 1e-38, 117435.992, 71476.0625], np.float32)
    around = [np.nextafter(edges, np.float32(to)) for to in (-np.inf, np.inf)]
    x = np.concatenate([edges, *around]).astype(np.float32)
    x = np.concatenate([x, -x])
    assert_same_bits(call(native, f"float_{function.__name__}_many", x), function(x))
