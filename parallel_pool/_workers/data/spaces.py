"""Spaces: how observations of any Gymnasium space lie in memory as raw bytes.

A space is a tree of *leaves*, arrays of a fixed dtype and shape. Observations travel as one column
of bytes for each leaf, uint8 (rows, leaf.nbytes); actions as the records of `action_records`.
Values without a fixed size (`leaves` returns None) travel as objects, which `batch_objects` and
`iterate_objects` handle.

For every space the observations and actions are the same as with `SyncVectorEnv`.
"""

from __future__ import annotations

import copy
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

from parallel_pool._engine.actions import check_sequence, described, take_array
from parallel_pool._engine.arguments import a_type

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Space = spaces.Space[Any]

ARRAYS = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
TREES = (spaces.Dict, spaces.Tuple)
NUMBERS = [np.dtype(char) for char in "?bBhHiIlLqQefdg"]


@dataclass(frozen=True)
class Leaf:
    """One array of a space. Two are equal if their values lie in memory in the same way.

    Attributes:
        path: the keys and indices from the root of the space to it.
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
    """A sequence that is read by index: an array, or one that makes each value when indexed."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


# ------------------------------------------------------------------------------------- leaves --


def leaves(space: Space) -> tuple[Leaf, ...] | None:
    """Returns a space's leaves in Gymnasium's own order, or None if a part has no fixed size.

    Text, Sequence, Graph, OneOf and spaces that Gymnasium does not know have no fixed size, nor
    have spaces for which a batching function of their own was registered with Gymnasium.
    """
    found: list[Leaf] = []
    return tuple(found) if _collect(space, (), found) else None


def column(raw: Bytes, leaf: Leaf) -> Array:
    """Returns a leaf's values (rows, *leaf.shape) as a view of its bytes (rows, leaf.nbytes).

    Raises:
        ValueError: the bytes of a row are not contiguous, or not leaf.nbytes.
    """
    return raw.view(leaf.dtype).reshape(len(raw), *leaf.shape)


def _collect(space: Space, path: tuple[Any, ...], found: list[Leaf]) -> bool:
    """Appends the leaves; returns False at the first part without a fixed size."""
    if _is_a(space, ARRAYS):
        dtype, shape = _usual(np.dtype(space.dtype)), space.shape
        assert shape is not None
        found.append(Leaf(path, dtype, shape, math.prod(shape) * dtype.itemsize, space))
        return True
    return _is_a(space, TREES) and all(
        _collect(part, (*path, key), found) for key, part in _parts(space)
    )


def _usual(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns NumPy's own object for a dtype; an unpickled space has a copy of it."""
    usual = np.dtype(dtype.char)
    return usual if usual == dtype else dtype


def _is_a(space: Space, kinds: tuple[type[Space], ...]) -> bool:
    """Returns whether a space is of one of these kinds, and Gymnasium batches it as that kind."""
    functions = (batch_space, create_empty_array, concatenate)
    return any(
        isinstance(space, kind)
        and all(function.dispatch(type(space)) is function.dispatch(kind) for function in functions)
        for kind in kinds
    )


def _parts(space: Any) -> list[tuple[Any, Space]]:
    """Returns the keys and spaces of a Dict or a Tuple."""
    return list(space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces))


def map_space(function: Callable[..., Any], space: Space, *trees: Any) -> Any:
    """Returns a tree of what a function returns for each part of a space that is no Dict or Tuple.

    Args:
        function: of such a part, and of the values that the trees have there.
        space: says which form the result has.
        trees: of the same form.
    """
    if isinstance(space, spaces.Dict):
        parts = space.spaces.items()
        return {key: map_space(function, part, *(t[key] for t in trees)) for key, part in parts}
    if isinstance(space, spaces.Tuple):
        each = enumerate(space.spaces)
        return tuple(map_space(function, part, *(t[i] for t in trees)) for i, part in each)
    return function(space, *trees)


def complete(space: Space) -> None:
    """Adds what a space of an older Gymnasium, of another interpreter, lacks in this one's."""
    if isinstance(space, spaces.Dict):
        # the order that its keys have is kept
        vars(space).setdefault("sort_keys", False)
    if isinstance(space, TREES):
        for _, part in _parts(space):
            complete(part)


def unseeded(space: Space) -> Space:
    """Returns a copy without generators, which NumPy 1.26 and NumPy 2 pickle differently."""
    found = copy.copy(space)
    vars(found)["_np_random"] = None
    if isinstance(found, spaces.Dict):
        found.spaces = {key: unseeded(part) for key, part in found.spaces.items()}
    elif isinstance(found, spaces.Tuple):
        found.spaces = tuple(map(unseeded, found.spaces))
    return found


def fixed_leaves(space: Space) -> tuple[Leaf, ...]:
    """Returns the leaves of a space; raises TypeError if it has no fixed size."""
    found = leaves(space)
    if found is None:
        raise TypeError(f"{space} has no fixed size: its values travel as objects")
    return found


def tree_builder(space: Space, functions: Iterator[Callable[..., Any]]) -> Callable[..., Any]:
    """Combines one function for each leaf into one that returns the tree of their results."""
    if isinstance(space, spaces.Dict):
        items = [(key, tree_builder(part, functions)) for key, part in _parts(space)]
        return lambda *args: {key: build(*args) for key, build in items}
    if isinstance(space, spaces.Tuple):
        builders = [tree_builder(part, functions) for _, part in _parts(space)]
        return lambda *args: tuple([build(*args) for build in builders])
    return next(functions)


def _kind(error: Exception) -> type[TypeError] | type[ValueError]:
    """Returns the type to raise for an error: TypeError for a TypeError, else ValueError."""
    return TypeError if isinstance(error, TypeError) else ValueError


def _path_repr(path: tuple[Any, ...]) -> str:
    """Returns a path as indexing: "['camera'][0]"."""
    return "".join(f"[{key!r}]" for key in path)


def _take(value: Any, path: tuple[Any, ...], key: Any, what: str) -> Any:
    """Returns a part of a Dict's or Tuple's value.

    Raises:
        TypeError: the value can't be indexed.
        ValueError: it does not have the part.
    """
    try:
        return value[key]
    except (LookupError, TypeError, ValueError) as error:
        seen = described(value)
        if isinstance(value, dict):
            seen = f"{a_type(value)} with keys {reprlib.repr(list(value))}"
        raise _kind(error)(
            f"{what}{_path_repr(path)} is {seen}: its space needs {key!r} in it"
        ) from error


# ------------------------------------------------------------------------------- observations --


class Writer:
    """Writes single observations into rows of the leaves' columns.

    Attributes:
        leaves: of the space.
        write: `write(arrays, row, observation)` puts one environment's observation into that row of
            the arrays (rows, *leaf.shape), one for each leaf and in their order. An array of the
            leaf's dtype and shape is copied; anything else is converted or refused as by
            `SyncVectorEnv`: casts of the same kind, no broadcasting; surplus keys are ignored. As
            with `AsyncVectorEnv`, a number is accepted for an array of one element. Raises
            TypeError or ValueError, which name the leaf; other leaves may have been written then.
        plain: dtype and shape of arrays that a caller may assign to their row directly, which is
            faster than `write`; (None, None) unless the space is one array.
        is_exact: `is_exact(observation)` is whether `Reader.row` returns an equal observation,
            with the same types, dtypes, keys and order.
    """

    __slots__ = ("is_exact", "leaves", "plain", "write")

    def __init__(self, space: Space) -> None:
        """Raises TypeError if the space has no fixed size."""
        self.leaves = fixed_leaves(space)
        self.write: Callable[[Sequence[Array], int, Any], None] = _tree_writer(
            space, (), iter(enumerate(self.leaves))
        )
        self.is_exact: Callable[[Any], bool] = _exactness(space, iter(self.leaves))
        is_array = not isinstance(space, TREES) and self.leaves[0].shape
        self.plain: tuple[np.dtype[Any] | None, tuple[int, ...] | None] = (
            (self.leaves[0].dtype, self.leaves[0].shape) if is_array else (None, None)
        )


def _tree_writer(
    space: Space, path: tuple[Any, ...], unread: Iterator[tuple[int, Leaf]]
) -> Callable[[Sequence[Array], int, Any], None]:
    if not isinstance(space, TREES):
        index, leaf = next(unread)
        return (_array_writer if leaf.shape else _scalar_writer)(index, leaf)
    parts = [(key, _tree_writer(part, (*path, key), unread)) for key, part in _parts(space)]

    def write(arrays: Sequence[Array], row: int, value: Any) -> None:
        for key, write_part in parts:
            try:
                part = value[key]
            except Exception:
                part = _take(value, path, key, "observation")
            write_part(arrays, row, part)

    return write


def _exactness(space: Space, unread: Iterator[Leaf]) -> Callable[[Any], bool]:
    if not isinstance(space, TREES):
        leaf = next(unread)
        if _is_scalar(leaf):
            return lambda value: type(value) is leaf.dtype.type
        shape, dtype = leaf.shape, leaf.dtype
        return lambda value: (
            type(value) is np.ndarray and value.dtype == dtype and value.shape == shape
        )
    parts = [(key, _exactness(part, unread)) for key, part in _parts(space)]
    keys = [key for key, _ in parts]
    kind = dict if isinstance(space, spaces.Dict) else tuple

    def is_exact(value: Any) -> bool:
        if type(value) is not kind:
            return False
        seen = list(value) if kind is dict else list(range(len(value)))
        return seen == keys and all(is_part(value[key]) for key, is_part in parts)

    return is_exact


def _is_scalar(leaf: Leaf) -> bool:
    """Returns whether the space samples NumPy scalars; a Box of one float samples an array."""
    return not leaf.shape and not (isinstance(leaf.space, spaces.Box) and leaf.dtype.kind == "f")


def _array_writer(index: int, leaf: Leaf) -> Callable[[Sequence[Array], int, Any], None]:
    # local names are looked up faster
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
    # Python's numbers only where assigning one has the same result as casting an array of them
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
                pass  # cast as an array, it may wrap around
        _stack(arrays[index], row, value, leaf)

    return write


def _castable(dtype: np.dtype[Any]) -> set[np.dtype[Any]]:
    """Returns the dtypes that SyncVectorEnv casts to this one."""
    return {dtype, *(number for number in NUMBERS if np.can_cast(number, dtype, "same_kind"))}


def _stack(array: Array, row: int, value: Any, leaf: Leaf) -> None:
    """Writes a value as Gymnasium's `concatenate` does, into one row."""
    try:
        is_one = leaf.shape and math.prod(leaf.shape) == 1 and np.ndim(value) == 0
        np.stack([np.reshape(value, leaf.shape) if is_one else value], out=array[row : row + 1])
    except (TypeError, ValueError) as error:
        raise _kind(error)(
            f"observation{_path_repr(leaf.path)} is {described(value)}: its space, a "
            f"{type(leaf.space).__name__}, takes shape {leaf.shape} and what casts to {leaf.dtype}"
        ) from error


class Reader:
    """Makes observations from the leaves' columns of bytes.

    Attributes:
        leaves: of the space.
    """

    __slots__ = ("_batch", "_num", "_row", "leaves")

    def __init__(self, space: Space, num: int | None = None) -> None:
        """Prepares the functions that read a space.

        Args:
            space: of one observation.
            num: number of rows in every batch; None if it varies.

        Raises:
            TypeError: the space has no fixed size.
        """
        self.leaves = fixed_leaves(space)
        self._num = num
        self._batch = tree_builder(space, map(_batch_reader, range(len(self.leaves)), self.leaves))
        self._row = tree_builder(space, map(_row_reader, range(len(self.leaves)), self.leaves))

    def batch(self, views: Sequence[Bytes]) -> Any:
        """Returns what `SyncVectorEnv.step` returns as observations: an array, or a tree of arrays.

        Args:
            views: bytes (rows, leaf.nbytes), one for each leaf and in their order.

        Returns:
            Arrays (rows, *leaf.shape), which are views of the bytes; copies where the bytes of a
            row are not contiguous.

        Raises:
            ValueError: the number of columns, of rows or of bytes is wrong.
        """
        self._check(views)
        return self._batch(views)

    def row(self, views: Sequence[Bytes], index: int) -> Any:
        """Returns a copy of one environment's observation, typed as the space's own samples.

        It equals the element of `final_obs` if the environment returned such an observation:
        SyncVectorEnv passes on the environment's own object, which may have another dtype (cast in
        a batch) or surplus keys.
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


# ------------------------------------------------------------------------------------ objects --


def batch_objects(space: Space, values: Sequence[Any]) -> Any:
    """Returns what `SyncVectorEnv` returns for these observations, one of each environment.

    Works for every space: parts of a fixed size become arrays, others tuples of objects.

    Raises:
        TypeError, ValueError: an observation does not fit the space.
    """
    # None for a space that Gymnasium does not know
    out: Any = create_empty_array(space, n=len(values), fn=np.zeros)
    try:
        return concatenate(space, values, out)
    except (LookupError, TypeError, ValueError) as error:
        raise _kind(error)(
            f"observations are {described(values)}, which do not fit {space}: "
            f"{type(error).__name__}: {error}"
        ) from error


def nothing(space: Space) -> Any:
    """Returns an empty value of a space; None for one that Gymnasium does not know."""
    batch = create_empty_array(space, 1)
    return None if batch is None else next(iter(iterate(batch_space(space, 1), batch)))


def iterate_objects(space: Space, actions: Any, num: int) -> list[Any]:
    """Returns the single actions that `SyncVectorEnv` takes out of its step's argument.

    Unlike there, iterables without an order or an end are refused, and arrays of other libraries,
    such as torch's tensors, become NumPy's.

    Args:
        space: of the batch, `VectorEnv.action_space`.
        actions: the argument of `VectorEnv.step`.
        num: number of environments.

    Raises:
        TypeError, ValueError: the actions do not fit the space, or their number is not num.
    """
    actions = _checked(space, actions, (), num)
    try:
        # an object with a wrong __len__ may yield without end
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
    """Checks that each part of the actions is a sequence of num; returns the actions.

    It goes as deep into the parts as Gymnasium does.
    """
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
    check_sequence(actions, num, f"actions{_path_repr(path)}")
    return actions
