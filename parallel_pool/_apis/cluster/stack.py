"""Stack: arrays of several steps as one, in memory that is used again for each batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.cluster.frames import Frames, FrameStack, may_be_stacks
from parallel_pool._engine.trees import map_leaves

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array


class Stack:
    """Stacks trees of arrays along a new first axis, as `np.stack` does.

    Observations that are stacks of frames become `Frames`. What it returns is overwritten by the
    next batch.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._tree: Any = None

    def put(self, step: int, tree: Any) -> None:
        """Copies the arrays of a step; steps come in order, from 0 on.

        Nobody may write to them until the next step.
        """
        if self._tree is None:
            self._tree = map_leaves(lambda _: _Leaf(self._steps), tree)
        map_leaves(lambda leaf, array: leaf.put(step, array), self._tree, tree)

    def arrays(self) -> Any:
        """Returns the stacked arrays, once all steps were put."""
        return map_leaves(lambda leaf: leaf.whole, self._tree)


class _Leaf:
    """One array of the tree."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._array: Array = np.empty(0)
        # while stacks of frames come
        self._frames: FrameStack | None = None

    @property
    def whole(self) -> Array | Frames:
        return self._array if self._frames is None else self._frames.frames()

    def put(self, step: int, value: Any) -> None:
        array = np.asarray(value)
        if step == 0 and (self._frames is None or not self._frames.takes(array)):
            self._frames = FrameStack(self._steps, array) if may_be_stacks(array) else None
        if self._frames is None:
            self._put(step, array)
        elif not (self._frames.takes(array) and self._frames.put(step, array)):
            self._leave_frames(step, array)

    def _leave_frames(self, step: int, array: Array) -> None:
        """Goes on with whole observations."""
        assert self._frames is not None
        found = self._frames.frames()
        self._frames = None
        whole = np.empty(found.shape, found.dtype)
        found.write(whole)
        for earlier in range(step):
            self._put(earlier, whole[earlier])
        self._put(step, array)

    def _put(self, step: int, array: Array) -> None:
        whole = self._array
        if step == 0 and (whole.dtype != array.dtype or whole.shape != (self._steps, *array.shape)):
            whole = self._array = np.empty((self._steps, *array.shape), array.dtype)
        elif array.shape != whole.shape[1:]:
            raise ValueError(
                f"step {step} of a batch has an array of shape {array.shape}, its first step"
                f" {whole.shape[1:]}: return the same shape at each step"
            )
        elif array.dtype != whole.dtype:
            # longer texts, or a float after integers
            dtype = np.result_type(array.dtype, whole.dtype)
            whole = self._array = whole.astype(dtype)
        whole[step] = array
