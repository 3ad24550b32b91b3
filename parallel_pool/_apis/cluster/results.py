"""Results: puts the results of several workers together, and takes results and actions apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Dict, Space, Tuple

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

    # a worker's part of a result, and the rows that it has there
    Part = tuple[Any, slice]


def joined(parts: Sequence[Part], count: int, space: Space[Any] | None = None) -> Any:
    """Returns the trees of all workers as one, whose arrays are the caller's own.

    Args:
        parts: trees of arrays (rows, ...), dicts and tuples, all of the same form.
        count: rows of the result; those of no part are zeros.
        space: of one row. A tuple is one of parts if this is a tuple, else it has a value for each
            row, of a space without arrays. None for arrays.
    """
    first = parts[0][0]
    if isinstance(first, Mapping):
        return {
            key: joined([(tree[key], own) for tree, own in parts], count, _inner(space, key))
            for key in first
        }
    if isinstance(first, tuple) and not isinstance(space, Tuple):
        found: list[Any] = [None] * count
        for values, own in parts:
            found[own] = values
        return tuple(found)
    if isinstance(first, tuple):
        return tuple(
            joined([(tree[i], own) for tree, own in parts], count, _inner(space, i))
            for i in range(len(first))
        )
    whole: Array = np.zeros((count, *first.shape[1:]), first.dtype)
    for values, own in parts:
        whole[own] = values
    return whole


def _inner(space: Any, key: Any) -> Any:
    """Returns the space of a part of a tuple or dict."""
    return space[key] if isinstance(space, Dict | Tuple) else None


def check_rows(actions: Any, space: Space[Any], count: int) -> None:
    """Raises ValueError unless each part of actions has so many rows; see `part_of_actions`."""
    if isinstance(space, Dict) and isinstance(actions, Mapping):
        for key in space.spaces:
            if key in actions:
                check_rows(actions[key], space[key], count)
    elif isinstance(space, Tuple) and isinstance(actions, tuple):
        for part, own in zip(actions, space.spaces, strict=False):
            check_rows(part, own, count)
    elif hasattr(actions, "__len__") and len(actions) != count:
        raise ValueError(f"{len(actions)} actions: give one for each of {count} environments")


def part_of_actions(actions: Any, space: Space[Any], rows: slice) -> Any:
    """Returns the actions of some rows.

    Args:
        actions: of all rows, as a vector environment takes them.
        space: of one action.
    """
    if isinstance(space, Dict) and isinstance(actions, Mapping):
        return {key: part_of_actions(actions[key], space[key], rows) for key in space.spaces}
    if isinstance(space, Tuple) and isinstance(actions, tuple):
        return tuple(
            part_of_actions(part, own, rows)
            for part, own in zip(actions, space.spaces, strict=True)
        )
    return actions[rows]
