"""Rollouts: memory for the batches of several steps, which a pool's threads write in place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from parallel_pool._engine.arguments import usable_memory
from parallel_pool._engine.buffers import Array, Block, freed
from parallel_pool._engine.error_slot import error_slot
from parallel_pool._engine.held import Held
from parallel_pool._engine.pool_checks import check_idle
from parallel_pool._engine.sharing import is_shared
from parallel_pool._native import ffi, lib
from parallel_pool.errors import NotResetError, StateError

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._engine.base_pool import BasePool


class StepBlock(Block):
    """The batch of one step of a rollout; its arrays are rows of the rollout's.

    It is not free, or held, by itself: the rollout's memory is as a whole.
    """

    is_ordinary = False

    def __init__(self, memory: CData, owner: Array, arrays: list[Array]) -> None:
        self.memory = memory
        self.owner = owner
        self.arrays = arrays
        self.views = [array.view for array in arrays]


class RolloutMemory(Held):
    """The memory of `steps` batches, and of one before them for the first observations.

    Attributes:
        raw: the memory in C's form.
        arrays: for each of the pool's columns (steps + 1, num_envs, *shape); the user gets only
            views of them.
        blocks: the batches 1 to `steps`.
    """

    def __init__(self, pool: BasePool, steps: int) -> None:
        """
        Args:
            pool: with threads, and synchronous.
            steps: 1 or more.

        Raises:
            MemoryError: there is not so much memory.
        """
        count = steps + 1
        batch_bytes = int(lib.pp_batch_size(pool._handle))
        size = batch_bytes * count
        check_room(size)
        raw = (
            lib.pp_rollout_alloc(pool._handle, count) if count * pool.num_envs < 2**31 else ffi.NULL
        )
        if not raw:
            raise _no_room(size)
        # freed with its last array, which may outlive the pool
        self.raw = freed(raw, size)
        super().__init__(np.frombuffer(memoryview(ffi.buffer(self.raw, size)), np.uint8))
        self.arrays = self._columns(pool, count)
        self.blocks = [self._block(step, batch_bytes) for step in range(1, count)]
        self.settle()

    def _columns(self, pool: BasePool, batches: int) -> list[Array]:
        places = lib.pp_pool_columns(pool._handle, ffi.NULL)
        arrays: list[Array] = []
        for i, column in enumerate(pool.columns):
            start = places[i].offset * batches
            flat = self.owner[start : start + places[i].row_bytes * pool.num_envs * batches]
            shape = (batches, pool.num_envs, *column.shape)
            arrays.append(flat.view(column.dtype).reshape(shape))
        return arrays

    def _block(self, step: int, batch_bytes: int) -> StepBlock:
        address = ffi.cast("void *", ffi.cast("char *", self.raw) + step * batch_bytes)
        return StepBlock(address, self.owner, [array[step] for array in self.arrays])


def check_room(size: int) -> None:
    """Raises MemoryError if arrays of so many bytes, for a rollout, are more than there is."""
    if size > usable_memory():
        raise _no_room(size)


def _no_room(size: int) -> MemoryError:
    return MemoryError(
        f"no memory for a rollout of {size / 1e9:.3g} GB: choose fewer steps, or drop rollouts that"
        " you keep"
    )


def can_roll(pool: BasePool) -> bool:
    """Returns whether a pool's batches can be written into the memory of a rollout."""
    return not pool.is_async and pool._holds == "threads" and not is_shared(pool)


def check_received(pool: BasePool) -> None:
    """Raises if results are in flight, or as `check_idle`."""
    check_idle(pool)
    if pool.in_flight:
        raise StateError(
            f"results of an earlier call are pending ({pool.in_flight} environments): receive them"
            " first"
        )


def roll(pool: BasePool, memory: RolloutMemory) -> None:
    """Lets a pool write the next batches into the memory of a rollout, one for each step.

    Those after the last step lie in memory of their own again.

    Raises:
        StateError: results of an earlier call are pending, or another thread receives them.
        ClosedError, ForkedError: the pool can't be used.
    """
    check_received(pool)
    pool._ring.roll(memory, memory.raw, memory.blocks, error_slot.raw)


@contextmanager
def rolling(pool: BasePool, memory: RolloutMemory) -> Iterator[None]:
    """Does what `roll` does, until the end of the block.

    If that is an exception, C may go on to write there: the memory must not be used for another
    rollout.
    """
    ring = pool._ring
    try:
        roll(pool, memory)
        yield
    finally:
        if pool.closed or pool.in_flight:
            ring.leave_rollout()
        else:
            ring.roll(None, ffi.NULL, (), error_slot.raw)


def last_batch(pool: BasePool) -> list[Array]:
    """Returns the arrays of the last batch that the pool has delivered, as its user left them.

    Raises:
        NotResetError: there is none.
    """
    block = pool._ring.last
    if block is None:
        raise NotResetError("no environment was reset: call reset() first")
    return block.arrays


def count_batches(pool: BasePool) -> int:
    """Returns how many batches a pool has delivered, to see whether somebody has used it."""
    return pool.stats()["batches"]
