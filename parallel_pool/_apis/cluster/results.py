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


def joined(parts: Sequence[Part], count: int) -> Any:
    """Returns the trees of all workers as one, whose arrays are the caller's own.

    Args:
        parts: trees of arrays (rows, ...), dicts and tuples, all of the same form. A tuple of one
            value for each row (of a space without arrays) counts as rows.
        count: rows of the result; those of no part are zeros.
    """
    first = parts[0][0]
    if isinstance(first, Mapping):
        return {key: joined([(tree[key], own) for tree, own in parts], count) for key in first}
    if isinstance(first, tuple) and _is_of_rows(parts):
        found: list[Any] = [None] * count
        for values, own in parts:
            found[own] = values
        return tuple(found)
    if isinstance(first, tuple):
        return tuple(
            joined([(tree[i], own) for tree, own in parts], count) for i in range(len(first))
        )
    whole: Array = np.zeros((count, *first.shape[1:]), first.dtype)
    for values, own in parts:
        whole[own] = values
    return whole


def _is_of_rows(parts: Sequence[Part]) -> bool:
    """Returns whether tuples hold a value for each row, not an array for each part of a space."""
    return all(
        len(values) == own.stop - own.start
        and not all(
            isinstance(value, np.ndarray) and value.shape[:1] == (own.stop - own.start,)
            for value in values
        )
        for values, own in parts
    )


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
