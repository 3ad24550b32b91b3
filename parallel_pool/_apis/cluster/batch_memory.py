"""BatchMemory: memory for batches, which is used again once nobody holds the arrays in it.

The first touch of fresh memory costs three times as much as a copy into memory in use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.cluster.frames import Frames
from parallel_pool._engine.held import Held
from parallel_pool._engine.trees import map_leaves

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array

ALIGNMENT = 64
# free blocks that are kept for reuse
MAX_FREE_BLOCKS = 2


class BatchMemory:
    """Copies trees of arrays into blocks of its own.

    Attributes:
        blocks: of bytes, those that somebody holds and a few spare ones.
    """

    def __init__(self) -> None:
        self.blocks: list[Held] = []

    def copy(self, tree: Any) -> Any:
        """Returns a tree of arrays with the same values, which are the caller's own.

        Args:
            tree: of arrays and `Frames`.
        """
        sizes: list[int] = []
        map_leaves(lambda array: sizes.append(_room(array)), tree)
        block = self._free_block(sum(sizes)).owner
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

    def _free_block(self, size: int) -> Held:
        """Returns a block of this size that nobody holds; drops others that nobody needs."""
        found: Held | None = None
        kept: list[Held] = []
        spare = 0
        for block in self.blocks:
            if not block.is_free():
                kept.append(block)
            elif found is None and block.owner.nbytes == size:
                found = block
            elif spare < MAX_FREE_BLOCKS and block.owner.nbytes == size:
                spare += 1
                kept.append(block)
        if found is None:
            found = Held(np.empty(size, np.uint8))
            found.settle()
        self.blocks = [*kept, found]
        return found


def _room(array: Array | Frames) -> int:
    return -(-array.nbytes // ALIGNMENT) * ALIGNMENT
