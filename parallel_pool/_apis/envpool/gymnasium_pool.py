"""GymnasiumEnvPool: EnvPool's pool with Gymnasium's API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv

from parallel_pool._apis.common.import_hook import after_import
from parallel_pool._apis.common.rollout_method import RolloutMethod
from parallel_pool._apis.common.warn_once import warn_once
from parallel_pool._apis.envpool import actions, dummy_vec_env
from parallel_pool._apis.envpool.async_rollout_buffer import AsyncRolloutBuffer
from parallel_pool._apis.envpool.base import EnvPool
from parallel_pool._apis.envpool.results import ResultBuilder, Step
from parallel_pool._engine.base_pool import recv_some_as
from parallel_pool._engine.rollouts import check_received
from parallel_pool._engine.views import convert_batch
from parallel_pool._lazy import public
from parallel_pool.errors import EnvError, NotResetError, StateError

if TYPE_CHECKING:
    from parallel_pool._apis.common.rollout_buffer import RolloutBuffer
    from parallel_pool._apis.envpool.spec import EnvSpec
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Batch, Views
    from parallel_pool._engine.seeds import Seed


@public("compat.envpool")
class GymnasiumEnvPool(  # type: ignore[misc]
    RolloutMethod, EnvPool, VectorEnv[Any, Any, Any], gymnasium.Env[Any, Any]
):
    """Many environments behind `reset`, `step`, `send` and `recv`.

    It is a `gymnasium.vector.VectorEnv` and, like EnvPool's pools, a `gymnasium.Env`, so that
    subclasses of `gymnasium.Wrapper` accept it.

    Each row of an array is one environment; with several players, each row of rewards and
    per-player fields is one player, and `info["players"]["env_id"]` is its environment. If the
    environments say who acts (the info `live`), there are rows of players that act in the next step
    and last rows of players whose episode ends, and `info["players"]["id"]` is the player of each;
    its reward is the sum since its last row. Spaces are those of one environment. Episodes restart
    automatically: the step after the last of an episode ignores its action and returns the first
    observation of the next, with reward 0. A first step without a reset is a reset.

    Attributes:
        num_envs: may be assigned, as wrappers and training scripts do.
        observation_space: may be assigned, as wrappers and training scripts do.
        action_space: may be assigned, as wrappers and training scripts do.
        single_observation_space: may be assigned, as wrappers and training scripts do.
        single_action_space: may be assigned, as wrappers and training scripts do.
        is_vector_env: may be assigned, as wrappers and training scripts do.

    Example:
        >>> with parallel_pool.make_gymnasium("CartPole-v1", num_envs=8, batch_size=4) as envs:
        ...     envs.async_reset()
        ...     observations, rewards, terminated, truncated, infos = envs.recv()
        ...     envs.send(np.zeros(4, np.int32), infos["env_id"])
        >>> observations.shape, rewards.dtype
        ((4, 4), dtype('float32'))
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        spec: EnvSpec,
        *,
        returns_info: bool = True,
        render_mode: str | None = None,
        render_env_id: int = 0,
        drawing: Mapping[str, Any] | None = None,
    ) -> None:
        """Makes the environments; `make_gym` and `make_gymnasium` call this.

        Args:
            spec: the task and its options.
            returns_info: whether `reset` returns infos as well as observations.
            render_mode: None or "rgb_array".
            render_env_id: the environment that `render` draws.
            drawing: drawing options, if the task has any.
        """
        super().__init__(
            spec, render_mode=render_mode, render_env_id=render_env_id, drawing=drawing
        )
        self._returns_info = returns_info
        # makes the result of a step; no method of this object, which would be a reference cycle
        self._convert: Callable[[Views], Any] = self._rows.convert
        self._warn_of_two_rows()
        self.num_envs = len(self)
        self.observation_space = self.single_observation_space = spec.observation_space
        self.action_space = self.single_action_space = spec.action_space
        self.is_vector_env = True

    def _warn_of_two_rows(self) -> None:
        """Warns that `observations, infos = reset()` would unpack two rows, without an error."""
        if not self._returns_info and self.pool.batch_size == 2:
            warn_once(
                f"reset() of {self.spec.id} with env_type='gym' returns observations only, and with"
                " two rows `obs, info = env.reset()` would unpack those: choose"
                " env_type='gymnasium', or gym_reset_return_info=True"
            )

    def step(  # type: ignore[override]
        self, action: Any, env_id: Any = None, *, timeout: float | None = None
    ) -> Step:
        """Sends actions and receives the next results.

        Args:
            action: as for `send`.
            env_id: as for `send`.
            timeout: seconds.

        Returns:
            observations, (count, *shape) or a dict of such arrays; rewards, float32 (count,);
            terminated and truncated, bool (count,); infos, a dict of arrays.

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
            step: Step = self.pool.step_as(self._convert, action, env_id, timeout)
        except EnvError as error:
            error.batch = self._received(error.batch, False)
            raise
        # No function call from here on: Python handles signals after each, and the pool has handed
        # over the batch.
        self._rows.latest.is_taken = True
        return step

    @overload
    def recv(
        self,
        reset: Literal[False] = ...,
        return_info: bool | None = ...,
        *,
        timeout: float | None = ...,
        min_rows: int | None = ...,
    ) -> Step: ...

    @overload
    def recv(
        self,
        reset: bool,
        return_info: bool | None = ...,
        *,
        timeout: float | None = ...,
        min_rows: int | None = ...,
    ) -> Any: ...

    def recv(
        self,
        reset: bool = False,
        return_info: bool | None = None,
        *,
        timeout: float | None = None,
        min_rows: int | None = None,
    ) -> Any:
        """Receives the next results; in an asynchronous pool, of the first `batch_size` to finish.

        Args:
            reset: whether to return what `reset` returns instead of what `step` returns.
            return_info: with reset, whether to return infos; None: as `reset` does.
            timeout: seconds; with a timeout it also waits for actions that another thread sends.
            min_rows: asynchronous: 1 to batch_size; fewer results than batch_size will do, if there
                are at least these: those that are ready after the timeout, or that are ready when
                these are if there is no timeout. Arrays still have rows for batch_size
                environments. The first `info["num_rows"]` environments are results; the other rows
                are zero, with env_id -1. (If not all players have rows, the other rows are left
                out.)

        Raises:
            TypeError, ValueError: min_rows is wrong, or the pool is synchronous.
            StateError: too few environments are in flight.
            EnvError: environments failed; the error's `batch` is what would be returned.
            PoolTimeoutError: nothing, or less than min_rows, arrived in time; nothing is lost.
        """
        if min_rows is not None:
            return self._recv_some(reset, return_info, timeout, min_rows)
        convert = self._convert
        if reset:
            convert = partial(self._first, return_info)
        try:
            result = self.pool.recv_as(convert, timeout)
        except EnvError as error:
            error.batch = self._received(error.batch, reset, return_info)
            raise
        # as in `step`
        self._rows.latest.is_taken = True
        return result

    def _recv_some(
        self, reset: bool, return_info: bool | None, timeout: float | None, min_rows: int
    ) -> Any:
        convert = partial(self._some, reset, return_info)
        try:
            result = recv_some_as(self.pool, convert, timeout, min_rows)
        except EnvError as error:
            error.batch = convert_batch(convert, error.batch)
            self._rows.latest.is_taken = True
            raise
        # as in `step`
        self._rows.latest.is_taken = True
        return result

    def _some(self, reset: bool, return_info: bool | None, views: Views) -> Any:
        """Converts a batch of which some rows may be no results."""
        count = int((views[self._rows.names["env_id"]]() >= 0).sum())
        if self._rows.live_players is not None:
            # the players of a row without an environment are unknown
            views = [view()[:count].view for view in views]
        step = self._rows.convert(views)
        step[4]["num_rows"] = count
        return self._as_asked(step, reset, return_info)

    def reset(
        self,
        env_id: Any = None,
        *,
        seed: Seed = None,
        options: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Resets the environments of env_id (None: all) and returns their first observations.

        An asynchronous pool returns the first `batch_size` to finish, `recv` the others.

        Args:
            env_id: shape (count,), integers.
            seed: environment i gets seed + i; or a sequence, one seed for each of env_id. None
                continues the generators.
            options: {"reset_mask": bool (num_envs,)} names environments instead of env_id; the
                others are the environment's own reset options.
            timeout: seconds.

        Returns:
            observations and infos of these environments only; from `make_gym` without
            `gym_reset_return_info=True` observations alone.

        Raises:
            TypeError, ValueError: an argument is wrong.
            StateError: an environment is in flight, or an asynchronous pool would have fewer in
                flight than a batch needs.
            EnvError: environments failed; the error's `batch` is what would be returned.
            PoolTimeoutError: not done in time; `recv(reset=True)` returns the results.
        """
        try:
            result = self._reset(partial(self._first, None), env_id, seed, options, timeout)
        except EnvError as error:
            error.batch = self._received(error.batch, True)
            raise
        # as in `step`
        self._rows.latest.is_taken = True
        return result

    def rollout(self, steps: int, *, frames: bool = False) -> RolloutBuffer:
        """Returns a `RolloutBuffer`, whose `collect` lets a policy act for so many steps.

        That of an asynchronous pool is an `AsyncRolloutBuffer`, whose policy takes env_ids, too.

        Args:
            steps: of a rollout: 1 or more.
            frames: keep observations that are stacks of frames with each frame once: `Stacks`, a
                quarter of the memory for stacks of four.

        Raises:
            TypeError: steps is no integer.
            ValueError: steps is less than 1; or not all players have rows in every step; or the
                pool is asynchronous, and its environments have several players.
        """
        if self._rows.live_players is not None:
            raise ValueError(
                f"{self.spec.id}: the number of rows changes while players drop out, so their steps"
                " are no arrays (steps, rows): call step() and store its rows"
            )
        if self.is_async:
            return AsyncRolloutBuffer(self, steps, frames=frames)
        return super().rollout(steps, frames=frames)

    _has_observation_arrays = True

    def _observation_arrays(self, arrays: Sequence[Array]) -> Any:
        return self._rows.observations(arrays, axis=1)

    def _present_observations(self) -> Any:
        return self._observe(None)

    def _observe(self, env_ids: Array | None) -> Any:
        """Returns the present observations of environments (None: all), as `step` has them."""
        try:
            return self._rows.observations(self.pool.observe(env_ids))
        except StateError as error:
            if type(error) is not StateError:
                raise
            raise NotResetError(f"{error}: call reset() first") from None

    def _check_idle(self, what: str) -> None:
        check_received(self.pool)

    def _first(self, return_info: bool | None, views: Views) -> Any:
        """Converts the batch of a reset."""
        return self._as_asked(self._rows.convert(views), True, return_info)

    def _received(self, batch: Batch, reset: bool, return_info: bool | None = None) -> Any:
        return self._as_asked(self._rows.results(batch), reset, return_info)

    def _as_asked(self, step: Any, reset: bool, return_info: bool | None = None) -> Any:
        """Returns the results of a step, or of these those that a reset returns."""
        if not reset:
            return step
        return _of_reset(step, self._returns_info if return_info is None else return_info)

    def _converters(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        return self._rows.results, partial(_reset_result, self._rows, self._returns_info)


def _reset_result(rows: ResultBuilder, with_info: bool, batch: Batch) -> Any:
    """Returns what a reset returns; the batch's arrays may be NumPy's or JAX's."""
    return _of_reset(rows.results(batch), with_info)


def _of_reset(step: Any, with_info: bool) -> Any:
    """Returns what a reset returns of the results of a step."""
    observation, _, _, _, info = step
    return (observation, info) if with_info else observation


# Stable-Baselines3 would treat this gymnasium.Env of many rows as one environment
after_import(dummy_vec_env.MODULE, lambda: dummy_vec_env.install(GymnasiumEnvPool))
