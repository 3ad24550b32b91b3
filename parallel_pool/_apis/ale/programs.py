"""XlaFunctions: the functions with which compiled programs step an `AtariVectorEnv`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from parallel_pool._apis.common.mask_ids import named_ids
from parallel_pool._apis.jax.calls import Calls, host_integers
from parallel_pool._engine.sharing import share
from parallel_pool._native import lib

if TYPE_CHECKING:
    from parallel_pool._engine.pool import Pool

Result = tuple[Any, tuple[Any, ...]]

# what an asynchronous pool's handle holds before the first result
NONE = -1


class XlaFunctions:
    """The functions of one `AtariVectorEnv`; it refers to the pool only by its number.

    A handle of a synchronous pool is that of `Calls`, int32 (2,). That of an asynchronous one also
    has the ids of the environments received last, int32 (2 + batch_size,), since the next actions
    are for these.
    """

    def __init__(self, pool: Pool, read_actions: Callable[[Any, Any], Any]) -> None:
        """
        Args:
            pool: the environments.
            read_actions: a function of jax.numpy and actions, which checks these and returns them
                as the pool takes them.
        """
        self._number = share(pool)
        self._num_envs, self._batch_size = pool.num_envs, pool.batch_size
        self._is_async = pool.is_async
        self._read_actions = read_actions
        own = {c.name: i for i, c in enumerate(pool.columns) if not c.is_final}
        self._infos = [own[name] for name in ("lives", "frame_number", "episode_frame_number")]
        self._result_columns = [0, *self._infos]
        self._engine = [own[name] for name in ("reward", "terminated", "truncated", "lost_life")]
        self._env_id = own["env_id"]
        self._calls = Calls(pool, sorted({*self._result_columns, *self._engine, self._env_id}))

    @property
    def count(self) -> int:
        """How many calls programs have made, modulo 2**32."""
        return int(lib.pp_xla_calls(self._number))

    def handle(self, sent_to: np.ndarray[Any, Any] | None) -> Any:
        """Returns a valid handle.

        Args:
            sent_to: the environments that the next actions are for; None for none yet.
        """
        own = np.array([self._number, self.count], np.uint32).view(np.int32)
        if not self._is_async:
            return jnp.asarray(own)
        ids = np.full(self._batch_size, NONE) if sent_to is None else sent_to
        return jnp.asarray(np.concatenate([own, ids.astype(np.int32)]))

    def reset(self, handle: Any, seed: Any = None, reset_mask: Any = None) -> Result:
        """Starts new episodes.

        Args:
            handle: the newest one.
            seed: the i-th environment that is reset gets seed + i, or the i-th of an array; None
                and negative seeds continue the generators.
            reset_mask: bool (num_envs,), not traced: the environments to reset; None for all.

        Returns:
            The next handle, and (observations, infos), as `AtariVectorEnv.reset` returns them.
        """
        own, _ = self._split(handle)
        env_ids = None if reset_mask is None else self._masked(reset_mask)
        count = self._num_envs if env_ids is None else len(env_ids)
        if isinstance(seed, int):
            seed = np.arange(seed, seed + count)
        columns: list[Any] = []
        if count:
            own = self._calls.reset(own, seed, env_ids, are_signed=True)
            own, columns = self._calls.recv(own)
        if count < self._num_envs:
            own, columns = self._calls.observe(own, self._result_columns)
            columns[self._env_id] = jnp.arange(self._num_envs, dtype=np.int32)
        return self._join(own, columns), (columns[0], self._make_infos(columns))

    def step(self, handle: Any, actions: Any) -> Result:
        """Sends actions to the environments received last, and receives.

        Args:
            handle: the newest one.
            actions: int32 or int64 (batch_size,); with `continuous` float32 (batch_size, 3).

        Returns:
            The next handle, and (observations, rewards, terminations, truncations, infos), as
            `AtariVectorEnv.step` returns them.
        """
        own, env_ids = self._split(handle)
        # JAX would wrap integers of 64 bits: `Calls` checks those of the host as they are
        given = host_integers(actions)
        actions = self._read_actions(jnp, jnp.asarray(actions) if given is None else given)
        own, columns = self._calls.step(own, actions, env_ids)
        rewards, terminated, truncated, lost_life = (columns[i] for i in self._engine)
        results = columns[0], rewards.astype(np.int32), terminated | lost_life, truncated
        return self._join(own, columns), (*results, self._make_infos(columns))

    # ------------------------------------------------------------------------------- private --

    def _split(self, handle: Any) -> tuple[Any, Any]:
        """Returns the handle of `Calls`, and the environments that actions are for."""
        handle = jnp.asarray(handle)
        if not self._is_async:
            return handle, None
        shape = (2 + self._batch_size,)
        if handle.dtype != np.int32 or handle.shape != shape:
            raise TypeError(
                f"the handle is {handle.dtype}{list(handle.shape)}: give the one from xla(), or"
                " that the call before returned"
            )
        return handle[:2], handle[2:]

    def _join(self, own: Any, columns: Any) -> Any:
        return jnp.concatenate([own, columns[self._env_id]]) if self._is_async else own

    def _masked(self, reset_mask: Any) -> np.ndarray[Any, Any]:
        """Returns the ids of the environments that a reset is for."""
        if isinstance(reset_mask, Tracer):
            raise TypeError(
                "reset_mask is traced: how many environments it names must be known when a program"
                " is compiled, so give an array of NumPy"
            )
        env_ids = named_ids(np.asanyarray(reset_mask), self._num_envs)
        if self._is_async and len(env_ids) < self._num_envs:
            raise ValueError(
                f"reset_mask names {len(env_ids)} of {self._num_envs} environments: an asynchronous"
                f" pool (batch_size={self._batch_size}) resets all"
            )
        return env_ids

    def _make_infos(self, columns: Any) -> dict[str, Any]:
        infos = {"env_id": columns[self._env_id]}
        names = ("lives", "frame_number", "episode_frame_number")
        infos.update((name, columns[i]) for name, i in zip(names, self._infos, strict=True))
        return infos
