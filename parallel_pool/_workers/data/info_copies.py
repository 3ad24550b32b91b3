"""Copies of infos, which environments may change after they returned them."""

from __future__ import annotations

import copy
import reprlib
from typing import Any

import numpy as np

# levels of dicts, lists and tuples in each other; pickle gives up at about 300
MAX_DEPTH = 100
# levels that a message shows
SHOWN = 3
CONTAINERS = dict, list, tuple


def copied(value: Any, path: str = "info") -> Any:
    """Returns a copy of infos, or of an observation: its containers and arrays are new.

    Other objects are the same ones.

    Args:
        value: to be copied.
        path: what a message calls it.

    Raises:
        ValueError: it contains itself, or is nested too deeply.
    """
    return _copied(value, path, MAX_DEPTH, {})


def _copied(value: Any, path: str, depth: int, known: dict[int, Any]) -> Any:
    """Copies a value.

    Args:
        depth: levels that it may have.
        known: copies of containers by id, so that one that occurs twice is copied once.
    """
    kind = type(value)
    if kind is np.ndarray:
        return value.copy()
    if not isinstance(value, CONTAINERS):
        return value
    if not depth:
        raise _too_deep(path)
    if id(value) not in known:
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        copies = {
            key: _copied(part, _path(path, key, depth), depth - 1, known) for key, part in parts
        }
        known[id(value)] = _of_kind(value, copies)
    return known[id(value)]


def _of_kind(value: Any, copies: dict[Any, Any]) -> Any:
    """Returns a container like value with these items, by key or index."""
    kind = type(value)
    if kind is dict:
        return copies
    if isinstance(value, dict):
        # an OrderedDict or a defaultdict, for example
        same = copy.copy(value)
        same.update(copies)
        return same
    if kind in (list, tuple):
        return kind(copies.values())
    # a named tuple; other kinds of lists and tuples stay as they are
    return kind._make(copies.values()) if hasattr(kind, "_make") else value


def check_depth(value: Any, path: str = "info") -> None:
    """Refuses infos that contain themselves, or are nested too deeply.

    Raises:
        ValueError: so says the message, with the place.
    """
    _check_depth(value, path, MAX_DEPTH, {})


def _check_depth(value: Any, path: str, depth: int, known: dict[int, int]) -> None:
    """Checks a container.

    Args:
        depth: levels that it may have.
        known: by id, the least levels with which a container was checked.
    """
    if not depth:
        raise _too_deep(path)
    if known.get(id(value), depth + 1) <= depth:
        return
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        if isinstance(part, CONTAINERS):
            _check_depth(part, _path(path, key, depth), depth - 1, known)
    known[id(value)] = depth


def _path(path: str, key: Any, depth: int) -> str:
    return f"{path}[{reprlib.repr(key)}]" if depth > MAX_DEPTH - SHOWN else path


def _too_deep(path: str) -> ValueError:
    return ValueError(
        f"{path}... contains itself, or has more than {MAX_DEPTH} levels of dicts, lists and tuples"
        " in each other: return infos with fewer levels"
    )
