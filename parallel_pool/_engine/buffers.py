"""Buffers: the memory of batches as NumPy arrays, its ownership and its reuse.

A batch's memory has one owner, a byte array that is private to this module. All arrays given to the
user are views whose `base` is that owner (NumPy collapses chains of views), so its reference count
shows whether the user still holds any of them. Nothing runs when an array is dropped: the ring
checks the counts when it needs a block, and does not reuse one that is still held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.specs import DTYPES
from parallel_pool._native import ffi, lib, text

if TYPE_CHECKING:
    from typing import TypeAlias

    from parallel_pool._core import CData

Array = np.ndarray[Any, np.dtype[Any]]

# Observations: an array, or the tree of arrays that the space says. A program knows which, so it
# is not made to narrow a union: type checkers accept what an array or anything else has.
if TYPE_CHECKING:
    Observations: TypeAlias = Array | Any

# a training loop rarely keeps more blocks than this
MAX_HELD_BLOCKS = 3


@dataclass(frozen=True)
class Column:
    """One array of a batch.

    Attributes:
        name: the field's name, or that of an engine column ("reward", "terminated", ...).
        dtype: of its elements.
        shape: of one row, with an axis of players if there are several.
        field: index of the environment's field, -1 for an engine column.
        is_final: whether it holds the last value of an episode, in rows that ended one.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    field: int
    is_final: bool


# dtype and shape of each of a pool's fields, if C knows only their bytes
Types = Sequence[tuple[np.dtype[Any], tuple[int, ...]]]


class Block:
    """The memory of one batch and the arrays over it.

    Attributes:
        memory: the block in C's form.
        owner: the byte array that all arrays refer to.
        free_count: the reference count of `owner` while the user holds no array.
        arrays: one for each column, all rows; the user gets only views of them.
        views: for each array a function that returns a view.
    """

    def __init__(self, pool: CData, rows: int, types: Types = ()) -> None:
        size = lib.pp_batch_size(pool)
        raw = lib.pp_batch_alloc(pool)
        if not raw:
            raise MemoryError(f"no memory for a batch of {size} bytes: drop results you keep")
        # freed with its last array, which may outlive the pool
        self.memory = ffi.gc(raw, lambda address: lib.pp_batch_free(address, size), size)
        self.owner = np.frombuffer(memoryview(ffi.buffer(self.memory, size)), np.uint8)
        count = ffi.new("int32_t *")
        columns = lib.pp_pool_columns(pool, count)
        self.arrays = [self._array(columns[i], rows, types) for i in range(count[0])]
        self.views = [array.view for array in self.arrays]
        self.free_count = getrefcount(self.owner)

    def _array(self, column: CData, rows: int, types: Types) -> Array:
        dtype, shape = type_of(column, types)
        raw: Array = self.owner[column.offset : column.offset + column.row_bytes * rows]
        return raw.view(dtype).reshape(rows, *shape)


class Ring:
    """All blocks of a pool: those that C fills in order, those lent to the user, and spare ones.

    An exception may come at any time (Ctrl-C, after any function call), and it must not lose a
    batch that C has given. So `swap` changes the state that matters at its end, where it calls no
    function.

    Attributes:
        next_memory: memory for C at the next receive; unchanged until `swap` is done.
        oldest: the block that C gives next, or has given, until `swap` is done.
    """

    def __init__(self, pool: CData, rows: int, types: Types = ()) -> None:
        self._pool = pool
        self._rows = rows
        self._types = types
        # the blocks that C holds, and the fresh one, which replaces the oldest
        count = lib.pp_pool_batches(pool) + 1
        self._slots = [Block(pool, rows, types) for _ in range(count)]
        self._at = 0
        self._last: Block | None = None
        self._lent: deque[Block] = deque()
        # the block held by compiled programs that also receive from this pool; see `share`
        self._shared_block: Block | None = None
        self.oldest = self._slots[0]
        self.next_memory = self._slots[-1].memory

    def fill(self) -> list[CData]:
        """Returns the memory that C must hold from the start, in order."""
        return [block.memory for block in self._slots[:-1]]

    def swap(self) -> None:
        """Advances to the next block, after C took the fresh memory and gave the oldest block."""
        # if an exception loses a block here, its memory is freed
        last, self._last = self._last, None
        lent = self._lent
        if last is not None:
            lent.append(last)
        # in an ordinary loop few blocks are lent, and the one lent longest ago is free
        if (
            lent
            and len(lent) <= MAX_HELD_BLOCKS
            and getrefcount(lent[0].owner) == lent[0].free_count
        ):
            spare = lent.popleft()
        else:
            spare = self._search()
        slots, at = self._slots, self._at
        following = at + 1 if at + 1 < len(slots) else 0
        # no function call from here on: Python handles signals after each
        self._last = slots[at]
        slots[at] = spare
        self._at = following
        self.oldest = slots[following]
        self.next_memory = spare.memory

    def share(self) -> CData:
        """Returns memory with which others can receive from the pool, who then call `follow`."""
        self._shared_block = Block(self._pool, self._rows, self._types)
        return self._shared_block.memory

    def follow(self, held: Sequence[CData], apart: CData) -> None:
        """Takes over the order of the blocks after others have received.

        Args:
            held: the memory that C holds, in the order in which it will give it.
            apart: the memory that the others hold.
        """
        blocks = [*self._slots, *([] if self._shared_block is None else [self._shared_block])]
        known = {_address(block.memory): block for block in blocks}
        slots = [known.pop(_address(memory)) for memory in held]
        other = known.pop(_address(apart))
        # the free block; or that of a batch whose delivery an exception interrupted
        (fresh,) = known.values()
        self._slots, self._at, self._shared_block = [*slots, fresh], 0, other
        self.oldest, self.next_memory = slots[0], fresh.memory

    def _search(self) -> Block:
        """Returns a block that the user does not hold, the oldest if possible, else a new one.

        It checks four blocks a call, so that its cost does not grow with what the user keeps. Other
        blocks that nobody holds are freed if there are more than a training loop needs.
        """
        found: Block | None = None
        for _ in range(min(4, len(self._lent))):
            block = self._lent.popleft()
            if getrefcount(block.owner) != block.free_count:
                self._lent.append(block)
            elif found is None:
                found = block
            elif len(self._lent) < MAX_HELD_BLOCKS:
                self._lent.append(block)
        return found or Block(self._pool, self._rows, self._types)

    def __len__(self) -> int:
        apart = (self._last is not None) + (self._shared_block is not None)
        return len(self._slots) + len(self._lent) + apart


def _address(memory: CData) -> int:
    return int(ffi.cast("uintptr_t", memory))


def type_of(column: CData, types: Types) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Returns dtype and shape of one row of a column."""
    if types and column.field >= 0:
        at: int = column.field
        return types[at]
    return DTYPES[column.dtype], tuple(column.shape[axis] for axis in range(column.ndim))


def read_columns(pool: CData, types: Types = ()) -> tuple[Column, ...]:
    """Returns the columns of a pool's batches in order."""
    count = ffi.new("int32_t *")
    columns = lib.pp_pool_columns(pool, count)
    return tuple(
        Column(
            name=text(columns[i].name),
            dtype=type_of(columns[i], types)[0],
            shape=type_of(columns[i], types)[1],
            field=columns[i].field,
            is_final=bool(columns[i].is_final),
        )
        for i in range(count[0])
    )


def engine_indices(columns: Sequence[Column]) -> dict[str, int]:
    """Returns the index of each engine column ("reward", "terminated", ...) by name."""
    return {column.name: i for i, column in enumerate(columns) if column.field < 0}
