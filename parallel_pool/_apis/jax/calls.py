"""Calls: one pool's send, reset, recv and step over JAX arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from parallel_pool._apis.jax.primitives import CALLS
from parallel_pool._engine.arguments import whole

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool

# dtypes of actions that the engine takes as they are
INTEGERS = ("int8", "uint8", "int32", "int64")
# and those that it converts for Discrete
OTHER_INTEGERS = ("int16", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
HANDLE: tuple[tuple[int, ...], Any] = ((2,), np.dtype(np.int32))


def host_integers(values: Any) -> Array | None:
    """Returns the integers of the host among arguments as a NumPy array, None for others."""
    if isinstance(values, jax.Array):
        return None
    try:
        array = np.asarray(values)
    except (jax.errors.TracerArrayConversionError, ValueError):
        return None
    if array.dtype.kind == "f" and not isinstance(values, np.ndarray):
        # NumPy makes floats of a list that has both negative integers and some of 64 bits
        array = np.asarray(values, object)
        if not all(isinstance(each, (int, np.integer)) for each in array.flat):
            return None
    return array if array.dtype.kind in "iuO" and array.size else None


def _wrapped(array: Array) -> int | None:
    """Returns the index of the first integer that JAX would change, None if there is none.

    Without `jax_enable_x64` JAX makes integers of 64 bits integers of 32, and drops their high bits
    without a word.
    """
    kept = np.iinfo(jax.dtypes.canonicalize_dtype(array.dtype if array.dtype.kind != "O" else int))
    found = np.flatnonzero((array < kept.min) | (array > kept.max))
    return int(found[0]) if len(found) else None


class Calls:
    """A pool's calls, for jitted programs. It holds no reference to the pool.

    Every function takes a handle and returns the next one. It checks dtypes and shapes while it is
    traced. What only the numbers show (an action outside its space, an old handle, a closed pool)
    is an error of the compiled program, a `jax.errors.JaxRuntimeError`.
    """

    def __init__(self, pool: Pool, result_columns: Sequence[int], timeout: int = -1) -> None:
        """
        Args:
            pool: native environments.
            result_columns: the indices of the columns that results need; the others are not copied.
            timeout: nanoseconds that `recv` and `step` may wait; -1 for no limit.
        """
        self._timeout = timeout
        self._result_columns = tuple(result_columns)
        self._columns = {i: (pool.columns[i].shape, pool.columns[i].dtype) for i in result_columns}
        self._count, self._batch_size = len(pool.columns), pool.batch_size
        self._num_envs = pool.num_envs
        action = pool.spec.action
        self._is_discrete = np.dtype(action.dtype).kind in "iub"
        self._integers: tuple[str, ...] = INTEGERS
        if not pool.definition.raw.action_dtypes:
            self._integers += OTHER_INTEGERS
        self._n, self._first = action.n, int(action.start) if action.n else 0
        self._players = pool.spec.num_players if action.per_player else 0
        self._action_shape = action.shape

    # the names of arguments are EnvPool's

    def send(self, handle: Any, action: Any, env_id: Any = None) -> Any:
        """Queues one action for each of env_id (None: all); returns the next handle."""
        arrays, has_ids = self._actions(action, env_id)
        (handle,) = self._call("send", (handle, *arrays), has_ids=has_ids)
        return handle

    def reset(
        self, handle: Any, seeds: Any = None, env_id: Any = None, *, are_signed: bool = False
    ) -> Any:
        """Queues a reset for each of env_id (None: all); returns the next handle.

        Args:
            handle: the newest one.
            seeds: integers, one for each environment: 0 to 2**32 - 1, with `jax_enable_x64` up to
                2**64 - 1; None continues the generators.
            env_id: integers (count,).
            are_signed: seeds are -2**31 to 2**31 - 1, as ale-py's; negative ones continue the
                generators.
        """
        ids, count = self._ids(env_id)
        arrays = [] if seeds is None else [self._seeds(seeds, count, are_signed)]
        (handle,) = self._call(
            *("reset", (handle, *arrays, *ids)),
            has_seeds=bool(arrays),
            has_signed_seeds=are_signed,
            has_ids=bool(ids),
        )
        return handle

    def recv(self, handle: Any) -> tuple[Any, list[Any]]:
        """Receives the next batch; returns the next handle, and the columns or None."""
        handle, *found = self._call(
            "recv", (handle,), columns=self._result_columns, timeout=self._timeout
        )
        return handle, self._spread(found)

    def step(self, handle: Any, action: Any, env_id: Any = None) -> tuple[Any, list[Any]]:
        """Sends and receives; returns the next handle, and the columns or None."""
        arrays, has_ids = self._actions(action, env_id)
        handle, *found = self._call(
            *("step", (handle, *arrays)),
            columns=self._result_columns,
            has_ids=has_ids,
            timeout=self._timeout,
        )
        return handle, self._spread(found)

    def observe(self, handle: Any, indices: Sequence[int]) -> tuple[Any, list[Any]]:
        """Reads the current observations of all environments; synchronous pools only.

        Args:
            handle: the newest one.
            indices: of columns that results need, which are fields of at most 32 bits.

        Returns:
            The next handle and the columns, None if not named.
        """
        result_columns = tuple(i for i in self._result_columns if i in indices)
        handle, *found = self._call("observe", (handle,), columns=result_columns)
        columns: list[Any] = [None] * self._count
        for i, array in zip(result_columns, found, strict=True):
            columns[i] = array
        return handle, columns

    # ------------------------------------------------------------------------------- private --

    def _call(self, name: str, arrays: Sequence[Any], **kinds: Any) -> Any:
        handle = jnp.asarray(arrays[0])
        if handle.dtype != np.int32 or handle.shape != (2,):
            raise TypeError(
                f"the handle is {handle.dtype}{list(handle.shape)}: give the one from xla(), or"
                " that the call before returned"
            )
        results = [HANDLE]
        if "columns" in kinds:
            for shape, dtype in (self._columns[i] for i in kinds["columns"]):
                # without jax_enable_x64 an array of 64 bits becomes one of 32
                result_dtype = jax.dtypes.canonicalize_dtype(dtype)
                results.append(((self._batch_size, *shape), result_dtype))
        return CALLS[name].bind(handle, *arrays[1:], results=tuple(results), **kinds)

    def _spread(self, found: Sequence[Any]) -> list[Any]:
        columns: list[Any] = [None] * self._count
        for i, array in zip(self._result_columns, found, strict=True):
            columns[i] = array
        return columns

    def _ids(self, env_ids: Any) -> tuple[list[Any], int]:
        """Returns the ids as a list of no or one array, and how many environments they name."""
        if env_ids is None:
            return [], self._num_envs
        given = host_integers(env_ids)
        if given is not None and (at := _wrapped(given)) is not None:
            raise ValueError(f"env_id {given.flat[at]}: choose 0 to {self._num_envs - 1}")
        ids = jnp.atleast_1d(jnp.asarray(env_ids))
        if not jnp.issubdtype(ids.dtype, jnp.integer):
            raise TypeError(f"env_ids have dtype {ids.dtype}: give integers")
        if ids.ndim != 1 or not 0 < len(ids) <= self._num_envs:
            raise ValueError(f"env_ids have shape {ids.shape}: name 1 to {self._num_envs}")
        return [ids], len(ids)

    def _refusal(self, action: int, row: int) -> str:
        """Returns the message about an integer that JAX does not hold."""
        if self._n:
            last = self._first + self._n - 1
            return (
                f"action {action} of row {row} is outside its space: choose {self._first} to {last}"
            )
        return f"action {action} of row {row} needs 64 bits: set jax_enable_x64, or give floats"

    def _seeds(self, seeds: Any, count: int, are_signed: bool) -> Any:
        given = host_integers(seeds)
        if given is not None and given.dtype == object:
            for seed in given.flat:
                whole("seed", seed)
        if given is not None and are_signed:
            for seed in given.flat:
                if not -(2**31) <= seed < 2**31:
                    raise TypeError(f"seed={seed}: choose -2**31 to 2**31 - 1")
        elif given is not None:
            for seed in given.flat:
                if not 0 <= seed < 2**64:
                    choice = "0 or more" if seed < 0 else "0 to 2**64 - 1"
                    raise ValueError(f"seed={seed}: choose {choice}")
            is_wide = bool((given >= 2**32).any())
            if is_wide and jax.dtypes.canonicalize_dtype(np.uint64) != np.uint64:
                raise ValueError(
                    f"seed={max(given.flat)}: choose 0 to 2**32 - 1, or set jax_enable_x64"
                )
            seeds = given.astype(np.uint64 if is_wide else np.uint32)
        array = jnp.asarray(seeds)
        if not jnp.issubdtype(array.dtype, jnp.integer):
            raise TypeError(f"seeds have dtype {array.dtype}: give integers")
        if array.shape != (count,):
            raise ValueError(f"seeds have shape {array.shape}: give shape {(count,)}")
        return array

    def _actions(self, actions: Any, env_ids: Any) -> tuple[list[Any], bool]:
        ids, count = self._ids(env_ids)
        given = host_integers(actions)
        if given is not None and (at := _wrapped(given)) is not None:
            raise ValueError(self._refusal(given.flat[at], at * count // given.size))
        array = jnp.asarray(actions)
        kinds = self._integers if self._is_discrete else ("bool", *INTEGERS, *FLOATS)
        if array.dtype.name not in kinds:
            what = "integers, such as int32" if self._is_discrete else "float32, or integers"
            raise TypeError(f"actions have dtype {array.dtype}: give {what}")
        shape = (count, *self._action_shape)
        if self._players:
            # one row for each player, as EnvPool's, or for each environment
            shape = (count, self._players, *self._action_shape)
            if array.shape == (count * self._players, *self._action_shape):
                array = array.reshape(shape)
        if array.shape != shape:
            raise ValueError(f"actions have shape {array.shape}: give shape {shape}")
        return [array, *ids], bool(ids)
