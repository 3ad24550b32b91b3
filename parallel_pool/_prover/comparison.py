"""Comparison: the first place at which two results differ, bit by bit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# integers with the width of a float, in which its neighbours are neighbours
INTEGERS = {2: np.int16, 4: np.int32, 8: np.int64}


class Attribute(str):
    """A step of a path that is an attribute, not a key."""


Path = tuple[Any, ...]


@dataclass(frozen=True)
class Difference:
    """A place at which two results differ.

    Attributes:
        path: names, keys and indices that lead to it, from the outside.
        kind: what differs: "value", "dtype", "shape", "keys", "type", "error" or "process".
        ours, theirs: what is there.
    """

    path: Path
    kind: str
    ours: Any
    theirs: Any

    def under(self, *path: Any) -> Difference:
        """Returns it as seen from further outside."""
        return replace(self, path=(*path, *self.path))

    @property
    def ulp(self) -> int | None:
        """How many floats lie between two finite floats, the second included; None for others."""
        ours, theirs = np.asarray(self.ours), np.asarray(self.theirs)
        if self.kind != "value" or ours.dtype.kind != "f" or ours.itemsize not in INTEGERS:
            return None
        if not (np.isfinite(ours) and np.isfinite(theirs)):
            return None
        return abs(_rank(ours) - _rank(theirs))


def _rank(value: Any) -> int:
    """Returns a float's place among all floats of its type; both zeros have place 0."""
    bits = int(value.view(INTEGERS[value.itemsize]))
    return bits if bits >= 0 else -(bits + (1 << (8 * value.itemsize - 1)))


def is_same(one: Any, other: Any) -> bool:
    """Returns whether two results have the same keys, dtypes, shapes and numbers, bit by bit.

    All NaN count as equal: which of them a sum gives is not defined.
    """
    return first_difference(one, other) is None


def first_difference(ours: Any, theirs: Any, tolerance: float = 0.0) -> Difference | None:
    """Returns where two results differ first, None if they do not.

    Args:
        ours, theirs: dicts, tuples and lists of arrays and numbers, at any depth.
        tolerance: by which floats may differ; with 0 the signs of zeros count. All NaN are equal.
    """
    if isinstance(ours, dict) or isinstance(theirs, dict):
        return _of_dicts(ours, theirs, tolerance)
    if isinstance(ours, (tuple, list)) and isinstance(theirs, (tuple, list)):
        if type(ours) is not type(theirs):
            return _of_types(ours, theirs)
        if len(ours) != len(theirs):
            return Difference((), "shape", (len(ours),), (len(theirs),))
        return _first(range(len(ours)), ours, theirs, tolerance)
    return _of_arrays(np.asarray(ours), np.asarray(theirs), tolerance)


def _of_types(ours: Any, theirs: Any) -> Difference:
    return Difference((), "type", type(ours).__name__, type(theirs).__name__)


def _of_dicts(ours: Any, theirs: Any, tolerance: float) -> Difference | None:
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return _of_types(ours, theirs)
    if ours.keys() != theirs.keys():
        return Difference((), "keys", sorted(ours), sorted(theirs))
    return _first(theirs, ours, theirs, tolerance)


def _first(keys: Any, ours: Any, theirs: Any, tolerance: float) -> Difference | None:
    for key in keys:
        found = first_difference(ours[key], theirs[key], tolerance)
        if found is not None:
            return found.under(key)
    return None


def _of_arrays(ours: Any, theirs: Any, tolerance: float) -> Difference | None:
    if ours.dtype != theirs.dtype:
        return Difference((), "dtype", str(ours.dtype), str(theirs.dtype))
    if ours.shape != theirs.shape:
        return Difference((), "shape", ours.shape, theirs.shape)
    if ours.dtype == object:
        return _of_objects(ours, theirs, tolerance)
    if ours.tobytes() == theirs.tobytes():
        return None
    differs = ours != theirs
    if ours.dtype.kind == "f":
        differs = _floats_differ(ours, theirs, tolerance)
    places = np.argwhere(differs)
    if not len(places):
        return None
    at = tuple(places[0].tolist())
    return Difference(at, "value", ours[at], theirs[at])


def _floats_differ(ours: Any, theirs: Any, tolerance: float) -> Any:
    both_nan = np.isnan(ours) & np.isnan(theirs)
    if tolerance:
        with np.errstate(invalid="ignore", over="ignore"):
            close = (ours == theirs) | (np.abs(ours - theirs) <= tolerance)
    else:
        close = (ours == theirs) & (np.signbit(ours) == np.signbit(theirs))
    return ~(close | both_nan)


def _of_objects(ours: Any, theirs: Any, tolerance: float) -> Difference | None:
    for at in np.ndindex(ours.shape):
        one, other = ours[at], theirs[at]
        if (one is None) != (other is None):
            return Difference(at, "value", one, other)
        found = None if one is None else first_difference(one, other, tolerance)
        if found is not None:
            return found.under(*at)
    return None
