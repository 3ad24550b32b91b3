"""DMEnvPool: EnvPool's pool with dm_env's API: batched time steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.envpool import actions
from parallel_pool._apis.envpool.base import EnvPool
from parallel_pool._apis.envpool.dm_specs import Structure, dm_env, specs
from parallel_pool._engine.pool import all_arrays
from parallel_pool._engine.trees import nest
from parallel_pool._lazy import public
from parallel_pool.errors import EnvError

if TYPE_CHECKING:
    from parallel_pool._apis.envpool.results import ResultBuilder
    from parallel_pool._apis.envpool.spec import EnvSpec
    from parallel_pool._engine.pool import Batch, Views
    from parallel_pool._engine.seeds import Seed


@public("compat.envpool")
class DMEnvPool(EnvPool, dm_env.Environment):  # type: ignore[misc]
    """Many environments behind `reset`, `step`, `send` and `recv`, as a `dm_env.Environment`.

    Every result is a `dm_env.TimeStep` of arrays, one row per environment: step_type, int32 (0
    first, 1 mid, 2 last); reward and discount, float32; observation, a namedtuple `State` of
    env_id, players and the environment's own observations and infos. With several players per
    environment, rewards, discounts and per-player fields have one row per player, and
    `observation.players.env_id` is the environment of each. Episodes restart automatically: the
    step after a last one ignores its action and is a first one. The discount is 0 when an episode
    terminates, and 1 when it is truncated.

    Example:
        >>> with parallel_pool.make_dm("CartPole-v1", num_envs=4, seed=1) as envs:
        ...     step = envs.reset()
        ...     step = envs.step(np.zeros(4, np.int32))
        >>> step.observation.obs.shape, step.reward, step.step_type
        ((4, 4), array([1., 1., 1., 1.], dtype=float32), array([1, 1, 1, 1], dtype=int32))
    """

    def __init__(
        self,
        spec: EnvSpec,
        *,
        render_mode: str | None = None,
        render_env_id: int = 0,
        drawing: Mapping[str, Any] | None = None,
    ) -> None:
        """Makes the environments; `make_dm` calls this.

        Args:
            spec: the task and its options.
            render_mode: None or "rgb_array".
            render_env_id: the environment that `render` draws.
            drawing: drawing options, if the task has any.
        """
        super().__init__(
            spec,
            render_mode=render_mode,
            render_env_id=render_env_id,
            drawing=drawing,
            has_steps=True,
        )
        state = Structure("State", nest(self._rows.names))
        self._result = partial(_time_step, self._rows, state, spec.num_players)

    def step(
        self, action: Any, env_id: Any = None, *, timeout: float | None = None
    ) -> dm_env.TimeStep:
        """Sends actions and receives the next results.

        Args:
            action: as for `send`.
            env_id: as for `send`.
            timeout: seconds.

        Raises:
            TypeError, ValueError: an action or an env_id is wrong, or an asynchronous pool was
                given no env_id; nothing was sent.
            StateError: an environment is in flight, or results of an earlier call are pending.
            EnvError: environments failed; the error's `batch` is what would be returned.
            PoolTimeoutError: not done in time; `recv` returns the results.
        """
        if not self._is_plain or actions.is_mapping(action):
            action, env_id = self._arrange_step(action, env_id)
        try:
            return self.pool.step_as(self._convert, action, env_id, timeout)
        except EnvError as error:
            error.batch = self._result(error.batch)
            raise

    def recv(
        self, reset: bool = False, return_info: bool = True, *, timeout: float | None = None
    ) -> dm_env.TimeStep:
        """Receives the next results; in an asynchronous pool, of the first `batch_size` to finish.

        Args:
            reset: accepted for compatibility with EnvPool, and ignored.
            return_info: accepted for compatibility with EnvPool, and ignored.
            timeout: seconds; with a timeout it also waits for actions that another thread sends.

        Raises:
            StateError: too few environments are in flight.
            EnvError: environments failed; the error's `batch` is what would be returned.
            PoolTimeoutError: nothing arrived in time; nothing is lost.
        """
        try:
            return self.pool.recv_as(self._convert, timeout)
        except EnvError as error:
            error.batch = self._result(error.batch)
            raise

    def reset(
        self,
        env_id: Any = None,
        *,
        seed: Seed = None,
        options: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> dm_env.TimeStep:
        """Resets the environments of env_id (None: all) and returns their first time steps.

        An asynchronous pool returns the first `batch_size` to finish, `recv` the others.

        Args:
            env_id: shape (count,), integers.
            seed: environment i gets seed + i; or a sequence, one seed for each of env_id. None
                continues the generators.
            options: {"reset_mask": bool (num_envs,)} names environments instead of env_id; the
                others are the environment's own reset options.
            timeout: seconds.

        Raises:
            TypeError, ValueError: an argument is wrong.
            StateError: an environment is in flight, or an asynchronous pool would have fewer in
                flight than a batch needs.
            EnvError: environments failed; the error's `batch` is what would be returned.
            PoolTimeoutError: not done in time; `recv` returns the results.
        """
        try:
            return self._reset(self._convert, env_id, seed, options, timeout)
        except EnvError as error:
            error.batch = self._result(error.batch)
            raise

    def _convert(self, views: Views) -> Any:
        return self._result(all_arrays(views))

    def _converters(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        return self._result, self._result

    # --------------------------------------------------------------------------------- specs --

    def observation_spec(self) -> Any:
        """Returns the specs of one environment's observation, a namedtuple `State`."""
        return self.spec.observation_spec()

    def action_spec(self) -> specs.Array:
        """Returns the spec of one environment's (one player's) action."""
        return self.spec.action_spec()

    def reward_spec(self) -> specs.Array:
        """Returns the spec of one environment's (one player's) reward."""
        return specs.Array((), np.float32, name="reward")

    def discount_spec(self) -> specs.BoundedArray:
        """Returns the spec of one environment's (one player's) discount."""
        return specs.BoundedArray((), np.float32, 0.0, 1.0, name="discount")


def _time_step(rows: ResultBuilder, state: Structure, num_players: int, batch: Batch) -> Any:
    """Returns a batch as a time step; its arrays may be NumPy's or JAX's."""
    discount = batch[rows.discount]
    if num_players > 1:
        batch = rows.flatten(batch)
        discount = discount.repeat(num_players)
    return dm_env.TimeStep(batch[rows.step_type], batch[rows.reward], discount, state.fill(batch))
