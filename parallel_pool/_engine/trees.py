"""Trees: arrays in dicts and tuples, at any depth, as spaces nest them.

A flat dict stands for a tree of dicts: its names are paths of keys with dots between them, as
EnvPool's names and those of fields in C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from parallel_pool._engine.strict_zip import zip

Array = npt.NDArray[Any]


def map_leaves(function: Callable[..., Any], *trees: Any) -> Any:
    """Returns a tree of what a function returns for the leaves of trees of the same form.

    The first tree says what is a leaf, and which keys dicts have.
    """
    first = trees[0]
    # most trees are one array, and looking for the class of mappings takes long
    if isinstance(first, np.ndarray):
        return function(*trees)
    if isinstance(first, Mapping):
        return {key: map_leaves(function, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, tuple):
        parts = [map_leaves(function, *each) for each in zip(*trees, strict=True)]
        make = getattr(first, "_make", tuple)
        return make(parts)
    return function(*trees)


def nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Returns {"a.b": x} as {"a": {"b": x}}."""
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *path, last = name.split(".")
        branch = tree
        for step in path:
            branch = branch.setdefault(step, {})
        branch[last] = value
    return tree


def flat(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Returns {"a": {"b": x}} as {"a.b": x}."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            found.update({f"{key}.{name}": each for name, each in flat(value).items()})
        else:
            found[key] = value
    return found


def names_of(tree: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the names that `nest` made a tree of, in its order."""
    found: list[str] = []
    for key, value in tree.items():
        inner = names_of(value) if isinstance(value, Mapping) else ()
        found += [f"{key}.{name}" for name in inner] or [key]
    return tuple(found)


def row_of(tree: Any, row: int) -> Any:
    """Returns a copy of one row of a tree of arrays (rows, ...)."""
    return map_leaves(lambda array: array[row].copy(), tree)


def put_rows(tree: Any, rows: Any, values: Any) -> None:
    """Writes values into some rows of a tree of arrays.

    Args:
        tree: arrays (n, ...).
        rows: a bool mask (n,), or another index.
        values: a tree of the same form, or one value for all its arrays.
    """

    def put(array: Array, own: Any) -> None:
        array[rows] = own

    if isinstance(values, (Mapping, tuple, np.ndarray)):
        map_leaves(put, tree, values)
    else:
        map_leaves(lambda array: put(array, values), tree)
