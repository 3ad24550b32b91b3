"""BatchMemory: memory for batches, which is used again once nobody holds the arrays in it.

The first touch of fresh memory costs three times as much as a copy into memory in use.
"""

from __future__ import annotations

from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.cluster.frames import Frames
from parallel_pool._engine.trees import map_leaves

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

ALIGNMENT = 64
# free blocks that are kept for reuse
SPARE = 2
# references to such a block: of the list, of the loop's variable, and of getrefcount's argument
HELD_BY_US = 3


class BatchMemory:
    """Copies trees of arrays into blocks of its own.

    All arrays of a block are views whose `base` is one byte array, whose reference count tells
    whether somebody still holds any of them; `parallel_pool._engine.buffers` does the same.

    Attributes:
        blocks: the byte arrays, those that somebody holds and a few spare ones.
    """

    def __init__(self) -> None:
        self.blocks: list[Array] = []

    def copy(self, tree: Any) -> Any:
        """Returns a tree of arrays with the same values, which are the caller's own.

        Args:
            tree: of arrays and `Frames`.
        """
        sizes: list[int] = []
        map_leaves(lambda array: sizes.append(_room(array)), tree)
        block = self._free_block(sum(sizes))
        places = iter(np.cumsum([0, *sizes]).tolist())

        def into_block(array: Array | Frames) -> Array:
            start = next(places)
            if array.dtype.hasobject:
                return np.array(array)
            bytes_of = block[start : start + array.nbytes]
            copy: Array = bytes_of.view(array.dtype).reshape(array.shape)
            if isinstance(array, Frames):
                array.write(copy)
            else:
                np.copyto(copy, array)
            return copy

        return map_leaves(into_block, tree)

    def _free_block(self, size: int) -> Array:
        """Returns a block of this size that nobody holds; drops others that nobody needs."""
        found: Array | None = None
        kept: list[Array] = []
        spare = 0
        for block in self.blocks:
            if getrefcount(block) > HELD_BY_US:
                kept.append(block)
            elif found is None and block.nbytes == size:
                found = block
            elif spare < SPARE and block.nbytes == size:
                spare += 1
                kept.append(block)
        if found is None:
            found = np.empty(size, np.uint8)
        self.blocks = [*kept, found]
        return found


def _room(array: Array | Frames) -> int:
    return -(-array.nbytes // ALIGNMENT) * ALIGNMENT
