"""Tuples of numbers: in C one array with a column for each, in Gymnasium's API several arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def split(rows: Any) -> tuple[Any, ...]:
    """Returns the columns of an array (n, k), NumPy's or JAX's: k arrays (n,), each a copy."""
    return tuple(rows[:, i].copy() for i in range(rows.shape[1]))


def joined(columns: Any, count: int, size: int) -> Any:
    """Returns actions (n, k), given as k arrays (n,).

    Args:
        columns: the arrays, or lists.
        count: n.
        size: k.

    Raises:
        ValueError: they have other shapes.
    """
    shapes = [np.shape(column) for column in columns]
    if shapes != [(count,)] * size:
        raise ValueError(
            f"actions are a tuple of arrays of shapes {shapes}: give {size} of shape ({count},)"
        )
    return np.stack([np.asarray(column) for column in columns], axis=1)
