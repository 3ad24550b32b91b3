"""Trees: arrays in dicts and tuples, at any depth, as spaces nest them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


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
        return first._make(parts) if hasattr(first, "_make") else tuple(parts)
    return function(*trees)
