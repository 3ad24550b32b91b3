"""Primitives: the engine's calls as JAX primitives, registered once in a process.

A primitive's first argument is a handle, int32 (2,): the pool's number, and how many calls programs
have made of it. Its first result is the next handle. csrc/include/pp_xla.h says what else it takes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from typing import Any, NoReturn

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from parallel_pool._native import ffi, lib

NAMES = ("send", "reset", "recv", "step", "observe")
OTHER_PLATFORMS = ("cuda", "rocm", "tpu")

# shape and dtype of each result
Results = tuple[tuple[tuple[int, ...], Any], ...]


def _target(name: str) -> str:
    return f"parallel_pool_{name}"


def _register(name: str) -> Any:
    """Returns the primitive of one call."""
    address = int(ffi.cast("uintptr_t", ffi.addressof(lib, f"pp_xla_{name}")))
    capsule = jax.ffi.pycapsule(ctypes.c_void_p(address))
    jax.ffi.register_ffi_target(_target(name), capsule, platform="cpu")

    primitive = Primitive(_target(name))
    primitive.multiple_results = True
    primitive.def_impl(lambda *arrays, **kinds: _jitted(name, **kinds)(*arrays))
    effects = _effects()

    def evaluate(*arrays: Any, results: Results, **kinds: Any) -> Any:
        return [ShapedArray(shape, dtype) for shape, dtype in results], effects

    def lower(context: Any, *operands: Any, results: Results, **kinds: Any) -> Any:
        attributes = {key: np.asarray(value, np.int64) for key, value in kinds.items()}
        flags = {key: value[()] if value.ndim == 0 else value for key, value in attributes.items()}
        rule = jax.ffi.ffi_lowering(_target(name), has_side_effect=True)
        return rule(context, *operands, **flags)

    primitive.def_effectful_abstract_eval(evaluate)
    mlir.register_lowering(primitive, lower, platform="cpu")
    for platform in OTHER_PLATFORMS:
        mlir.register_lowering(primitive, _refuse_platform, platform=platform)
    ad.primitive_jvps[primitive] = _refuse_derivative
    batching.primitive_batchers[primitive] = _refuse_batch
    return primitive


@cache
def _jitted(name: str, **kinds: Any) -> Any:
    """Returns a call for use outside of jitted functions."""
    return jax.jit(lambda *arrays: CALLS[name].bind(*arrays, **kinds))


def _effects() -> Any:
    """Returns what JAX marks calls with that must be made even if nobody uses their results."""
    nothing = jax.ffi.ffi_call("", jax.ShapeDtypeStruct((), np.int32), has_side_effect=True)
    return jax.make_jaxpr(nothing)().effects


def _refuse_platform(context: Any, *operands: Any, **kinds: Any) -> NoReturn:
    raise NotImplementedError(
        "parallel_pool's functions for jitted programs run on the CPU only: jit under"
        ' jax.default_device(jax.devices("cpu")[0]), or call step() of the environments from'
        " jax.experimental.io_callback"
    )


def _refuse_derivative(primals: Any, tangents: Any, **kinds: Any) -> NoReturn:
    raise NotImplementedError(
        "environments have no derivative: apply jax.lax.stop_gradient to the actions, or step"
        " outside of the function that is differentiated"
    )


def _refuse_batch(arrays: Any, axes: Any, **kinds: Any) -> NoReturn:
    raise NotImplementedError(
        "the functions of a pool can't be mapped by vmap, because a pool is one object: make it"
        " with more environments, all of which one call steps"
    )


CALLS: Mapping[str, Any] = {name: _register(name) for name in NAMES}
