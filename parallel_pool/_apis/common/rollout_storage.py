"""Storage: the memory of one rollout, which is used again once nobody holds an array of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode

from parallel_pool._engine.arguments import usable_memory
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.frames import INT32_MAX, FrameLog, Stacks
from parallel_pool._engine.held import Held
from parallel_pool._engine.rollouts import (
    RolloutMemory,
    can_roll,
    check_room,
    last_batch,
    rolling,
)
from parallel_pool._engine.trees import map_leaves

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from parallel_pool._engine.buffers import Array


# kinds of dtypes whose values may be stored together
NUMBERS, TEXTS = "biufc", "US"


class Column(Held):
    """An array of a rollout, with a row for each step; its dtype grows with what is put there.

    Attributes:
        array: a view of the memory.
        dtype: of the array.
        row_shape: of what one step puts there.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """
        Args:
            shape: of the array.
            dtype: of the first values.

        Raises:
            MemoryError: there is not so much memory.
        """
        super().__init__(_zeros(shape, dtype))
        self._settle_array()

    def _settle_array(self) -> None:
        self.array: Array = self.owner.view()
        self.dtype: np.dtype[Any] = self.array.dtype
        self.row_shape = self.array.shape[1:]
        self.settle()

    def clear(self, rows: Any) -> None:
        """Sets rows to 0, or to empty texts."""
        self.array[rows] = np.zeros((), self.dtype)

    def put(self, name: str, rows: Any, value: Array, known: slice) -> None:
        """Stores values; takes another dtype first if theirs needs one.

        Args:
            name: of the values, for errors.
            rows: an index of the array.
            value: of the shape of these rows.
            known: the rows that may have values by now.

        Raises:
            TypeError: no dtype has these values and those before.
            ValueError: one of them is an integer that the common dtype has not.
            MemoryError: there is not so much memory.
        """
        if value.dtype != self.dtype:
            common = _common_dtype(name, self.dtype, value.dtype)
            _check_integers(name, value, common)
            if common != self.dtype:
                self._change_dtype(name, common, known)
        self.array[rows] = value

    def _change_dtype(self, name: str, dtype: np.dtype[Any], known: slice) -> None:
        before = self.array[known]
        _check_integers(name, before, dtype)
        self.owner = _zeros(self.array.shape, dtype)
        self._settle_array()
        self.array[known] = before


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    check_room(math.prod(shape) * dtype.itemsize)
    return np.zeros(shape, dtype)


def _common_dtype(name: str, one: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype of an array with values of both."""
    are_numbers = one.kind in NUMBERS and other.kind in NUMBERS
    are_texts = one.kind == other.kind and one.kind in TEXTS
    if not (are_numbers or are_texts or one.hasobject or other.hasobject):
        raise TypeError(
            f"the policy returned {name} of {other} after {one}: give the same dtype at all steps"
        )
    return np.promote_types(one, other)


def _check_integers(name: str, values: Array, dtype: np.dtype[Any]) -> None:
    """Refuses integers that a dtype of floats may not have exactly."""
    if values.dtype.kind not in "iu" or dtype.kind not in "fc" or not values.size:
        return
    digits = np.finfo(dtype).nmant + 1
    if int(values.max()) > 2**digits or int(values.min()) < -(2**digits):
        raise ValueError(
            f"the policy returned {name} with integers beyond 2**{digits} at some steps, and floats"
            " at others: give the same dtype at all steps"
        )


class Recorded:
    """Trees of arrays, of which a row is put at each step.

    The first row of a name says the shapes. The dtype of an array is the one that its rows have in
    common, so each value is stored as it is. What is not put is 0, or an empty text.
    """

    def __init__(self) -> None:
        # trees of columns: of this rollout, and of the one before, to be used again
        self._columns: dict[str, Any] = {}
        self._spare: dict[str, Any] = {}

    def clear(self) -> None:
        """Forgets all rows; nobody may hold an array."""
        self._spare, self._columns = self._columns, {}

    def put_step(self, step: int, values: Mapping[str, Any], steps: int) -> None:
        """Stores all values of a step, of so many steps in all; raises as `put`."""
        for name, value in values.items():
            self.put(name, step, value, steps)
        if len(values) < len(self._columns):
            for name in self._columns.keys() - values.keys():
                map_leaves(lambda column: column.clear(step), self._columns[name])

    def put(self, name: str, row: int, value: Any, rows: int) -> None:
        """Stores the value of a row, of so many rows in all, after all rows before.

        Raises:
            TypeError: the dtypes of this and an earlier value have none in common.
            ValueError: its shape, or the form of a tree, is not that of earlier values; or integers
                are too large for the floats of other rows.
            MemoryError: there is not so much memory.
        """
        column = self._columns.get(name)
        # most values are one array, as those before
        if (
            type(column) is Column
            and isinstance(value, np.ndarray)
            and value.dtype is column.dtype
            and value.shape == column.row_shape
        ):
            column.array[row] = value
            return
        self._put(name, row, _arrays_of(value), lambda one: (rows, *one.shape), slice(row))

    def put_rows(
        self, name: str, steps: Array, env_ids: Array, value: Any, shape: tuple[int, int]
    ) -> None:
        """Stores rows of a name, each at its step and environment, in any order.

        Args:
            name: as for `put`.
            steps: integers (count,).
            env_ids: integers (count,).
            value: a tree of arrays (count, ...).
            shape: how many steps and environments there are in all.

        Raises:
            ValueError: an array has another number of rows.
            Exception: as of `put`.
        """
        value = map_leaves(partial(_checked_rows, name, len(env_ids)), _arrays_of(value))
        rows = (steps, env_ids)
        self._put(name, rows, value, lambda one: (*shape, *one.shape[1:]), slice(None))

    def _put(
        self,
        name: str,
        rows: Any,
        value: Any,
        shape_of: Callable[[Array], tuple[int, ...]],
        known: slice,
    ) -> None:
        """Stores a tree of arrays.

        Args:
            name: as for `put`.
            rows: an index of the columns.
            value: the tree.
            shape_of: returns the shape of the column of an array.
            known: the rows that may have values by now.
        """
        if name not in self._columns:
            self._columns[name] = self._make(name, value, shape_of, known)
        columns = self._columns[name]
        if _form_of(columns) != _form_of(value):
            raise ValueError(
                f"the policy returned {name} as {_form_of(value)}, and as {_form_of(columns)}"
                " before: give the same keys at all steps"
            )

        def put(column: Column, own: Array) -> None:
            shape = shape_of(own)
            if shape != column.array.shape:
                raise ValueError(
                    f"the policy returned {name} of shape {shape[1:]} for all environments, and of"
                    f" {column.row_shape} before: give the same shape at all steps"
                )
            column.put(name, rows, own, known)

        map_leaves(put, columns, value)

    def _make(
        self, name: str, like: Any, shape_of: Callable[[Array], tuple[int, ...]], known: slice
    ) -> Any:
        """Returns columns for values like this one, in which the known rows are 0."""
        spare = self._spare.pop(name, None)

        def make(one: Array, column: Column | None = None) -> Column:
            if column and column.dtype == one.dtype and column.array.shape == shape_of(one):
                column.clear(known)
                return column
            return Column(shape_of(one), one.dtype)

        is_alike = spare is not None and _form_of(spare) == _form_of(like)
        return map_leaves(make, like, spare) if is_alike else map_leaves(make, like)

    def get(self, name: str) -> Any:
        """Returns views of the arrays of a name."""
        return map_leaves(lambda column: column.array.view(), self._columns[name])

    def row(self, name: str, row: int) -> Any:
        """Returns views of a row of a name."""
        return map_leaves(lambda column: column.array[row], self._columns[name])

    def names(self) -> list[str]:
        """Returns the names of which something was put."""
        return list(self._columns)

    def is_free(self) -> bool:
        """Returns whether nobody but this object holds one of its arrays."""
        found: list[bool] = []
        map_leaves(lambda column: found.append(column.is_free()), self._columns)
        return all(found)


def _form_of(tree: Any) -> Any:
    """Returns the keys of a tree's dicts and the lengths of its tuples, at any depth."""
    if isinstance(tree, Mapping):
        return {key: _form_of(each) for key, each in tree.items()}
    return tuple(map(_form_of, tree)) if isinstance(tree, tuple) else None


def _arrays_of(value: Any) -> Any:
    """Returns a tree of arrays: of a tuple of one object for each environment, such as its text,
    one array of objects."""
    if isinstance(value, Mapping):
        return {key: _arrays_of(one) for key, one in value.items()}
    if not isinstance(value, tuple):
        return np.asarray(value)
    if all(isinstance(one, np.ndarray) for one in value):
        return value
    objects = np.empty(len(value), object)
    for i, one in enumerate(value):
        objects[i] = one
    return objects


def checked_observations(given: Any, like: Any) -> Any:
    """Returns observations that a user has given, as a tree of arrays.

    Args:
        given: of all environments.
        like: observations as they should be.

    Raises:
        TypeError: their dtype is of another kind.
        ValueError: they have another shape, or are another tree.
    """
    given, like = _arrays_of(given), _arrays_of(like)
    if _form_of(given) != _form_of(like):
        raise ValueError(f"observations are a tree {_form_of(given)}: give {_form_of(like)}")
    return map_leaves(_checked_observation, given, like)


def _checked_observation(given: Array, like: Array) -> Array:
    if given.shape != like.shape:
        raise ValueError(f"observations have shape {given.shape}: give {like.shape}")
    if not np.can_cast(given.dtype, like.dtype, "same_kind"):
        raise TypeError(f"observations are of {given.dtype}: give {like.dtype}")
    return given.astype(like.dtype, copy=False)


def _checked_rows(name: str, count: int, array: Array) -> Array:
    if array.shape[:1] != (count,):
        raise ValueError(
            f"the policy returned {name} of shape {array.shape}: give one row for each of"
            f" {count} environments"
        )
    return array


class Storage(Protocol):
    """Where the results of a rollout's steps lie: all arrays have a row before the first step."""

    def is_free(self) -> bool:
        """Returns whether nobody holds one of its arrays."""
        ...

    def begin(self, observations: Any) -> Any:
        """Stores the observations before the first step; returns views of them.

        Raises:
            TypeError, ValueError: they are not like those of a step.
        """
        ...

    def observations(self) -> Any:
        """Returns views of the observations, (steps + 1, n, ...)."""
        ...

    def column(self, name: str) -> Array:
        """Returns a view of a column of the engine, (steps, n)."""
        ...

    def finals(self) -> Any:
        """Returns views of the final observations, (steps, n, ...); None without SAME_STEP."""
        ...


class StepStorage(Storage, Protocol):
    """Storage that is filled step by step, with the results of all environments."""

    def filling(self) -> AbstractContextManager[None]:
        """Returns a context in which each step of the environments is a step of the rollout."""
        ...

    def put(self, step: int, result: Any) -> None:
        """Stores what a step has returned, if that does not lie here already."""
        ...


class WrittenStorage:
    """Memory that the environments' threads write."""

    def __init__(self, envs: Any, steps: int) -> None:
        self._envs = envs
        self._memory = RolloutMemory(envs.pool, steps)
        self._engine = engine_indices(envs.pool.columns)

    def is_free(self) -> bool:
        return self._memory.is_free()

    @contextmanager
    def filling(self) -> Iterator[None]:
        with rolling(self._envs.pool, self._memory):
            yield

    def begin(self, observations: Any) -> Any:
        first = map_leaves(lambda array: array[0], self.observations())
        map_leaves(np.copyto, first, checked_observations(observations, first))
        return first

    def put(self, step: int, result: Any) -> None:
        pass

    def observations(self) -> Any:
        return map_leaves(np.ndarray.view, self._envs._observation_arrays(self._memory.arrays))

    def column(self, name: str) -> Array:
        array = self._memory.arrays[self._engine[name]][1:]
        # with several players one row for each
        return array.reshape(len(array), -1)

    def finals(self) -> Any:
        arrays = self._envs._final_arrays(self._memory.arrays)
        return None if arrays is None else map_leaves(lambda array: array[1:], arrays)


class CopiedStorage:
    """Memory to which the results of each step are copied: of environments in worker processes,
    whose rows lie in memory of their own, and of observations that are no arrays in C."""

    def __init__(self, envs: Any, steps: int) -> None:
        self._envs = envs
        self._steps = steps
        self._arrays = Recorded()
        self._elapsed = engine_indices(envs.pool.columns)["elapsed_step"]
        self._is_same_step = envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP

    def is_free(self) -> bool:
        return self._arrays.is_free()

    def filling(self) -> AbstractContextManager[None]:
        return nullcontext()

    def begin(self, observations: Any) -> Any:
        if self._arrays.names():
            like = self._arrays.row("observations", 0)
        else:
            like = self._envs._present_observations()
        self._put("observations", 0, checked_observations(observations, like))
        return self._arrays.row("observations", 0)

    def _put(self, name: str, row: int, value: Any) -> None:
        self._arrays.put(name, row, value, self._steps + 1)

    def put(self, step: int, result: Any) -> None:
        observations, rewards, terminated, truncated, infos = result
        row = step + 1
        if self._is_same_step:
            # before the first observations of the next episodes
            self._put_finals(row, observations, infos.get("final_obs"))
        self._put_observations(row, observations)
        self._put("reward", row, rewards)
        self._put("terminated", row, terminated)
        self._put("truncated", row, truncated)
        self._put("elapsed_step", row, last_batch(self._envs.pool)[self._elapsed])

    def _put_observations(self, row: int, observations: Any) -> None:
        self._put("observations", row, observations)

    def _put_finals(self, row: int, like: Any, final: Array | None) -> None:
        """Stores the last observations of the episodes that have ended."""
        if "finals" not in self._arrays.names():
            # memory for observations like these
            self._put("finals", row, like)
        if final is None:
            return
        stored = self._arrays.row("finals", row)
        for env_id, one in enumerate(final):
            if one is not None:
                map_leaves(lambda array, own, at=env_id: array.__setitem__(at, own), stored, one)

    def observations(self) -> Any:
        return self._arrays.get("observations")

    def column(self, name: str) -> Array:
        array: Array = self._arrays.get(name)
        return array[1:]

    def finals(self) -> Any:
        if not self._is_same_step:
            return None
        return map_leaves(lambda array: array[1:], self._arrays.get("finals"))


class FrameStorage(CopiedStorage):
    """Memory in which observations that are stacks of frames have each frame once."""

    def __init__(self, envs: Any, steps: int) -> None:
        super().__init__(envs, steps)
        self._log: FrameLog | None = None
        self._frames: Held | None = None
        shape = (steps + 1, envs.num_envs)
        # of the frames of each observation
        self._places: Array = np.zeros((*shape, 0), np.int32)
        self._finals: Array = self._places

    def is_free(self) -> bool:
        return self._frames is None or (super().is_free() and self._frames.is_free())

    def begin(self, observations: Any) -> Any:
        if self._log is None:
            observations = checked_observations(observations, self._envs._present_observations())
            self._log = make_log(observations, self._steps, self._is_same_step)
            self._frames = Held(self._log.frames)
            self._frames.settle()
        self._log.clear()
        # new ones, as users may hold the old ones
        self._places = np.empty((*self._places.shape[:2], self._log.stack), np.int32)
        self._finals = np.full_like(self._places, -1) if self._is_same_step else self._places
        self._places[0] = self._log.put(observations)
        return observations

    def _put_observations(self, row: int, observations: Any) -> None:
        assert self._log is not None
        self._places[row] = self._log.put(observations)

    def _put_finals(self, row: int, like: Any, final: Array | None) -> None:
        assert self._log is not None
        ended = [] if final is None else [i for i, one in enumerate(final) if one is not None]
        if final is not None and ended:
            stacks = np.stack([final[i] for i in ended])
            self._finals[row, ended] = self._log.put(stacks, np.array(ended))

    def observations(self) -> Any:
        assert self._log is not None
        return Stacks(self._log, self._places)

    def finals(self) -> Any:
        assert self._log is not None
        return Stacks(self._log, self._finals[1:]) if self._is_same_step else None


def make_log(observations: Any, steps: int, ends: bool = False) -> FrameLog:
    """Returns a log for the frames of a rollout of so many steps.

    Args:
        observations: like those of one step.
        steps: of the rollout.
        ends: whether an episode's last observations are stored, too.

    Raises:
        ValueError: observations are no stacks of frames.
        MemoryError: there is not so much memory, if each frame is stored once.
    """
    is_stack = isinstance(observations, np.ndarray) and observations.ndim > 2
    if not is_stack or observations.dtype.hasobject:
        raise ValueError(
            "frames=True: observations are no arrays (stack, ...) of frames: leave it out"
        )
    num_envs, stack = observations.shape[:2]
    frame_bytes = observations[:1, :1].nbytes
    least = num_envs * (stack + steps)
    check_room(least * frame_bytes)
    # at most, every step ends an episode and stores two whole stacks; asynchronous pools may store
    # the first observations twice. Memory is touched only as it fills.
    most = num_envs * stack * (2 + steps * (1 + ends))
    usable = usable_memory() // max(1, frame_bytes)
    return FrameLog(observations, max(least, min(most, usable, INT32_MAX)), overwrites=False)


def make_storage(envs: Any, steps: int, frames: bool) -> StepStorage:
    """Returns memory for a rollout of so many steps; raises MemoryError."""
    if frames:
        return FrameStorage(envs, steps)
    in_place = can_roll(envs.pool) and envs._has_observation_arrays
    return WrittenStorage(envs, steps) if in_place else CopiedStorage(envs, steps)
