"""Task: what a user says about a vectorised task on `mujoco.batch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._lazy import public

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from parallel_pool._apis.mujoco_batch.world_random import WorldRandom
    from parallel_pool._engine.buffers import Array


@public("mujoco_batch")
class Task:
    """A task in vectorised Python: derive a class, and give it to `BatchVectorEnv`.

    The methods get a `mujoco.batch.Batch` of n worlds, and work on whole arrays: `batch.qpos` is
    (n, nq). Rows of worlds whose episode is over, and which wait for their reset, are ignored. When
    the worlds are made, the methods of a step are called once, to bind the outputs that they read.

    Attributes:
        model: a path, a text in MJCF, or a `mujoco.MjModel`.
        frame_skip: steps of the simulation in one step.
        max_episode_steps: time limit in steps; None for none.
        own: what a world knows besides its simulation: names, and shapes of a world's values. Each
            is an attribute, a float64 array (n, *shape) of zeros, which snapshots hold.
        varies: the fields of the model that differ between worlds, such as "geom_friction".
        diverged_reward: the reward of a step in which a world has diverged.
        observation_space: of one world; None for that of what `observe` returns.
        action_space: of one world, one array; None for the ranges of the controls, float32.

    Example:
        >>> class Balance(parallel_pool.mujoco_batch.Task):
        ...     model = gymnasium.__path__[0] + "/envs/mujoco/assets/inverted_pendulum.xml"
        ...     def observe(self, batch):
        ...         return np.concatenate([batch.qpos, batch.qvel], axis=1)
        ...     def reward(self, batch):
        ...         return np.cos(batch.qpos[:, 1])
        >>> parallel_pool.mujoco_batch.BatchVectorEnv(Balance, 4).reset(seed=1)[0].shape
        (4, 4)
    """

    model: Any = None
    frame_skip: int = 1
    max_episode_steps: int | None = None
    own: Mapping[str, Sequence[int]] = {}
    varies: Sequence[str] = ()
    diverged_reward: float = 0.0
    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None

    def prepare(self, batch: Any) -> None:
        """Called once, before the first reset: looks up ids, binds fields.

        Args:
            batch: of n worlds, in the model's initial state.
        """

    def act(self, batch: Any, actions: Array) -> None:
        """Turns actions into controls, pushes or targets; it may note what `reward` compares with.

        Without it the actions are the controls.

        Args:
            batch: before the step; outputs, such as xpos, are those of the last call.
            actions: (n, *shape), of the action space's dtype, which the next step overwrites: copy
                what is kept.
        """
        batch.ctrl[...] = actions

    def observe(self, batch: Any) -> Any:
        """Returns the observations; it must depend on the worlds' states alone, and change nothing.

        Args:
            batch: after a step or a reset.

        Returns:
            An array (n, *shape), or a dict of such arrays, always of the same shapes and dtypes.
        """
        raise NotImplementedError

    def reward(self, batch: Any) -> Array:
        """Returns the rewards of a step, (n,) of any real dtype.

        Args:
            batch: after the step.
        """
        raise NotImplementedError

    def terminated(self, batch: Any) -> Array:
        """Returns which worlds have reached an end, bool (n,). Called after `reward`.

        Args:
            batch: after the step.
        """
        return np.zeros(batch.nsim, np.bool_)

    def vary(self, batch: Any, ids: Array, rng: WorldRandom) -> None:
        """Writes values of the model for the episodes that begin, into rows of `batch.expand`.

        The rows have the model's values before; `set_const` follows, and the reset.

        Args:
            batch: of n worlds.
            ids: int64 (k,), ascending, the worlds that begin an episode.
            rng: random numbers for these worlds.
        """

    def reset_worlds(self, batch: Any, ids: Array, rng: WorldRandom) -> None:
        """Writes the initial states, and own values, of the episodes that begin.

        The worlds are in the model's initial state before; `forward` follows.

        Args:
            batch: of n worlds.
            ids: int64 (k,), ascending, the worlds that begin an episode.
            rng: random numbers for these worlds.
        """

    def infos(self, batch: Any) -> Mapping[str, Array]:
        """Returns infos, arrays (n, ...) of any dtype, by their names.

        Args:
            batch: after a step or a reset.
        """
        return {}
