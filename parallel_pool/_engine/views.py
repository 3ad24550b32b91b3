"""Views: functions that make the arrays of a batch, and what results are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from parallel_pool._engine.buffers import Array

T = TypeVar("T")

Batch = tuple[Array, ...]
Views = Sequence[Callable[[], Array]]


def all_arrays(views: Views) -> Batch:
    """Returns all arrays of a batch."""
    return tuple([view() for view in views])


def convert_batch(convert: Callable[[Views], T], batch: Batch) -> T:
    """Returns the result of `convert` for arrays instead of views."""
    return convert([array.view for array in batch])
