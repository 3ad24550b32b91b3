"""SingleDMEnv: one native environment as a `dm_env.Environment`, not a batch of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.envpool.base import EnvPool
from parallel_pool._apis.envpool.dm_specs import dm_env, environment_spec, specs
from parallel_pool._engine.actions import described
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.interrupted import drain
from parallel_pool._engine.trees import map_leaves, nest
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._engine.views import all_arrays
from parallel_pool._lazy import public
from parallel_pool.errors import EnvError

if TYPE_CHECKING:
    from typing import Self

    from parallel_pool._apis.envpool.spec import EnvSpec
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Batch, Pool
    from parallel_pool._engine.seeds import Seed

# by the value in a batch
STEP_TYPES = tuple(dm_env.StepType)
FIRST, LAST = dm_env.StepType.FIRST, dm_env.StepType.LAST


class OneEnv(EnvPool):
    """A pool of one environment, whose engine and resets `SingleDMEnv` uses."""

    def restart(self, seed: Seed, options: Mapping[str, Any] | None) -> Batch:
        """Resets the environment; for the arguments see `SingleDMEnv.reset`."""
        return self._reset(all_arrays, None, seed, options, None)


@public("compat.dm_env")
class SingleDMEnv(TraceMethod, Uncopied, dm_env.Environment):  # type: ignore[misc]
    """One native environment as dm_env defines it: each call returns one `dm_env.TimeStep`.

    An observation is the array of `observation_spec()`, or a dict of such arrays if the environment
    has several; it and the reward, float32, have no axis of environments, and are the caller's own.
    The environment's infos are in the attribute `info`. With several players, the action, the
    rewards, and each observation and info of single players have a first axis of players; the
    discount is that of the environment.

    A FIRST step has no reward and no discount (None). The discount, float32, is 0 when the episode
    terminates, and 1 when it is truncated. The step after a LAST one, or before any reset, ignores
    its action and begins an episode.

    Attributes:
        spec: the task and its options.
        config: the options by name.
        render_mode: as given to `make_dm`.

    Example:
        >>> with parallel_pool.make_dm("CartPole-v1", batched=False, seed=1) as env:
        ...     step = env.reset()
        ...     while not step.last():
        ...         step = env.step(0)
        >>> float(step.reward), float(step.discount)
        (1.0, 0.0)
    """

    @property
    def pool(self) -> Pool:
        """The `Pool` underneath, of one environment."""
        return self._envs.pool

    def __init__(
        self,
        spec: EnvSpec,
        *,
        render_mode: str | None = None,
        render_env_id: int = 0,
        drawing: Mapping[str, Any] | None = None,
    ) -> None:
        """Makes the environment; `make_dm(..., batched=False)` calls this.

        Args:
            spec: the task and its options.
            render_mode: None or "rgb_array".
            render_env_id: only 0.
            drawing: drawing options, if the task has any.

        Raises:
            ValueError: there are several environments.
        """
        count = spec.config.num_envs
        if count != 1:
            raise ValueError(
                f"batched=False is for one environment, and num_envs={count}: choose num_envs=1,"
                " or leave batched out"
            )
        self._envs = OneEnv(
            spec,
            render_mode=render_mode,
            render_env_id=render_env_id,
            drawing=drawing,
            has_steps=True,
        )
        self.spec = spec
        self.config = self._envs.config
        self.render_mode = render_mode
        pool = self._envs.pool
        engine = engine_indices(pool.columns)
        self._step_type, self._reward = engine["step_type"], engine["reward"]
        self._discount = engine["discount"]
        fields = pool.spec.fields
        count = len(pool.spec.observations)
        # a column's index, or a tree of such
        self._observation: Any = (
            0 if count == 1 else nest({field.name: i for i, field in enumerate(fields[:count])})
        )
        self._infos = nest(
            {
                **{field.name: i for i, field in enumerate(fields) if i >= count},
                "elapsed_step": engine["elapsed_step"],
            }
        )
        players = pool.spec.num_players
        self._observation_specs: Any = map_leaves(
            lambda i: environment_spec(fields[i], players), self._observation
        )
        action = spec.action_spec()
        if players > 1 and pool.spec.action.per_player:
            # EnvPool's dtype, and the bounds of every player
            action = environment_spec(pool.spec.action, players).replace(dtype=action.dtype)
        self._action_spec = action
        self._reward_shape = (players,) if players > 1 else ()
        # the last result; None: none yet
        self._batch: Batch | None = None
        # the next step begins an episode
        self._begins = True
        # Ctrl-C ended a call, whose result may still arrive
        self._is_interrupted = False

    # ------------------------------------------------------------------------------ stepping --

    def reset(
        self, *, seed: Seed = None, options: Mapping[str, Any] | None = None
    ) -> dm_env.TimeStep:
        """Begins an episode and returns its FIRST step.

        Args:
            seed: of the environment's generator, which None continues.
            options: the environment's own reset options.

        Raises:
            TypeError, ValueError: an argument is wrong; the episode goes on.
            ClosedError: `close` was called.
            EnvError: the environment failed; its next step begins an episode.
        """
        if self._is_interrupted:
            self._drop_result()
        return self._time_step(self._run(lambda: self._envs.restart(seed, options)))

    def step(self, action: Any) -> dm_env.TimeStep:
        """Does one step; after a LAST one, and before any reset, it begins an episode instead.

        Args:
            action: as `action_spec()` says; ignored by a step that begins an episode.

        Raises:
            TypeError, ValueError: the action is wrong; nothing was stepped.
            ClosedError: `close` was called.
            EnvError: the environment failed; its next step begins an episode.
        """
        if self._begins or self._is_interrupted:
            return self.reset()
        array = np.asarray(action)
        if array.dtype == object:
            raise TypeError(f"the action is {described(action)}: give one of {self._action_spec}")
        if array.shape != self._action_spec.shape:
            raise ValueError(
                f"the action is {described(action)}: give one of shape {self._action_spec.shape},"
                " which has no axis of environments"
            )
        pool = self._envs.pool
        return self._time_step(self._run(lambda: pool.step(array[np.newaxis])))

    def _run(self, call: Callable[[], Batch]) -> Batch:
        """Returns the result of a call of the pool, and notes how it failed."""
        try:
            return call()
        except EnvError:
            self._begins = True
            raise
        except BaseException as error:
            if not isinstance(error, Exception):
                self._is_interrupted = True
            raise

    def _drop_result(self) -> None:
        """Receives and drops the result of a call that Ctrl-C ended."""
        for _ in drain(self._envs.pool):
            pass
        self._is_interrupted = False
        self._begins = True

    def _time_step(self, batch: Batch) -> dm_env.TimeStep:
        self._batch = batch
        kind = STEP_TYPES[batch[self._step_type][0]]
        self._begins = kind is LAST
        observation = map_leaves(lambda i: batch[i][0], self._observation)
        if kind is FIRST:
            return dm_env.TimeStep(kind, None, None, observation)
        return dm_env.TimeStep(kind, batch[self._reward][0], batch[self._discount][0], observation)

    @property
    def info(self) -> dict[str, Any]:
        """The infos of the last time step, with "elapsed_step"; empty before the first."""
        batch = self._batch
        return {} if batch is None else map_leaves(lambda i: batch[i][0], self._infos)

    # --------------------------------------------------------------------------------- specs --

    def observation_spec(self) -> specs.Array | dict[str, specs.Array]:
        """Returns the spec of an observation, or a dict of such."""
        return self._observation_specs

    def action_spec(self) -> specs.Array:
        """Returns the spec of an action."""
        return self._action_spec

    def reward_spec(self) -> specs.Array:
        """Returns the spec of a reward; with several players, of one for each."""
        return specs.Array(self._reward_shape, np.float32, name="reward")

    def discount_spec(self) -> specs.BoundedArray:
        """Returns the spec of a discount."""
        return specs.BoundedArray((), np.float32, 0.0, 1.0, name="discount")

    # --------------------------------------------------------------------------------- other --

    def render(self, camera_id: int | None = None) -> Array:
        """Draws the environment.

        Args:
            camera_id: for tasks with cameras (MuJoCo): a camera other than the environment's.

        Returns:
            An RGB picture, uint8 (height, width, 3).

        Raises:
            ValueError, StateError, MissingDependencyError: as `DMEnvPool.render` does.
        """
        picture: Array = self._envs.render(camera_id=camera_id)[0]
        return picture

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._envs.closed

    def close(self, timeout: float | None = None) -> None:
        """Ends the environment; later calls raise `ClosedError`, arrays stay valid.

        Args:
            timeout: seconds to wait for that; None for 5. See `Pool.close`.
        """
        self._envs.close(timeout)

    # as in dm_env, which has no types
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.id})"
