"""Equality: whether attributes of two environments in Python are the same."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from parallel_pool._translator import records


def is_equal(one: Any, other: Any) -> bool:
    """Returns whether two values have the same types, keys and numbers."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and np.array_equal(one, other)
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple, deque)):
        return len(one) == len(other) and all(map(is_equal, one, other))
    if records.is_object(one):
        return is_equal(vars(one), vars(other)) if hasattr(one, "__dict__") else bool(one == other)
    same = one == other
    return bool(same) or (not isinstance(one, (int, float)) and repr(one) == repr(other))
