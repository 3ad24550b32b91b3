"""Action records: how actions of any Gymnasium space of fixed size lie in memory as raw bytes.

A record is one environment's action: the leaves of its space one after another, without gaps. An
environment gets the same action from a record as from `SyncVectorEnv`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import ffi, lib
from parallel_pool._workers.data.spaces import (
    Array,
    Bytes,
    Indexed,
    Space,
    fixed_leaves,
    tree_builder,
)

if TYPE_CHECKING:
    from parallel_pool._core import CData

BYTE = np.dtype(np.uint8)
NULL = ffi.NULL
UINT8 = lib.PP_UINT8
# passed to `send` in place of actions that were sent as payloads before
IN_PAYLOAD = object()


class Record:
    """How one environment's action lies in a record.

    Attributes:
        leaves: of the space.
        nbytes: bytes of a record.
    """

    __slots__ = ("_arrays", "leaves", "nbytes")

    def __init__(self, space: Space) -> None:
        """Raises TypeError if the space has no fixed size."""
        self.leaves = fixed_leaves(space)
        self.nbytes = sum(leaf.nbytes for leaf in self.leaves)
        # by leaf: the arguments of `np.ndarray` for its values in many records
        self._arrays = []
        offset = 0
        for leaf in self.leaves:
            strides = (self.nbytes, *np.empty(leaf.shape, leaf.dtype).strides)
            self._arrays.append((leaf.shape, leaf.dtype, offset, strides))
            offset += leaf.nbytes

    def columns(self, buffer: Any, count: int) -> list[Array]:
        """Returns views of each leaf's values in the records, (count, *leaf.shape)."""
        return [
            np.ndarray((count, *shape), dtype, buffer, offset, strides)
            for shape, dtype, offset, strides in self._arrays
        ]


class ActionPacker:
    """Makes records of the actions that `VectorEnv.step` takes, if they are arrays of the space.

    Other actions (arrays of another dtype or shape, lists, objects) travel as objects, and an
    environment gets what SyncVectorEnv would give it: see `spaces.iterate_objects`.

    Attributes:
        leaves: of the space.
        record_bytes: size of one environment's action.
    """

    __slots__ = ("_record", "leaves", "record_bytes")

    def __init__(self, space: Space) -> None:
        """Takes one environment's space.

        Raises:
            TypeError: the space has no fixed size.
        """
        self._record = Record(space)
        self.leaves = self._record.leaves
        self.record_bytes = self._record.nbytes

    def pack(self, actions: Any, count: int) -> Bytes | None:
        """Returns the records of count environments, uint8 (count, record_bytes).

        Takes an array (count, *shape) of the space's dtype, and for a Dict or Tuple a dict or tuple
        of those; returns None for anything else. If the space is one array, and the actions are
        contiguous, the result is a view of them.
        """
        arrays = []
        for leaf in self.leaves:
            array = _find(actions, leaf.path)
            if (
                type(array) is not np.ndarray
                or array.dtype != leaf.dtype
                or array.shape != (count, *leaf.shape)
            ):
                return None
            arrays.append(array)
        if len(arrays) == 1:
            array = np.ascontiguousarray(arrays[0])
            return np.ndarray((count, self.record_bytes), BYTE, array)
        records = np.empty((count, self.record_bytes), BYTE)
        for array, part in zip(arrays, self._record.columns(records, count), strict=True):
            part[...] = array
        return records


def _find(actions: Any, path: tuple[Any, ...]) -> Any:
    """Returns a leaf of a tree of dicts and tuples; None if the path leads to anything else."""
    for key in path:
        if type(actions) not in (dict, tuple):
            return None
        try:
            actions = actions[key]
        except (LookupError, TypeError):
            return None
    return actions


class RecordReader:
    """The `ActionReader` of a process pool, for records and for actions sent as payloads."""

    def __init__(self, record_bytes: int) -> None:
        self.shape: tuple[int, ...] = (record_bytes,)

    def read(self, actions: Any, count: int) -> tuple[CData, int]:
        """Returns records, or `IN_PAYLOAD`, in the form that C takes."""
        if actions is IN_PAYLOAD:
            return NULL, lib.PP_ACTION_IN_PAYLOAD
        return ffi.from_buffer(actions), UINT8


class ActionUnpacker:
    """Makes actions of records, as `SyncVectorEnv` gives them to its environments.

    Scalars are NumPy's. Arrays are copies, because an environment may keep its action.

    Attributes:
        leaves: of the space.
        record_bytes: size of one environment's action.
    """

    __slots__ = ("_record", "_space", "leaves", "record_bytes")

    def __init__(self, space: Space) -> None:
        """Takes one environment's space.

        Raises:
            TypeError: the space has no fixed size.
        """
        self._space = space
        self._record = Record(space)
        self.leaves = self._record.leaves
        self.record_bytes = self._record.nbytes

    def read(self, record: Bytes | memoryview) -> Any:
        """Returns the action of one record, uint8 (record_bytes,)."""
        return self.bind(record, 1)[0]

    def bind(self, buffer: Bytes | memoryview, count: int) -> Indexed:
        """Returns the actions of count records that lie one after another.

        `bind(buffer, count)[i]` is read from record i when it is indexed. Index one action at a
        time: for a space of scalars the result is an array that shares the buffer's memory.

        Raises:
            TypeError, ValueError: the buffer is too small or not contiguous.
        """
        columns = self._record.columns(buffer, count)
        if self.leaves and not self.leaves[0].path and not self.leaves[0].shape:
            return columns[0]  # the fastest sequence of scalars
        return _Actions(tree_builder(self._space, map(_action_reader, columns)), count)


class _Actions:
    """A sequence of actions, each of which is made when it is indexed."""

    __slots__ = ("_count", "_get")

    def __init__(self, get: Callable[[int], Any], count: int) -> None:
        self._get = get
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int, /) -> Any:
        return self._get(index)

    def __iter__(self) -> Iterator[Any]:
        return map(self._get, range(self._count))


def _action_reader(array: Array) -> Callable[[int], Any]:
    if array.ndim == 1:
        return array.__getitem__
    return lambda index: array[index].copy()
