"""Mixtures, and the comparison of their rows with those of pools of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import parallel_pool
from parallel_pool._engine.mixture import ACTION_MASK
from parallel_pool._engine.specs import Definition

# environments of each task
BLOCK = 2


def mixture(*tasks: str) -> Definition:
    """Returns the mixture of some ids."""
    return parallel_pool.mixed(f"Mix.{'.'.join(tasks).replace('/', '.')}-v0", tasks)


def padded(row: Any, like: Any) -> Any:
    """Returns a row of one task as a mixture has it."""
    row, like = np.asarray(row), np.asarray(like)
    found = np.zeros(like.shape, like.dtype if like.dtype.kind == "f" else row.dtype)
    found[tuple(map(slice, row.shape))] = row
    return found


def block(task: int, size: int = BLOCK) -> slice:
    """Returns the rows of a task."""
    return slice(task * size, (task + 1) * size)


def assert_same_rows(mixed: Any, alone: Any, where: str) -> None:
    """Fails unless the rows of a task equal those of a pool of that task, and zeros follow."""
    assert len(mixed) == len(alone), where
    for i, (row, own) in enumerate(zip(mixed, alone, strict=True)):
        if own is None:
            assert row is None, where
            continue
        wanted = padded(own, row)
        np.testing.assert_array_equal(np.asarray(row), wanted, f"{where}, row {i}")


def assert_same_infos(mixed: Mapping[str, Any], alone: Mapping[str, Any], rows: slice) -> None:
    """Fails unless the rows of a task have the infos of a pool of that task, and no others."""
    for key, values in alone.items():
        if key.startswith("_"):
            np.testing.assert_array_equal(mixed[key][rows], values, key)
        elif isinstance(values, dict):
            assert_same_infos(mixed[key], values, rows)
        elif values.dtype.kind in "iu" and mixed[key].dtype.kind == "f":
            # an int in the rows of one task, and a float in those of another
            np.testing.assert_array_equal(mixed[key][rows].astype(values.dtype), values, key)
        else:
            assert_same_rows(mixed[key][rows], values, key)
    for key, values in mixed.items():
        if key.startswith("_") and key not in alone and key != f"_{ACTION_MASK}":
            assert not values[rows].any(), key


def joined_actions(space: Any, alone: Sequence[Any]) -> Any:
    """Returns the actions of pools of one task each as those of the mixture."""
    rows = sum(len(actions) for actions in alone)
    found = np.zeros((rows, *space.shape), alone[0].dtype)
    at = 0
    for actions in alone:
        found[(slice(at, at + len(actions)), *map(slice, actions.shape[1:]))] = actions
        at += len(actions)
    return found
