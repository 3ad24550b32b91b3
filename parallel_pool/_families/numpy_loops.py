"""The inner loops of the user's NumPy, for native environments that must have its bits.

NumPy chooses the code of exp, arctan2 and others by the processor, and their results differ from
the C library's. See csrc/base/numpy_loops.h.
"""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from typing import Any

import numpy as np

# in the order of pp_numpy_loops
FUNCTIONS = (
    *(np.exp, np.cos, np.sin, np.arctan2, np.log, np.log1p, np.arcsinh, np.tanh),
    *(np.arccos, np.matmul),
)

# of functions in np.linalg's module before NumPy 2.2; the two for wide and for narrow matrices call
# the same function of LAPACK
OLD_NAMES = {"svd_f": "svd_n_f"}

LOOP = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)


class UFunc(ctypes.Structure):
    """The first members of NumPy's PyUFuncObject, which have been the same since NumPy 1.0."""

    _fields_ = (
        ("refcount", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    )


@cache
def packed() -> bytes:
    """Returns a `pp_numpy_loops`.

    Raises:
        RuntimeError: a loop does not compute what its function returns.
    """
    addresses = [address for function in FUNCTIONS for address in find_loop(function)]
    return struct.pack(f"<{len(addresses) + 1}q", *addresses, fuses_dot())


def named(name: str) -> np.ufunc:
    """Returns a function of NumPy by its name; of its own linear algebra by "linalg.inv"."""
    if not name.startswith("linalg."):
        found: np.ufunc = getattr(np, name)
        return found
    module: Any = np.linalg._umath_linalg
    last = name.partition(".")[2]
    found = getattr(module, last, None) or getattr(module, OLD_NAMES[last])
    return found


def find_loop(function: np.ufunc, signature: str = "") -> tuple[int, int]:
    """Returns the addresses of a function's loop and of the loop's data.

    Args:
        function: NumPy's.
        signature: the loop's, such as "ff->f"; "" for that of float64.
    """
    raw = UFunc.from_address(id(function))
    of_doubles = "d" * function.nin + "->d"
    types: list[str] = list(function.types)
    at = types.index(signature or of_doubles)
    address, data = raw.functions[at], raw.data[at]
    is_known = (raw.nin, raw.nargs, raw.ntypes) == (function.nin, function.nargs, function.ntypes)
    # loops of another type, and matmul's, are called with more than these arguments
    can_try = function.signature is None and signature in ("", of_doubles)
    if is_known and address and (not can_try or _computes(function, address, data)):
        return address, data or 0
    raise RuntimeError(
        f"NumPy's loop of {function.__name__} was not found: install NumPy from its wheels"
    )


def _computes(function: np.ufunc, address: int, data: int | None) -> bool:
    """Returns whether a loop gives what its function does."""
    # some values on which the C library and NumPy's vector code differ
    values = np.random.default_rng(0).uniform(-3, 3, (500, function.nin))
    with np.errstate(all="ignore"):
        expected = function(*values.T)
    found = np.array([call_loop(address, data, row) for row in values])
    return np.array_equal(found, expected, equal_nan=True)


def call_loop(address: int, data: int | None, values: Any) -> float:
    """Calls a loop for one set of arguments, as C does."""
    numbers = [ctypes.c_double(value) for value in (*values, 0)]
    arguments = (ctypes.c_void_p * len(numbers))(*(ctypes.addressof(each) for each in numbers))
    strides = (ctypes.c_ssize_t * len(numbers))(*[8] * len(numbers))
    LOOP(address)(arguments, ctypes.c_ssize_t(1), strides, data)
    return numbers[-1].value


@cache
def fuses_dot() -> bool:
    """Returns whether NumPy's dot of two or three numbers uses fused multiply-add.

    Gymnasium computes distances with dot, and NumPy's BLAS chooses its code by the processor.

    Raises:
        RuntimeError: dot computes something else than both.
    """
    rng = np.random.default_rng(0)
    vectors = [rng.standard_normal(2 + i % 2) for i in range(200)]
    dots = [float(vector.dot(vector)) for vector in vectors]

    def plain(vector: Any) -> float:
        total = 0.0
        for value in vector.tolist():
            total += value * value
        return total

    if dots == [plain(vector) for vector in vectors]:
        return False
    if dots == [_fused(vector.tolist()) for vector in vectors]:
        return True
    raise RuntimeError(
        "NumPy's dot of 2 and 3 numbers is neither a plain nor a fused sum of products, so"
        " Gymnasium's distances can't be reproduced: install NumPy from its wheels"
    )


def _fused(values: list[float]) -> float:
    """Returns the sum of squares, with each product added unrounded."""
    from fractions import Fraction

    total = 0.0
    for value in values:
        total = float(Fraction(value) * Fraction(value) + Fraction(total))
    return total
