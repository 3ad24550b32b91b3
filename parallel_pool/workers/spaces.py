"""Spaces: how the values of any Gymnasium space lie in memory as raw bytes.

A space is a tree of *leaves*, arrays of a fixed dtype and shape. Observations travel as one column
of bytes for each leaf, uint8 (rows, leaf.nbytes); the actions of one environment as a *record*, its
leaves one after another without gaps. What has no fixed size (`leaves` says None) travels as the
objects themselves, for which there are `batch_objects` and `iterate_objects`.

Measured by `SyncVectorEnv`: the same observations, the same actions, whatever the space.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from parallel_pool.actions import check_sequence, described, take_array

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Space = spaces.Space[Any]

ARRAYS = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
TREES = (spaces.Dict, spaces.Tuple)
BYTE = np.dtype(np.uint8)
NUMBERS = [np.dtype(char) for char in "?bBhHiIlLqQefdg"]


@dataclass(frozen=True)
class Leaf:
    """One array of a space. Two are equal if values lie in memory in the same way.

    Attributes:
        path: the keys and indices that lead from the root to it.
        dtype, shape: of one environment's value.
        nbytes: of one environment's value.
        space: a Box, Discrete, MultiDiscrete or MultiBinary.
    """

    path: tuple[Any, ...]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    nbytes: int
    space: Space = field(compare=False, repr=False)


class Indexed(Protocol):
    """What is read by index: an array, or something that makes each value when it is asked."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


# ------------------------------------------------------------------------------------- leaves --


def leaves(space: Space) -> tuple[Leaf, ...] | None:
    """Returns a space's leaves in Gymnasium's own order, or None if a part has no fixed size.

    Without a fixed size are Text, Sequence, Graph, OneOf, spaces that Gymnasium does not know, and
    those for which somebody told Gymnasium how to make batches of them.
    """
    found: list[Leaf] = []
    return tuple(found) if _collect(space, (), found) else None


def column(raw: Bytes, leaf: Leaf) -> Array:
    """Returns a leaf's values (rows, *leaf.shape) as a view of its bytes (rows, leaf.nbytes).

    Raises:
        ValueError: the bytes of a row do not lie one after another, or are not leaf.nbytes.
    """
    return raw.view(leaf.dtype).reshape(len(raw), *leaf.shape)


def _collect(space: Space, path: tuple[Any, ...], found: list[Leaf]) -> bool:
    """Appends the leaves; False as soon as something has no fixed size."""
    if _is_a(space, ARRAYS):
        dtype, shape = _usual(np.dtype(space.dtype)), space.shape
        assert shape is not None
        found.append(Leaf(path, dtype, shape, math.prod(shape) * dtype.itemsize, space))
        return True
    return _is_a(space, TREES) and all(
        _collect(part, (*path, key), found) for key, part in _parts(space)
    )


def _usual(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The very object that arrays of a dtype have; a space that was pickled has a copy of it."""
    usual = np.dtype(dtype.char)
    return usual if usual == dtype else dtype


def _is_a(space: Space, kinds: tuple[type[Space], ...]) -> bool:
    """Whether it is one of these kinds, and Gymnasium makes batches of it as of that kind."""
    functions = (batch_space, create_empty_array, concatenate)
    return any(
        isinstance(space, kind)
        and all(function.dispatch(type(space)) is function.dispatch(kind) for function in functions)
        for kind in kinds
    )


def _parts(space: Any) -> list[tuple[Any, Space]]:
    """A Dict's or a Tuple's spaces, with their keys."""
    return list(space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces))


def _fixed(space: Space) -> tuple[Leaf, ...]:
    """The leaves of a space that has a fixed size."""
    found = leaves(space)
    if found is None:
        raise TypeError(f"{space} has no fixed size: its values travel as objects")
    return found


def _builder(space: Space, functions: Iterator[Callable[..., Any]]) -> Callable[..., Any]:
    """Makes one function of those of the leaves, which returns the tree of what they return."""
    if isinstance(space, spaces.Dict):
        items = [(key, _builder(part, functions)) for key, part in _parts(space)]
        return lambda *args: {key: build(*args) for key, build in items}
    if isinstance(space, spaces.Tuple):
        builders = [_builder(part, functions) for _, part in _parts(space)]
        return lambda *args: tuple([build(*args) for build in builders])
    return next(functions)


def _kind(error: Exception) -> type[TypeError] | type[ValueError]:
    """What to raise for an error: wrong types stay such, all else is a wrong value."""
    return TypeError if isinstance(error, TypeError) else ValueError


def _shown(path: tuple[Any, ...]) -> str:
    return "".join(f"[{key!r}]" for key in path)


def _take(value: Any, path: tuple[Any, ...], key: Any, what: str) -> Any:
    """A part of a Dict's or Tuple's value.

    Raises:
        TypeError: nothing can be taken out of it.
        ValueError: it does not have the part.
    """
    try:
        return value[key]
    except (LookupError, TypeError, ValueError) as error:
        seen = described(value)
        if isinstance(value, dict):
            seen = f"a {type(value).__name__} with keys {reprlib.repr(list(value))}"
        raise _kind(error)(
            f"{what}{_shown(path)} is {seen}: its space needs {key!r} in it"
        ) from error


# ------------------------------------------------------------------------------- observations --


class Writer:
    """Writes single observations into rows of the leaves' columns.

    Attributes:
        leaves: of the space.
        write: `write(arrays, row, observation)` puts one environment's observation into that row of
            the arrays (rows, *leaf.shape), one for each leaf and in their order. What has a leaf's
            dtype and shape is copied; anything else is taken, cast or refused as `SyncVectorEnv`
            does it: casts of the same kind, no broadcasting; keys too many are no error. As by
            `AsyncVectorEnv`, a number is taken for an array of one. Raises TypeError or ValueError,
            which name the leaf; other leaves may have been written then.
        plain: dtype and shape of arrays that may as well be assigned to their row, by whom a call
            is too much; (None, None) unless the space is one array.
        is_exact: `is_exact(observation)` says whether `Reader.row` gives back the like of it: the
            same types, dtypes, keys and order.
    """

    __slots__ = ("is_exact", "leaves", "plain", "write")

    def __init__(self, space: Space) -> None:
        """Raises TypeError if the space has no fixed size."""
        self.leaves = _fixed(space)
        self.write: Callable[[Sequence[Array], int, Any], None] = _tree_writer(
            space, (), iter(enumerate(self.leaves))
        )
        self.is_exact: Callable[[Any], bool] = _exactness(space, iter(self.leaves))
        is_array = not isinstance(space, TREES) and self.leaves[0].shape
        self.plain: tuple[np.dtype[Any] | None, tuple[int, ...] | None] = (
            (self.leaves[0].dtype, self.leaves[0].shape) if is_array else (None, None)
        )


def _tree_writer(
    space: Space, path: tuple[Any, ...], rest: Iterator[tuple[int, Leaf]]
) -> Callable[[Sequence[Array], int, Any], None]:
    if not isinstance(space, TREES):
        index, leaf = next(rest)
        return (_array_writer if leaf.shape else _scalar_writer)(index, leaf)
    parts = [(key, _tree_writer(part, (*path, key), rest)) for key, part in _parts(space)]

    def write(arrays: Sequence[Array], row: int, value: Any) -> None:
        for key, write_part in parts:
            try:
                part = value[key]
            except Exception:
                part = _take(value, path, key, "observation")
            write_part(arrays, row, part)

    return write


def _exactness(space: Space, rest: Iterator[Leaf]) -> Callable[[Any], bool]:
    if not isinstance(space, TREES):
        leaf = next(rest)
        if _is_scalar(leaf):
            return lambda value: type(value) is leaf.dtype.type
        shape, dtype = leaf.shape, leaf.dtype
        return lambda value: (
            type(value) is np.ndarray and value.dtype == dtype and value.shape == shape
        )
    parts = [(key, _exactness(part, rest)) for key, part in _parts(space)]
    keys = [key for key, _ in parts]
    kind = dict if isinstance(space, spaces.Dict) else tuple

    def is_exact(value: Any) -> bool:
        if type(value) is not kind:
            return False
        seen = list(value) if kind is dict else list(range(len(value)))
        return seen == keys and all(is_part(value[key]) for key, is_part in parts)

    return is_exact


def _is_scalar(leaf: Leaf) -> bool:
    """Whether samples of the space are NumPy's scalars; a Box of one float samples an array."""
    return not leaf.shape and not (isinstance(leaf.space, spaces.Box) and leaf.dtype.kind == "f")


def _array_writer(index: int, leaf: Leaf) -> Callable[[Sequence[Array], int, Any], None]:
    # names of the function's own are found quicker
    ndarray, dtype, shape = np.ndarray, leaf.dtype, leaf.shape
    castable = _castable(dtype)

    def write(arrays: Sequence[Array], row: int, value: Any) -> None:
        if (
            type(value) is ndarray
            and (value.dtype is dtype or value.dtype in castable)
            and value.shape == shape
        ):
            arrays[index][row] = value
        else:
            _stack(arrays[index], row, value, leaf)

    return write


def _scalar_writer(index: int, leaf: Leaf) -> Callable[[Sequence[Array], int, Any], None]:
    # Python's own numbers only where assignment and casting an array of them come to the same
    quick = {leaf.dtype.type}
    if leaf.dtype.kind in "iu" and np.dtype(int) in _castable(leaf.dtype):
        quick.add(int)
    elif leaf.dtype.kind == "f":
        quick.add(float)

    def write(arrays: Sequence[Array], row: int, value: Any) -> None:
        if type(value) in quick:
            try:
                arrays[index][row] = value
                return
            except OverflowError:
                pass  # as an array it may wrap
        _stack(arrays[index], row, value, leaf)

    return write


def _castable(dtype: np.dtype[Any]) -> set[np.dtype[Any]]:
    """What SyncVectorEnv casts to a dtype."""
    return {dtype, *(number for number in NUMBERS if np.can_cast(number, dtype, "same_kind"))}


def _stack(array: Array, row: int, value: Any, leaf: Leaf) -> None:
    """Writes a value as Gymnasium's `concatenate` does, into one row."""
    try:
        is_one = leaf.shape and math.prod(leaf.shape) == 1 and np.ndim(value) == 0
        np.stack([np.reshape(value, leaf.shape) if is_one else value], out=array[row : row + 1])
    except (TypeError, ValueError) as error:
        raise _kind(error)(
            f"observation{_shown(leaf.path)} is {described(value)}: its space, a "
            f"{type(leaf.space).__name__}, takes shape {leaf.shape} and what casts to {leaf.dtype}"
        ) from error


class Reader:
    """Makes observations of the leaves' columns of bytes.

    Attributes:
        leaves: of the space.
    """

    __slots__ = ("_batch", "_num", "_row", "leaves")

    def __init__(self, space: Space, num: int | None = None) -> None:
        """Takes the number of rows of all batches, None if they differ.

        Raises:
            TypeError: the space has no fixed size.
        """
        self.leaves = _fixed(space)
        self._num = num
        self._batch = _builder(space, map(_batch_reader, range(len(self.leaves)), self.leaves))
        self._row = _builder(space, map(_row_reader, range(len(self.leaves)), self.leaves))

    def batch(self, views: Sequence[Bytes]) -> Any:
        """Returns what `SyncVectorEnv.step` returns as observations: an array, or a tree of them.

        The arrays (rows, *leaf.shape) are views of the bytes (rows, leaf.nbytes) that are given, in
        the leaves' order; copies where the bytes of a row do not lie one after another.

        Raises:
            ValueError: the number of columns, of rows or of bytes is wrong.
        """
        self._check(views)
        return self._batch(views)

    def row(self, views: Sequence[Bytes], index: int) -> Any:
        """Returns a copy of one environment's observation, typed as the space's own samples.

        This is an element of `final_obs` whenever the environment returns such. SyncVectorEnv hands
        on the very object that the environment returned, so one of another dtype (cast in a batch)
        or with keys too many is not what this returns.
        """
        self._check(views)
        return self._row(views, index)

    def _check(self, views: Sequence[Bytes]) -> None:
        if len(views) != len(self.leaves):
            raise ValueError(f"{len(views)} columns: the space has {len(self.leaves)} leaves")
        num = self._num
        if num is not None:
            for raw in views:
                if len(raw) != num:
                    raise ValueError(f"a column of {len(raw)} rows: a batch has {num}")


def _batch_reader(index: int, leaf: Leaf) -> Callable[[Sequence[Bytes]], Array]:
    def read(views: Sequence[Bytes]) -> Array:
        raw = views[index]
        try:
            return column(raw, leaf)
        except ValueError:
            return column(np.ascontiguousarray(raw), leaf)

    return read


def _row_reader(index: int, leaf: Leaf) -> Callable[[Sequence[Bytes], int], Any]:
    read = _batch_reader(index, leaf)
    if _is_scalar(leaf):
        return lambda views, row: read(views)[row]
    return lambda views, row: read(views)[row, ...].copy()


# ------------------------------------------------------------------------------------ actions --


class Record:
    """How one environment's action lies in bytes.

    Attributes:
        leaves: of the space.
        nbytes: of a record.
    """

    __slots__ = ("_places", "leaves", "nbytes")

    def __init__(self, space: Space) -> None:
        """Raises TypeError if the space has no fixed size."""
        self.leaves = _fixed(space)
        self.nbytes = sum(leaf.nbytes for leaf in self.leaves)
        self._places = []
        offset = 0
        for leaf in self.leaves:
            strides = (self.nbytes, *np.empty(leaf.shape, leaf.dtype).strides)
            self._places.append((leaf.shape, leaf.dtype, offset, strides))
            offset += leaf.nbytes

    def columns(self, buffer: Any, count: int) -> list[Array]:
        """Returns each leaf's values in count records, (count, *leaf.shape), as views of them."""
        return [
            np.ndarray((count, *shape), dtype, buffer, offset, strides)
            for shape, dtype, offset, strides in self._places
        ]


class ActionPacker:
    """Makes records of the actions that `VectorEnv.step` takes, where they are arrays of the space.

    Whatever else they are, arrays of another dtype or shape, lists, objects, has no record, and an
    environment gets what SyncVectorEnv would give it as an object: see `iterate_objects`.

    Attributes:
        leaves: of the space.
        record_bytes: size of one environment's action.
    """

    __slots__ = ("_record", "leaves", "record_bytes")

    def __init__(self, space: Space) -> None:
        """Takes one environment's space; TypeError if it has no fixed size."""
        self._record = Record(space)
        self.leaves = self._record.leaves
        self.record_bytes = self._record.nbytes

    def pack(self, actions: Any, count: int) -> Bytes | None:
        """Returns the actions of count environments as uint8 (count, record_bytes).

        Takes an array (count, *shape) of the space's dtype, and for a Dict or Tuple a dict or tuple
        of those; None for anything else. A contiguous array is not copied if it is all there is:
        the result is a view of it.
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
    """A leaf of a tree of dicts and tuples; None if they are something else."""
    for key in path:
        if type(actions) not in (dict, tuple):
            return None
        try:
            actions = actions[key]
        except (LookupError, TypeError):
            return None
    return actions


class ActionUnpacker:
    """Makes actions of records, as `SyncVectorEnv` gives them to its environments.

    Scalars are NumPy's; arrays are copies, for an environment may keep what it gets.

    Attributes:
        leaves: of the space.
        record_bytes: size of one environment's action.
    """

    __slots__ = ("_record", "_space", "leaves", "record_bytes")

    def __init__(self, space: Space) -> None:
        """Takes one environment's space; TypeError if it has no fixed size."""
        self._space = space
        self._record = Record(space)
        self.leaves = self._record.leaves
        self.record_bytes = self._record.nbytes

    def read(self, record: Bytes | memoryview) -> Any:
        """Returns the action of one record, uint8 (record_bytes,)."""
        return self.bind(record, 1)[0]

    def bind(self, buffer: Bytes | memoryview, count: int) -> Indexed:
        """Returns the actions of count records that lie one after another, read when asked for.

        `bind(buffer, count)[i]` is what record i holds at that moment. Take actions out one by one:
        for a space of scalars the whole is an array that lies in the buffer.

        Raises:
            TypeError, ValueError: the buffer is too small, or does not lie in one piece.
        """
        columns = self._record.columns(buffer, count)
        if self.leaves and not self.leaves[0].path and not self.leaves[0].shape:
            return columns[0]  # an array of scalars is the quickest list of them
        return _Actions(_builder(self._space, map(_action_reader, columns)), count)


class _Actions:
    """Actions by index, made when they are asked for."""

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


# ------------------------------------------------------------------------------------ objects --


def batch_objects(space: Space, values: Sequence[Any]) -> Any:
    """Returns what `SyncVectorEnv` returns for these observations, one of each environment.

    For spaces of any kind: parts that have a fixed size become arrays, others tuples of objects.

    Raises:
        TypeError, ValueError: an observation does not fit the space.
    """
    # a space that Gymnasium does not know has none
    out: Any = create_empty_array(space, n=len(values), fn=np.zeros)
    try:
        return concatenate(space, values, out)
    except (LookupError, TypeError, ValueError) as error:
        raise _kind(error)(
            f"observations are {described(values)}, which do not fit {space}: "
            f"{type(error).__name__}: {error}"
        ) from error


def iterate_objects(space: Space, actions: Any, num: int) -> list[Any]:
    """Returns the single actions that `SyncVectorEnv` takes out of its step's argument.

    What has no order or no end is refused, though SyncVectorEnv takes it; and arrays of other
    libraries, torch's tensors, become NumPy's.

    Args:
        space: of the batch, `VectorEnv.action_space`.
        actions: what `VectorEnv.step` got.
        num: environments.

    Raises:
        TypeError, ValueError: the actions are none for that space, or not num.
    """
    actions = _checked(space, actions, (), num)
    try:
        # what tells a wrong length may have no end
        single = list(islice(iterate(space, actions), num + 1))
    except (LookupError, TypeError, ValueError, CustomSpaceError) as error:
        raise _kind(error)(
            f"actions are {described(actions)}, which {space} does not take: "
            f"{type(error).__name__}: {error}"
        ) from error
    if len(single) != num:
        seen = f"more than {num}" if len(single) > num else f"{len(single)}"
        raise ValueError(f"{seen} actions: give one for each of {num} environments")
    return [take_array(action) for action in single]


def _checked(space: Space, actions: Any, path: tuple[Any, ...], num: int) -> Any:
    """Actions of which each part is a sequence, as far as Gymnasium goes into the parts."""
    is_walked = isinstance(space, spaces.Dict) or (
        isinstance(space, spaces.Tuple) and all(type(part) in iterate.registry for part in space)
    )
    if is_walked:
        parts = [
            (key, _checked(part, _take(actions, path, key, "actions"), (*path, key), num))
            for key, part in _parts(space)
        ]
        return dict(parts) if isinstance(space, spaces.Dict) else tuple(part for _, part in parts)
    actions = take_array(actions)
    check_sequence(actions, num, f"actions{_shown(path)}")
    return actions
