"""Masks: which rows of a batch, as bool arrays (n,).

NumPy's `any` and `flatnonzero` are written in Python, and take three times as long for few rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array


def has_any(mask: Array) -> bool:
    """Returns whether a mask has any row."""
    return bool(np.count_nonzero(mask))


def rows_in(mask: Array) -> list[int]:
    """Returns the rows of a mask."""
    rows: list[int] = mask.nonzero()[0].tolist()
    return rows
