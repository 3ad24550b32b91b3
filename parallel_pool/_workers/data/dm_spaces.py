"""DM spaces: Gymnasium spaces of dm_env specs, and conversion of their values.

An array spec becomes a Box or a Discrete of the same dtype, a dict or named tuple of specs a Dict,
another tuple or list a Tuple; keys keep their order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from dm_env import specs  # type: ignore[import-untyped]
from gymnasium import spaces

from parallel_pool._engine.actions import described

Space = spaces.Space[Any]
Convert = Callable[[Any], Any]

# kinds of dtypes that a Box may have: bool, integers, floats
KINDS = "biuf"


def space(spec: Any, path: str) -> Space:
    """Returns the space of a spec.

    Args:
        spec: an array spec, or a nested dict, list or tuple of such.
        path: what the spec is, for messages: "observation_spec()".

    Raises:
        TypeError: a part is no spec, or has a dtype that no space has.
    """
    parts = _parts(spec, path)
    if parts is not None:
        # an OrderedDict, because Dict sorts others
        found = OrderedDict((key, space(part, at)) for key, part, at in parts)
        return spaces.Dict(found) if _has_names(spec) else spaces.Tuple(tuple(found.values()))
    if not isinstance(spec, specs.Array):
        raise TypeError(
            f"{path} is {described(spec)}: give a dm_env.specs.Array, or a dict, list or tuple of"
            " such"
        )
    if isinstance(spec, specs.DiscreteArray):
        return _discrete(spec)
    low, high = _bounds(spec, path)
    return spaces.Box(
        np.broadcast_to(low, spec.shape), np.broadcast_to(high, spec.shape), dtype=spec.dtype
    )


def observation_converter(spec: Any, path: str) -> Convert:
    """Returns a function that makes an element of the spec's space of an observation.

    Arrays of the right dtype stay the environment's own. The function raises ValueError if the
    observation lacks a part of the spec; whether an array has the right shape, and a dtype that
    casts to that of the spec, is for the pool to check.
    """
    parts = _parts(spec, path)
    if parts is None:
        return _array_observation(spec)
    is_named_tuple = hasattr(spec, "_fields")
    converters = [(key, observation_converter(part, at)) for key, part, at in parts]

    def convert(value: Any) -> Any:
        try:
            if is_named_tuple and hasattr(value, "_fields"):
                value = value._asdict()
            found = [(key, converter(value[key])) for key, converter in converters]
        except (LookupError, TypeError) as error:
            raise ValueError(
                f"the observation is {described(value)}, which lacks a part of {path}:"
                f" {type(error).__name__}: {error}"
            ) from error
        return dict(found) if _has_names(spec) else tuple([part for _, part in found])

    return convert


def action_converter(spec: Any, path: str) -> Convert:
    """Returns a function that makes a dm_env action, as the spec says, of an element of its space.

    It raises TypeError or ValueError if a part of the action has another shape or kind of numbers.
    """
    parts = _parts(spec, path)
    if parts is None:
        return _array_action(spec, path)
    converters = [(key, action_converter(part, at)) for key, part, at in parts]

    def convert(action: Any) -> Any:
        try:
            found = [(key, converter(action[key])) for key, converter in converters]
        except LookupError as error:
            raise ValueError(
                f"the action is {described(action)}, which lacks a part of {path}"
            ) from error
        values = [part for _, part in found]
        if hasattr(spec, "_fields"):
            return type(spec)(*values)
        if isinstance(spec, Mapping):
            return (OrderedDict if isinstance(spec, OrderedDict) else dict)(found)
        return values if isinstance(spec, list) else tuple(values)

    return convert


# -------------------------------------------------------------------------------------- parts --


def _has_names(spec: Any) -> bool:
    return isinstance(spec, Mapping) or hasattr(spec, "_fields")


def _parts(spec: Any, path: str) -> list[tuple[Any, Any, str]] | None:
    """Returns the key, spec and path of each part; None for anything but a dict, list or tuple."""
    if hasattr(spec, "_fields"):
        spec = spec._asdict()
    if not isinstance(spec, (Mapping, list, tuple)):
        return None
    items = spec.items() if isinstance(spec, Mapping) else enumerate(spec)
    return [(key, part, f"{path}[{key!r}]") for key, part in items]


def _bounds(spec: specs.Array, path: str) -> tuple[Any, Any]:
    """Returns the bounds of an array's elements: its own, or those of its dtype."""
    kind = spec.dtype.kind
    if kind not in KINDS:
        raise TypeError(
            f"{path} is {spec}, and no Gymnasium space has such elements: leave it out, or make"
            " numbers of it, in a dm_env wrapper"
        )
    if isinstance(spec, specs.BoundedArray):
        return spec.minimum, spec.maximum
    if kind == "f":
        limits: tuple[Any, Any] = -np.inf, np.inf
    elif kind == "b":
        limits = False, True
    else:
        limits = np.iinfo(spec.dtype).min, np.iinfo(spec.dtype).max
    return np.array(limits[0], spec.dtype), np.array(limits[1], spec.dtype)


def _discrete(spec: specs.DiscreteArray) -> Space:
    try:
        return spaces.Discrete(spec.num_values, dtype=spec.dtype)
    except TypeError:
        # Gymnasium before 1.2 has int64 only
        return spaces.Discrete(spec.num_values)


def _array_observation(spec: specs.Array) -> Convert:
    dtype, is_discrete = spec.dtype, isinstance(spec, specs.DiscreteArray)

    def convert(value: Any) -> Any:
        array = np.asarray(value)
        if array.dtype != dtype and np.can_cast(array.dtype, dtype, "same_kind"):
            array = array.astype(dtype)
        # as samples of the spaces are: a Box has arrays, even without an axis
        return array[()] if is_discrete else array

    return convert


def _array_action(spec: specs.Array, path: str) -> Convert:
    dtype, shape = spec.dtype, spec.shape

    def convert(action: Any) -> Any:
        array = np.asarray(action)
        if array.shape != shape:
            raise ValueError(
                f"the action is {described(action)}, of shape {array.shape}: {path} needs {shape}"
            )
        if array.dtype == dtype:
            return array if shape else array[()]
        are_integers = array.dtype.kind in "iu" and dtype.kind in "iu"
        if not are_integers and not np.can_cast(array.dtype, dtype, "same_kind"):
            raise TypeError(f"the action is {described(action)}: {path} needs {dtype}")
        cast = array.astype(dtype)
        if are_integers and (cast != array).any():
            raise ValueError(f"the action is {described(action)}, too large for {path}: {dtype}")
        return cast if shape else cast[()]

    return convert
