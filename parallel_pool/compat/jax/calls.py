"""Calls: one pool's send, reset, recv and step over JAX arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from parallel_pool.compat.jax.primitives import CALLS

if TYPE_CHECKING:
    from parallel_pool.pool import Pool

# dtypes of actions that the engine takes
INTEGERS = ("int8", "uint8", "int32", "int64")
FLOATS = ("float32", "float64")
HANDLE: tuple[tuple[int, ...], Any] = ((2,), np.dtype(np.int32))


class Calls:
    """A pool's calls, for jitted programs. It holds no reference to the pool.

    Every function takes a handle and returns the next one. It checks dtypes and shapes while it is
    traced. What only the numbers show (an action outside its space, an old handle, a closed pool)
    is an error of the compiled program, a `jax.errors.JaxRuntimeError`.
    """

    def __init__(self, pool: Pool, shown: Sequence[int]) -> None:
        """
        Args:
            pool: native environments.
            shown: the indices of the columns that results need; the others are not copied.
        """
        self._shown = tuple(shown)
        self._columns = [(pool.columns[i].shape, pool.columns[i].dtype) for i in shown]
        self._count, self._batch_size = len(pool.columns), pool.batch_size
        self._num_envs = pool.num_envs
        action = pool.spec.action
        self._is_discrete = np.dtype(action.dtype).kind in "iub"
        self._players = pool.spec.num_players if action.per_player else 0
        self._action_shape = action.shape

    def send(self, handle: Any, actions: Any, env_ids: Any = None) -> Any:
        """Queues one action for each of env_ids (None: all); returns the next handle."""
        arrays, has_ids = self._actions(actions, env_ids)
        (handle,) = self._call("send", (handle, *arrays), has_ids=has_ids)
        return handle

    def reset(self, handle: Any, seeds: Any = None, env_ids: Any = None) -> Any:
        """Queues a reset for each of env_ids (None: all); returns the next handle.

        Args:
            handle: the newest one.
            seeds: integers from 0 to 2**32 - 1, one for each environment; None continues the
                generators.
            env_ids: integers (count,).
        """
        ids, count = self._ids(env_ids)
        arrays = []
        if seeds is not None:
            seeds = jnp.asarray(seeds)
            if not jnp.issubdtype(seeds.dtype, jnp.integer):
                raise TypeError(f"seeds have dtype {seeds.dtype}: give integers")
            if seeds.shape != (count,):
                raise ValueError(f"seeds have shape {seeds.shape}: give shape {(count,)}")
            arrays.append(seeds.astype(np.uint32))
        (handle,) = self._call(
            "reset", (handle, *arrays, *ids), has_seeds=bool(arrays), has_ids=bool(ids)
        )
        return handle

    def recv(self, handle: Any) -> tuple[Any, list[Any]]:
        """Receives the next batch; returns the next handle and the columns, None if not shown."""
        handle, *found = self._call("recv", (handle,), columns=self._shown)
        return handle, self._spread(found)

    def step(self, handle: Any, actions: Any, env_ids: Any = None) -> tuple[Any, list[Any]]:
        """Sends and receives; returns the next handle and the columns, None if not shown."""
        arrays, has_ids = self._actions(actions, env_ids)
        handle, *found = self._call("step", (handle, *arrays), columns=self._shown, has_ids=has_ids)
        return handle, self._spread(found)

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
            for shape, dtype in self._columns:
                # without jax_enable_x64 an array of 64 bits becomes one of 32
                shown = jax.dtypes.canonicalize_dtype(dtype)
                results.append(((self._batch_size, *shape), shown))
        return CALLS[name].bind(handle, *arrays[1:], results=tuple(results), **kinds)

    def _spread(self, found: Sequence[Any]) -> list[Any]:
        columns: list[Any] = [None] * self._count
        for i, array in zip(self._shown, found, strict=True):
            columns[i] = array
        return columns

    def _ids(self, env_ids: Any) -> tuple[list[Any], int]:
        """Returns the ids as a list of no or one array, and how many environments they name."""
        if env_ids is None:
            return [], self._num_envs
        ids = jnp.atleast_1d(jnp.asarray(env_ids))
        if not jnp.issubdtype(ids.dtype, jnp.integer):
            raise TypeError(f"env_ids have dtype {ids.dtype}: give integers")
        if ids.ndim != 1 or not 0 < len(ids) <= self._num_envs:
            raise ValueError(f"env_ids have shape {ids.shape}: name 1 to {self._num_envs}")
        return [ids.astype(np.int32)], len(ids)

    def _actions(self, actions: Any, env_ids: Any) -> tuple[list[Any], bool]:
        ids, count = self._ids(env_ids)
        array = jnp.asarray(actions)
        kinds = INTEGERS if self._is_discrete else ("bool", *INTEGERS, *FLOATS)
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
