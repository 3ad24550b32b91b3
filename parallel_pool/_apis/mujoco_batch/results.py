"""Results of a task's methods: checks them, and says which method returned what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from parallel_pool._engine.actions import described
from parallel_pool._engine.arguments import a_type, quote

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

# by kind of dtype
REAL, BOOL = "fiu", "b"


def flags(name: str, value: Any, count: int) -> Array:
    """Returns bools (count,); raises TypeError or ValueError that names the method."""
    return _row(name, value, count, BOOL, "bools")


def numbers(name: str, value: Any, count: int) -> Array:
    """Returns real numbers (count,); raises TypeError or ValueError that names the method."""
    return _row(name, value, count, REAL + BOOL, "real numbers")


def _row(name: str, value: Any, count: int, kinds: str, what: str) -> Array:
    if not isinstance(value, np.ndarray):
        raise TypeError(
            f"{name} returned {described(value)}: return an array of {what}, ({count},)"
        )
    if value.shape != (count,):
        raise ValueError(
            f"{name} returned {described(value)}: return one for each world, ({count},)"
        )
    if value.dtype.kind not in kinds:
        raise TypeError(f"{name} returned {described(value)}: return {what}")
    return value


def named(value: Any, count: int) -> dict[str, Array]:
    """Returns copies of infos; raises TypeError or ValueError."""
    if not isinstance(value, Mapping):
        raise TypeError(f"infos returned {described(value)}: return a dict of arrays")
    for key, array in value.items():
        _check_rows(f"infos[{quote(key)}]", array, count)
    return {str(key): array.copy() for key, array in value.items()}


def _check_rows(name: str, array: Any, count: int) -> None:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} is {described(array)}: return an array ({count}, ...)")
    if array.shape[:1] != (count,):
        raise ValueError(f"{name} is {described(array)}: its first axis must have {count} worlds")


def space_of(observations: Any, count: int) -> spaces.Space[Any]:
    """Returns the space of one world's observations, from what `observe` returned first."""
    if isinstance(observations, Mapping):
        parts = {
            str(key): _box(f"[{quote(key)}]", each, count) for key, each in observations.items()
        }
        return spaces.Dict(parts)
    return _box("", observations, count)


def _box(key: str, array: Any, count: int) -> spaces.Space[Any]:
    name = f"observe(){key}"
    _check_rows(name, array, count)
    shape, dtype = array.shape[1:], array.dtype
    if dtype.kind == "b":
        return spaces.MultiBinary(shape)
    if dtype.kind not in REAL:
        raise TypeError(f"{name} is {described(array)}: return numbers or bools")
    if dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, shape, dtype.type)
    bounds = np.iinfo(dtype)
    return spaces.Box(bounds.min, bounds.max, shape, dtype.type)


class Observed:
    """Takes observations apart into the arrays of their space."""

    def __init__(self, space: spaces.Space[Any], count: int) -> None:
        """
        Args:
            space: of one world: one array, or a Dict of such.
            count: worlds.
        """
        self._keys = tuple(space.spaces) if isinstance(space, spaces.Dict) else None
        parts = [space] if self._keys is None else [space[key] for key in self._keys]  # type: ignore[index]
        for part in parts:
            if isinstance(part, spaces.Dict | spaces.Tuple) or part.shape is None:
                raise TypeError(
                    f"observation_space={quote(space)}: give a space of one array, or a Dict of"
                    " such"
                )
        self._wanted = [((count, *(part.shape or ())), part.dtype) for part in parts]

    def leaves(self, observations: Any) -> list[Array]:
        """Returns the arrays in the order of the space.

        Raises:
            TypeError, ValueError: they are not of the space.
        """
        found = [observations] if self._keys is None else self._parts(observations)
        for i, (array, (shape, dtype)) in enumerate(zip(found, self._wanted, strict=True)):
            is_array = isinstance(array, np.ndarray)
            if not is_array or array.shape != shape or not _fits(array.dtype, dtype):
                key = "" if self._keys is None else f" as {quote(self._keys[i])}"
                raise (ValueError if is_array and array.shape != shape else TypeError)(
                    f"observe returned {described(array)}{key}: return {dtype} of shape {shape}"
                )
        return found

    def _parts(self, observations: Any) -> list[Any]:
        assert self._keys is not None
        if not isinstance(observations, Mapping):
            raise TypeError(f"observe returned {a_type(observations)}: return a dict")
        if observations.keys() != set(self._keys):
            raise ValueError(
                f"observe returned a dict with {quote(list(observations))}: return"
                f" {quote(list(self._keys))}"
            )
        return [observations[key] for key in self._keys]


def _fits(dtype: np.dtype[Any], wanted: Any) -> bool:
    return dtype == wanted or (dtype.kind == "b" and wanted == np.int8)
