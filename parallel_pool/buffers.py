"""Batches as NumPy arrays: who holds which memory, and when it may be used again.

A batch's memory has one owner, a plain byte array that nobody outside this module ever sees. All
arrays handed out are views whose `base` is that owner (NumPy collapses chains of views), so its
reference count tells whether the user still holds any of them. Nothing runs when an array is
dropped: the ring looks when it needs a batch, and a batch that is still held is left alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._native import ffi, lib, text
from parallel_pool.specs import DTYPES

if TYPE_CHECKING:
    from parallel_pool._core import CData

Array = np.ndarray[Any, np.dtype[Any]]

# what the user holds in an ordinary loop before batches count as many
ORDINARY = 3


@dataclass(frozen=True)
class Column:
    """One array of a batch.

    Attributes:
        name: the field's name, or the engine's ("reward", "terminated", ...).
        dtype: of its elements.
        shape: of one row, players included.
        field: index of the environment's field, -1 for the engine's own.
        is_final: holds what an episode ended with, in rows that ended one.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    field: int
    is_final: bool


# What a pool's fields are where C knows only their bytes: dtype and shape, in order.
Types = Sequence[tuple[np.dtype[Any], tuple[int, ...]]]


class Batch:
    """One block of memory and the arrays over it.

    Attributes:
        memory: the block as C takes it.
        owner: what all arrays over it hold on to.
        unheld: the reference count of `owner` while nobody outside holds an array.
        arrays: one for each column, all rows; only views of them are handed out.
        views: for each of them, what makes such a view.
    """

    def __init__(self, pool: CData, rows: int, types: Types = ()) -> None:
        size = lib.pp_batch_size(pool)
        raw = lib.pp_batch_alloc(pool)
        if not raw:
            raise MemoryError(f"no memory for a batch of {size} bytes: drop results you keep")
        # freed with the last array over it, which may outlive the pool
        self.memory = ffi.gc(raw, lambda address: lib.pp_batch_free(address, size), size)
        self.owner = np.frombuffer(memoryview(ffi.buffer(self.memory, size)), np.uint8)
        count = ffi.new("int32_t *")
        columns = lib.pp_pool_columns(pool, count)
        self.arrays = [self._array(columns[i], rows, types) for i in range(count[0])]
        self.views = [array.view for array in self.arrays]
        self.unheld = getrefcount(self.owner)

    def _array(self, column: CData, rows: int, types: Types) -> Array:
        dtype, shape = type_of(column, types)
        raw: Array = self.owner[column.offset : column.offset + column.row_bytes * rows]
        return raw.view(dtype).reshape(rows, *shape)


class Ring:
    """All batches of a pool: those given to C in order, those lent to the user, those to spare.

    An exception may come out of the blue (Ctrl-C does, after any call), and a batch that C has
    given must not be lost by it. So `swap` changes what counts at its end, where nothing is called.

    Attributes:
        fresh: memory to give to C for the next receive; the same until `swap` is done.
        oldest: the batch that C gives next, or has given, until `swap` is done.
    """

    def __init__(self, pool: CData, rows: int, types: Types = ()) -> None:
        self._pool = pool
        self._rows = rows
        self._types = types
        # those that C holds, and the fresh one where the oldest will have been
        count = lib.pp_pool_batches(pool) + 1
        self._slots = [Batch(pool, rows, types) for _ in range(count)]
        self._at = 0
        self._last: Batch | None = None
        self._lent: deque[Batch] = deque()
        self.oldest = self._slots[0]
        self.fresh = self._slots[-1].memory

    def fill(self) -> list[CData]:
        """Returns the memory that C must hold from the start, in order."""
        return [batch.memory for batch in self._slots[:-1]]

    def swap(self) -> None:
        """C has taken the fresh memory and given the oldest batch, which is the user's now."""
        # what an exception makes this forget is freed
        last, self._last = self._last, None
        lent = self._lent
        if last is not None:
            lent.append(last)
        # in an ordinary loop the batch lent longest ago is free, and there are few
        if lent and len(lent) <= ORDINARY and getrefcount(lent[0].owner) == lent[0].unheld:
            spare = lent.popleft()
        else:
            spare = self._search()
        slots, at = self._slots, self._at
        following = at + 1 if at + 1 < len(slots) else 0
        # from here on no call: Python looks for signals after each
        self._last = slots[at]
        slots[at] = spare
        self._at = following
        self.oldest = slots[following]
        self.fresh = spare.memory

    def _search(self) -> Batch:
        """A batch that nobody holds, the oldest if possible, else a new one.

        Looks at four a time, so that the cost does not grow with what the user keeps; further ones
        that are free are given back to the system once there are more than an ordinary loop needs.
        """
        found: Batch | None = None
        for _ in range(min(4, len(self._lent))):
            batch = self._lent.popleft()
            if getrefcount(batch.owner) != batch.unheld:
                self._lent.append(batch)
            elif found is None:
                found = batch
            elif len(self._lent) < ORDINARY:
                self._lent.append(batch)
        return found or Batch(self._pool, self._rows, self._types)

    def __len__(self) -> int:
        return len(self._slots) + len(self._lent) + (self._last is not None)


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
