"""Options: what a translated environment needs from Python when a pool is made.

These are its constants, which an environment in Python with the same options has, and the addresses
of NumPy's functions.
"""

from __future__ import annotations

import functools
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool._engine.specs import Definition
from parallel_pool._families import numpy_loops
from parallel_pool._native import ffi
from parallel_pool._translator import classes, files
from parallel_pool._translator.equality import is_equal

# pools whose constants are remembered
MAX_KEPT_POOLS = 64


class Changed(ValueError):
    """An environment with these options is another program."""


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the environment's constants, and NumPy's functions."""
    about = _about_text(definition)
    known = _parsed(about)
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
    return name in fixed and is_equal(plain(value), fixed[name])


def plain(value: Any) -> Any:
    """Returns a value as JSON gives it back: with lists for tuples."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def fill_reset(definition: Definition, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the options of a reset. Refuses those that the program reads, and that can't be given
    to it.

    Raises:
        TypeError: there is such; the message says why.
    """
    about = about_of(definition)
    for name in options:
        why = about["refused"].get(name, about["why_none"])
        if why:
            raise TypeError(
                f"reset of {definition.id} can't be given the option {quote(name)}, as only numbers"
                f" are translated ({why}): write an option for each number, or make Python"
                ' environments: backend="process"'
            )
    return options


def about_of(definition: Definition) -> Mapping[str, Any]:
    """Returns what the library of a translated environment says of its class."""
    return _parsed(_about_text(definition))


def class_of(definition: Definition) -> Any:
    """Returns the class in Python that a definition was translated from."""
    return _class(definition.id, about_of(definition))


def arguments(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of the class that make an environment with these options."""
    about = about_of(definition)
    return {**about["fixed"], **_changed(about, options)}


def _about_text(definition: Definition) -> str:
    return ffi.string(ffi.cast("const char *", definition.raw.data)).decode()


@functools.lru_cache(maxsize=MAX_KEPT_POOLS)
def _parsed(about_text: str) -> Mapping[str, Any]:
    about: dict[str, Any] = json.loads(about_text)
    return about


def _class(task_id: str, about: Mapping[str, Any]) -> Any:
    found = files.classes_by_id.get(task_id)
    return found or classes.find(f"{about['module']}:{about['class']}", about["file"])


def _changed(about: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that differ from those of the translation."""
    usual = about["options"]
    return {name: given[name] for name in usual if given.get(name, usual[name]) != usual[name]}


@functools.lru_cache(maxsize=MAX_KEPT_POOLS)
def _constants(task_id: str, about_text: str, given: tuple[tuple[str, Any], ...]) -> bytes:
    """Returns the bytes of the constants, as an environment with these options has them.

    Raises:
        ValueError: with these options, the program would be another one.
    """
    about = _parsed(about_text)
    cls = _class(task_id, about)
    changed = _changed(about, dict(given))
    try:
        env = cls(**{**about["fixed"], **changed})
        if changed:
            _check_same(task_id, about, cls(**about["fixed"]), env, changed)
        env.reset(seed=0)
    except Exception as error:
        if isinstance(error, Changed):
            raise
        shown = ", ".join(f"{name}={quote(value)}" for name, value in given)
        raise ValueError(
            f"{quote(task_id)}: {about['class']}({shown}) fails in Python:"
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
    task_id: str, about: Mapping[str, Any], usual: Any, env: Any, changed: Mapping[str, Any]
) -> None:
    """Raises ValueError if options change more than numbers and arrays of the same shape."""
    for name in about["frozen"]:
        if not is_equal(getattr(usual, name, None), getattr(env, name, None)):
            _refuse(task_id, about, changed, name)
    for name, _, shape in about["layout"]:
        if shape is not None and list(np.shape(getattr(env, name, ()))) != shape:
            _refuse(task_id, about, changed, name)
    for name in about["divisors"]:
        if not getattr(env, name):
            _refuse(task_id, about, changed, name)
    for name in about["initial"]:
        if not is_equal(vars(usual).get(name), vars(env).get(name)):
            _refuse(task_id, about, changed, name)


def _refuse(task_id: str, about: Mapping[str, Any], changed: Mapping[str, Any], name: str) -> None:
    given = ", ".join(f"{key}={value!r}" for key, value in changed.items())
    raise Changed(
        f"{quote(task_id)} was translated for another self.{name} than {given} gives:"
        f" parallel_pool.compile({about['class']}, {given}) translates it for these"
    )


@functools.cache
def _loops(functions: tuple[tuple[str, str], ...]) -> bytes:
    """Returns the addresses of NumPy's inner loops."""
    parts = [
        struct.pack("<QQ", *numpy_loops.find_loop(numpy_loops.named(name), signature))
        for name, signature in functions
    ]
    return b"".join(parts) or bytes(16)
