"""Options: what a translated environment needs from Python when a pool is made.

These are its constants, which an environment in Python with the same options has, and the addresses
of NumPy's functions.
"""

from __future__ import annotations

import functools
import importlib
import json
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool._engine.specs import Definition
from parallel_pool._families import numpy_loops
from parallel_pool._native import ffi
from parallel_pool._translator import files

# pools whose constants are remembered
MOST_KEPT = 64


class Changed(ValueError):
    """An environment with these options is another program."""


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the environment's constants, and NumPy's functions."""
    about = ffi.string(ffi.cast("const char *", definition.raw.data)).decode()
    known = json.loads(about)
    functions = tuple(map(tuple, known["numpy"]))
    options = {
        name: value
        for name, value in options.items()
        if name in definition.options or not _is_fixed(known["fixed"], name, value)
    }
    # before the class sees them; the engine names those that the environment does not have
    own = {
        name: definition.options[name].check(value)
        for name, value in sorted(options.items())
        if name in definition.options
    }
    return {
        **options,
        "_constants": _constants(definition.id, about, tuple(own.items())),
        "_numpy": _loops(functions),
    }


def _is_fixed(fixed: Mapping[str, Any], name: str, value: Any) -> bool:
    """Returns whether an option has the value for which the class was translated."""
    return name in fixed and equal(plain(value), fixed[name])


def plain(value: Any) -> Any:
    """Returns a value as JSON gives it back: with lists for tuples."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


@functools.lru_cache(maxsize=MOST_KEPT)
def _constants(env_id: str, about_text: str, given: tuple[tuple[str, Any], ...]) -> bytes:
    """Returns the bytes of the constants, as an environment with these options has them.

    Raises:
        ValueError: with these options, the program would be another one.
    """
    about = json.loads(about_text)
    cls = files.classes_by_id.get(env_id) or _class(about)
    fixed = about["fixed"]
    changed = {name: value for name, value in given if about["options"].get(name, value) != value}
    try:
        env = cls(**{**fixed, **changed})
        if changed:
            _check_same(env_id, about, cls(**fixed), env, changed)
        env.reset(seed=0)
    except Exception as error:
        if isinstance(error, Changed):
            raise
        shown = ", ".join(f"{name}={value!r}" for name, value in given)
        raise ValueError(
            f"{quote(env_id)}: {about['class']}({shown}) fails in Python:"
            f" {type(error).__name__}: {error}"
        ) from error
    parts: list[bytes] = []
    for name, dtype, shape in about["layout"]:
        value = getattr(env, name)
        if shape is None:
            data = struct.pack({"<f8": "<d", "<i8": "<q", "<f4": "<f"}[dtype], value)
        else:
            data = np.ascontiguousarray(value, dtype=np.dtype(dtype)).tobytes()
        parts.append(data + bytes(-len(data) % 8))
    return b"".join(parts) or bytes(8)


def _check_same(
    env_id: str, about: Mapping[str, Any], usual: Any, env: Any, changed: Mapping[str, Any]
) -> None:
    """Raises ValueError if options change more than numbers and arrays of the same shape."""
    for name in about["frozen"]:
        if not equal(getattr(usual, name, None), getattr(env, name, None)):
            _refuse(env_id, about, changed, name)
    for name, _, shape in about["layout"]:
        if shape is not None and list(np.shape(getattr(env, name, ()))) != shape:
            _refuse(env_id, about, changed, name)
    for name in about["divisors"]:
        if not getattr(env, name):
            _refuse(env_id, about, changed, name)
    for name in about["initial"]:
        if not equal(vars(usual).get(name), vars(env).get(name)):
            _refuse(env_id, about, changed, name)


def _refuse(env_id: str, about: Mapping[str, Any], changed: Mapping[str, Any], name: str) -> None:
    given = ", ".join(f"{key}={value!r}" for key, value in changed.items())
    raise Changed(
        f"{quote(env_id)} was translated for another self.{name} than {given} gives:"
        f" parallel_pool.compile({about['class']}, {given}) translates it for these"
    )


def equal(one: Any, other: Any) -> bool:
    """Returns whether two values of attributes or options are the same, their types included."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and np.array_equal(one, other)
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    same = one == other
    return bool(same) or (not isinstance(one, (int, float)) and repr(one) == repr(other))


def _class(about: Mapping[str, Any]) -> Any:
    """Returns the class that was translated."""
    module = sys.modules.get(about["module"])
    if module is None or not hasattr(module, about["class"].partition(".")[0]):
        try:
            module = importlib.import_module(about["module"])
        except ImportError:
            module = files.import_file(Path(about["file"]))
        if not hasattr(module, about["class"].partition(".")[0]):
            # another module of the same name, such as __main__ in a worker process
            module = files.import_file(Path(about["file"]))
    found: Any = module
    for name in about["class"].split("."):
        found = getattr(found, name)
    return found


@functools.cache
def _loops(functions: tuple[tuple[str, str], ...]) -> bytes:
    """Returns the addresses of NumPy's inner loops."""
    parts = [
        struct.pack("<QQ", *numpy_loops.find_loop(getattr(np, name), signature))
        for name, signature in functions
    ]
    return b"".join(parts) or bytes(16)
