"""Buffers: the memory of batches as NumPy arrays, its ownership and its reuse.

A batch's memory is a block, whose arrays the user may hold (`Held`). When the ring needs a block it
asks those that it lent, and does not reuse one that is still held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.held import Held
from parallel_pool._engine.specs import DTYPES
from parallel_pool._native import ffi, lib, raise_error, text

if TYPE_CHECKING:
    from typing import TypeAlias

    from parallel_pool._core import CData

Array = np.ndarray[Any, np.dtype[Any]]

# Observations: an array, or the tree of arrays that the space says. A program knows which, so it
# is not made to narrow a union: type checkers accept what an array or anything else has.
if TYPE_CHECKING:
    Observations: TypeAlias = Array | Any

# what memory of C's is seen through: a class, though the stub declares a method
SEEN_THROUGH: Any = ffi.buffer

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


class Block(Held):
    """The memory of one batch and the arrays over it.

    Attributes:
        memory: the block in C's form.
        arrays: one for each column, all rows; the user gets only views of them.
        views: for each array a function that returns a view.
        is_ordinary: whether the ring may use it again; a batch of a rollout belongs to that.
    """

    is_ordinary = True

    def __init__(self, pool: CData, rows: int, types: Types = ()) -> None:
        size = lib.pp_batch_size(pool)
        raw = lib.pp_batch_alloc(pool)
        if not raw:
            raise MemoryError(f"no memory for a batch of {size} bytes: drop results you keep")
        # freed with its last array, which may outlive the pool
        self.memory = freed(raw, size)
        super().__init__(np.frombuffer(memoryview(ffi.buffer(self.memory, size)), np.uint8))
        count = ffi.new("int32_t *")
        columns = lib.pp_pool_columns(pool, count)
        self.arrays = [self._array(columns[i], rows, types) for i in range(count[0])]
        self.views = [array.view for array in self.arrays]
        self.settle()

    def _array(self, column: CData, rows: int, types: Types) -> Array:
        dtype, shape = type_of(column, types)
        raw: Array = self.owner[column.offset : column.offset + column.row_bytes * rows]
        return raw.view(dtype).reshape(rows, *shape)


def freed(raw: CData, size: int) -> CData:
    """Returns memory of C's of so many bytes that is freed when it is dropped.

    That runs no code of Python's: an exception such as Ctrl-C that came in it would be printed and
    lost.
    """
    call = map(lib.pp_batch_free, (raw,), (size,))
    # the address that it is called with becomes the default of `next`
    return ffi.gc(raw, partial(next, call), size)


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
        # the blocks for the next receives, before any others
        self._upcoming: deque[Block] = deque()
        # keeps the memory in which C looks for batches of a rollout; see `roll`
        self._rollout: object = None
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
        if last is not None and last.is_ordinary:
            lent.append(last)
        upcoming = self._upcoming
        # in an ordinary loop few blocks are lent, and the one lent longest ago is free
        if upcoming:
            spare = upcoming.popleft()
        elif (
            lent
            and len(lent) <= MAX_HELD_BLOCKS
            # is_free(), without a call: that takes 2 % of a step of cheap environments
            and getrefcount(lent[0].owner) == lent[0].own_count
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

    def roll(self, rollout: object, memory: CData, batches: Sequence[Block], error: CData) -> None:
        """Lets C write the next batches into the memory of a rollout, and those after it elsewhere.

        Nothing may be in flight, and no batch lost.

        Args:
            rollout: the owner of that memory.
            memory: as C has it; null to end a rollout.
            batches: its batches, in order; none to end a rollout.
            error: for C.

        Raises:
            StateError: environments are in flight.
        """
        count = len(self._slots)
        known = (*self._slots[self._at :], *self._slots[: self._at], *self._upcoming)
        ordinary = [block for block in known if block.is_ordinary]
        while len(ordinary) < count:
            # an exception lost one
            ordinary.append(Block(self._pool, self._rows, self._types))
        if self._last is not None and self._last.is_ordinary:
            self._lent.append(self._last)
        self._last = None
        blocks = [*batches, *ordinary]
        slots, upcoming = blocks[:count], deque(blocks[count:])
        oldest, following = slots[0], slots[-1].memory
        held = ffi.new("void *[]", [block.memory for block in slots[:-1]])
        arguments = (self._pool,), (memory,), (len(batches) + 1,), (held,), (error,)
        done: list[int] = []
        before, self._rollout = self._rollout, (self._rollout, rollout)
        try:
            # in one step with the note that it was done: an exception can't come between the two
            done[:] = map(lib.pp_pool_roll, *arguments)
        finally:
            # no function call from here on
            if done and done[0] >= 0:
                self._slots, self._at, self._upcoming = slots, 0, upcoming
                self.oldest, self.next_memory, self._rollout = oldest, following, rollout
            else:
                self._rollout = before
        if done[0] < 0:
            raise_error(done[0], error)

    @property
    def has_rollout(self) -> bool:
        """Whether C may write batches into the memory of a rollout."""
        return self._rollout is not None

    @property
    def last(self) -> Block | None:
        """The block that was delivered last; None before the first, and after a rollout."""
        return self._last

    def leave_rollout(self) -> None:
        """Ends a rollout while batches of it are in flight: ordinary ones follow."""
        self._upcoming = deque(block for block in self._upcoming if block.is_ordinary)

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
            if not block.is_free():
                self._lent.append(block)
            elif found is None:
                found = block
            elif len(self._lent) < MAX_HELD_BLOCKS:
                self._lent.append(block)
        return found or Block(self._pool, self._rows, self._types)

    def __len__(self) -> int:
        apart = (self._last is not None) + (self._shared_block is not None)
        return len(self._slots) + len(self._lent) + apart


def memory_of(array: Array) -> Array | None:
    """Returns the owner of the memory of C's that an array is a view of; None for other memory.

    Its pages are its own if it has more than one. They stay mapped as long as its `base` is
    referred to, even if the owner is gone.
    """
    owner = array.base
    if isinstance(owner, np.ndarray) and isinstance(owner.base, memoryview):
        return owner if isinstance(owner.base.obj, SEEN_THROUGH) else None
    return None


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
