"""Primitives: the engine's calls as JAX primitives, registered once in a process.

The first argument of those in `CALLS` is a handle, int32 (2,): the pool's number, and how many
calls programs have made of it. The first result is the next handle. Those in `PURE` take and return
states of environments instead. csrc/include/pp_xla.h says what else they take.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from parallel_pool._native import ffi, lib

NAMES = ("send", "reset", "recv", "step", "observe")
PURE_NAMES = ("start", "advance")
# for each platform of JAX's: XLA's name of it, and the prefix of the handlers in C
PLATFORMS = {"cpu": ("cpu", "pp_xla_"), "cuda": ("CUDA", "pp_xla_cuda_")}
OTHER_PLATFORMS = ("rocm", "tpu")

# shape and dtype of each result
Results = tuple[tuple[tuple[int, ...], Any], ...]


def _target(name: str) -> str:
    return f"parallel_pool_{name}"


def _register(name: str, calls: Mapping[str, Any], batch: Any, *, has_effects: bool) -> Any:
    """Returns the primitive of one call.

    Args:
        name: of the call.
        calls: where it will be found.
        batch: its rule for `jax.vmap`.
        has_effects: whether it must be made even if nobody uses its results.
    """
    for platform, prefix in PLATFORMS.values():
        address = int(ffi.cast("uintptr_t", ffi.addressof(lib, prefix + name)))
        capsule = jax.ffi.pycapsule(ctypes.c_void_p(address))
        # without JAX's plugin for CUDA, this is kept for later and has no effect
        jax.ffi.register_ffi_target(_target(name), capsule, platform=platform)

    primitive = Primitive(_target(name))
    primitive.multiple_results = True
    jitted = cache(lambda **kinds: jax.jit(lambda *arrays: calls[name].bind(*arrays, **kinds)))
    primitive.def_impl(lambda *arrays, **kinds: jitted(**kinds)(*arrays))
    effects = _effects() if has_effects else frozenset()

    def evaluate(*arrays: Any, results: Results, **kinds: Any) -> Any:
        return [ShapedArray(shape, dtype) for shape, dtype in results], effects

    def lower(context: Any, *operands: Any, results: Results, **kinds: Any) -> Any:
        attributes = {key: np.asarray(value, np.int64) for key, value in kinds.items()}
        flags = {key: value[()] if value.ndim == 0 else value for key, value in attributes.items()}
        rule = jax.ffi.ffi_lowering(_target(name), has_side_effect=has_effects)
        return rule(context, *operands, **flags)

    primitive.def_effectful_abstract_eval(evaluate)
    for platform in PLATFORMS:
        mlir.register_lowering(primitive, lower, platform=platform)
    for platform in OTHER_PLATFORMS:
        mlir.register_lowering(primitive, _refuse_platform, platform=platform)
    ad.primitive_jvps[primitive] = _refuse_derivative
    batching.primitive_batchers[primitive] = partial(batch, name)
    return primitive


def _effects() -> Any:
    """Returns what JAX marks calls with that must be made even if nobody uses their results."""
    nothing = jax.ffi.ffi_call("", jax.ShapeDtypeStruct((), np.int32), has_side_effect=True)
    return jax.make_jaxpr(nothing)().effects


def _refuse_platform(context: Any, *operands: Any, **kinds: Any) -> NoReturn:
    raise NotImplementedError(
        "parallel_pool's functions for jitted programs run on the CPU and on CUDA only: jit under"
        ' jax.default_device(jax.devices("cpu")[0]), or call step() of the environments from'
        " jax.experimental.io_callback"
    )


def _refuse_derivative(primals: Any, tangents: Any, **kinds: Any) -> NoReturn:
    raise NotImplementedError(
        "environments have no derivative: apply jax.lax.stop_gradient to the actions, or step"
        " outside of the function that is differentiated"
    )


def _in_front(arrays: Any, axes: Any) -> tuple[int, list[Any]]:
    """Returns the size of the mapped axis, and the arrays with that axis in front."""
    size = next(
        array.shape[axis] for array, axis in zip(arrays, axes, strict=True) if axis is not None
    )
    return size, [
        jnp.broadcast_to(array, (size, *array.shape))
        if axis is None
        else jnp.moveaxis(array, axis, 0)
        for array, axis in zip(arrays, axes, strict=True)
    ]


def _flat(array: Any) -> Any:
    """Returns an array whose first two axes are one."""
    return array.reshape(-1, *array.shape[2:])


def _batch_pools(
    name: str, arrays: Any, axes: Any, *, results: Results, pools: int = 0, **kinds: Any
) -> Any:
    """Calls several pools at once, one for each handle."""
    if axes[0] is None:
        raise NotImplementedError(
            "vmap over the actions of one pool: it is one object, which can't be at two states."
            " Map over handles, one for each pool, which xla([pool, pool, ...]) returns; or see"
            " make_gymnax, whose states may be stepped twice"
        )
    size, arrays = _in_front(arrays, axes)
    # vmap of vmap: all pools lie on one axis
    own = [(shape[1:] if pools else shape, dtype) for shape, dtype in results]
    if pools:
        arrays = [_flat(array) for array in arrays]
    count = size * max(pools, 1)
    wide = tuple(((count, *shape), dtype) for shape, dtype in own)
    found = CALLS[name].bind(*arrays, results=wide, pools=count, **kinds)
    if pools:
        found = [array.reshape(size, pools, *array.shape[1:]) for array in found]
    return found, [0] * len(found)


def _batch_rows(name: str, arrays: Any, axes: Any, *, results: Results, **kinds: Any) -> Any:
    """Steps the states of all elements as rows of one call."""
    size, arrays = _in_front(arrays, axes)
    wide = tuple(((size * shape[0], *shape[1:]), dtype) for shape, dtype in results)
    found = PURE[name].bind(*map(_flat, arrays), results=wide, **kinds)
    return [array.reshape(size, -1, *array.shape[1:]) for array in found], [0] * len(found)


def _minor_version() -> int:
    """Returns the minor version of XLA's interface that jaxlib has, by its header."""
    header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text()
    found = re.search(r"#define XLA_FFI_API_MINOR (\d+)", header)
    return int(found[1]) if found else 0


lib.pp_xla_speak(_minor_version())
CALLS: dict[str, Any] = {}
CALLS.update({name: _register(name, CALLS, _batch_pools, has_effects=True) for name in NAMES})
PURE: dict[str, Any] = {}
PURE.update({name: _register(name, PURE, _batch_rows, has_effects=False) for name in PURE_NAMES})
