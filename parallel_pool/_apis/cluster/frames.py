"""Frames: observations that stack frames, with each frame stored once.

An observation of four stacked frames shares three of them with the one before, so a batch of them
has a quarter of the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

# Frames with fewer bytes are cheaper to copy than to compare.
MIN_FRAME_BYTES = 1024
# more frames than this are not a frame stack
MAX_FRAMES = 16


@dataclass(frozen=True)
class Frames:
    """Stacks of frames, as an array (steps, n, k, *frame shape) would have them.

    Attributes:
        frames: each frame once, (count, *frame shape).
        index: int64 (steps, n, k), into frames.
    """

    frames: Array
    index: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array that this stands for."""
        return (*self.index.shape, *self.frames.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the array that this stands for."""
        return self.frames.dtype

    @property
    def nbytes(self) -> int:
        """Of the array that this stands for."""
        return self.index.size * self.frames[:1].nbytes

    def write(self, array: Array) -> None:
        """Writes the stacks to an array of this shape, C-contiguous."""
        places = self.index.reshape(-1)
        # without "clip", take would write to memory of its own first
        np.take(self.frames, places, 0, array.reshape(-1, *self.frames.shape[1:]), mode="clip")

    def rows(self, numbers: Array) -> Array:
        """Returns some rows of the array, counted over its first two axes."""
        found: Array = self.frames[self.index.reshape(-1, self.index.shape[2])[numbers]]
        return found


def may_be_stacks(array: Array) -> bool:
    """Returns whether the observations of a step, (n, k, ...), may be stacks of frames."""
    return (
        array.ndim >= 3
        and 1 < array.shape[1] <= MAX_FRAMES
        and array.flags.c_contiguous
        and array[0, 0].nbytes >= MIN_FRAME_BYTES
    )


class FrameStack:
    """Collects the observations of several steps as `Frames`, in memory that is used again.

    It compares bytes, so it is right whatever the environments do.
    """

    def __init__(self, steps: int, first: Array) -> None:
        """
        Args:
            steps: of a batch.
            first: observations of a step, for which `may_be_stacks`.
        """
        n, k, *frame = first.shape
        self._index = np.empty((steps, n, k), np.int64)
        # there is room for one reset of each environment, and more is made if it is needed
        self._frames = np.empty((n * (2 * k + steps), *frame), first.dtype)
        self._count = 0
        self._last = first

    def takes(self, array: Array) -> bool:
        """Returns whether observations have the shape and dtype of the first ones."""
        same = array.shape == self._last.shape and array.dtype == self._last.dtype
        return same and array.flags.c_contiguous

    def put(self, step: int, array: Array) -> bool:
        """Adds the observations of a step; returns whether so far half the bytes or more are saved.

        The first stacks do not count.

        Args:
            step: from 0 on, in order.
            array: nobody may write to it until the next step.
        """
        if step == 0:
            self._count = 0
            self._index[0] = self._add(array.reshape(-1, *array.shape[2:])).reshape(array.shape[:2])
            self._last = array
            return True
        shares = _words(array[:, :-1]) == _words(self._last[:, 1:])
        shifted = shares.all(axis=tuple(range(1, shares.ndim)))
        index, before = self._index[step], self._index[step - 1]
        if shifted.all():
            index[:, :-1], index[:, -1] = before[:, 1:], self._add(array[:, -1])
        else:
            index[shifted, :-1] = before[shifted, 1:]
            index[shifted, -1] = self._add(array[shifted, -1])
            others = array[~shifted]
            added = self._add(others.reshape(-1, *others.shape[2:]))
            index[~shifted] = added.reshape(others.shape[:2])
        self._last = array
        return bool(2 * (self._count - index.size) <= (step + 1) * index.size)

    def frames(self) -> Frames:
        """Returns what was put; the next batch overwrites it."""
        return Frames(self._frames[: self._count], self._index)

    def _add(self, frames: Array) -> Array:
        """Stores frames; returns their indices."""
        start, end = self._count, self._count + len(frames)
        if end > len(self._frames):
            more = np.empty((2 * end, *self._frames.shape[1:]), self._frames.dtype)
            more[:start] = self._frames[:start]
            self._frames = more
        self._frames[start:end] = frames
        self._count = end
        return np.arange(start, end)


def _words(array: Array) -> Array:
    """Returns the bytes of parts of contiguous observations, in words of 8 if they have whole ones:
    these compare faster."""
    n, k = array.shape[:2]
    size = array[0, 0].nbytes
    if array.dtype.hasobject:
        return array
    # the axes after the first two are contiguous
    flat = array.reshape(n, k, -1) if array.ndim > 3 else array
    # never by value: -0.0 is equal to 0.0
    return flat.view(np.uint8 if size % 8 else np.uint64)
