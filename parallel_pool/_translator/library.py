"""Library: functions of Python's library, written so that they are translated as the user's are."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable
from typing import Any

import numpy as np


def _heappush(heap: Any, item: Any) -> None:
    heap.append(item)
    _to_root(heap, item, len(heap) - 1)


def _heappop(heap: Any) -> Any:
    if len(heap) == 1:
        return heap.pop()
    last = heap.pop()
    first = heap[0]
    _to_leaf(heap, last, 0)
    return first


def _heapreplace(heap: Any, item: Any) -> Any:
    first = heap[0]
    _to_leaf(heap, item, 0)
    return first


def _heapify(heap: Any) -> None:
    at = len(heap) // 2 - 1
    while at >= 0:
        item = heap[at]
        _to_leaf(heap, item, at)
        at -= 1


def _to_root(heap: Any, item: Any, at: int) -> None:
    """Puts an item in a free place, or nearer to the root if it is smaller than what is there."""
    _to_place(heap, item, at, 0)


def _to_leaf(heap: Any, item: Any, free: int) -> None:
    """Puts an item in a free place of a heap, under which the smaller children come up."""
    at = free
    child = 2 * at + 1
    while child < len(heap):
        if child + 1 < len(heap) and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    _to_place(heap, item, at, free)


def _to_place(heap: Any, item: Any, at: int, highest: int) -> None:
    while at > highest:
        parent = (at - 1) // 2
        if not item < heap[parent]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = item


def _bisect_left(a: Any, x: Any) -> int:
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def _bisect_right(a: Any, x: Any) -> int:
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if x < a[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def _insort_left(a: Any, x: Any) -> None:
    a.insert(_bisect_left(a, x), x)


def _insort_right(a: Any, x: Any) -> None:
    a.insert(_bisect_right(a, x), x)


def _cross(a: Any, b: Any) -> Any:
    one, other = np.asarray(a), np.asarray(b)
    if one.ndim == 1 and other.ndim == 1:
        return np.array(
            [
                one[1] * other[2] - one[2] * other[1],
                one[2] * other[0] - one[0] * other[2],
                one[0] * other[1] - one[1] * other[0],
            ]
        )
    rows, others = np.atleast_2d(one), np.atleast_2d(other)
    return np.column_stack(
        (
            rows[:, 1] * others[:, 2] - rows[:, 2] * others[:, 1],
            rows[:, 2] * others[:, 0] - rows[:, 0] * others[:, 2],
            rows[:, 0] * others[:, 1] - rows[:, 1] * others[:, 0],
        )
    )


def _trace(a: Any) -> Any:
    matrix = np.asarray(a)
    return np.array([matrix[i, i] for i in range(min(matrix.shape))]).sum()


def correlated(x: Any, mean: Any, cov: Any) -> Any:
    """Returns what Generator.multivariate_normal makes of rows of standard normals."""
    u, s, _ = np.linalg.svd(cov)
    return mean + x @ (u * np.sqrt(s)).T


def most_common(counts: Any, n: Any = None) -> Any:
    """Returns what Counter.most_common returns."""
    found = sorted(counts.items(), key=lambda pair: pair[1], reverse=True)
    return found if n is None else found[:n]


WRITTEN: dict[Any, Callable[..., Any]] = {
    np.cross: _cross,
    np.trace: _trace,
    heapq.heappush: _heappush,
    heapq.heappop: _heappop,
    heapq.heapreplace: _heapreplace,
    heapq.heapify: _heapify,
    bisect.bisect_left: _bisect_left,
    bisect.bisect_right: _bisect_right,
    bisect.insort_left: _insort_left,
    bisect.insort_right: _insort_right,
}


def written(function: Any) -> Callable[..., Any] | None:
    """Returns what is translated in place of a function of Python's library; None for others."""
    try:
        return WRITTEN.get(function)
    except TypeError:
        return None
