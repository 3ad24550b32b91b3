"""Tuple observations: several arrays in place of one array with a column for each."""

from __future__ import annotations

from typing import Any


def split(rows: Any) -> tuple[Any, ...]:
    """Returns the columns of an array (n, k), NumPy's or JAX's: k arrays (n,), each a copy."""
    return tuple(rows[:, i].copy() for i in range(rows.shape[1]))
