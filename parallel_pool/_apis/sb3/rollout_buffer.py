"""PoolRolloutBuffer: Stable-Baselines3's rollout buffer in the memory that a pool writes."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Dict

from parallel_pool._apis.sb3.vec_env import PoolVecEnv
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.rollouts import RolloutMemory, can_roll, roll
from parallel_pool._lazy import public
from parallel_pool.errors import MissingDependencyError

try:
    from stable_baselines3.common.buffers import RolloutBuffer
except ImportError as error:
    raise MissingDependencyError(
        "PoolRolloutBuffer needs Stable-Baselines3: pip install 'parallel_pool[sb3]'"
    ) from error

if TYPE_CHECKING:
    import torch
    from stable_baselines3.common.type_aliases import RolloutBufferSamples

    from parallel_pool._engine.buffers import Array

# memories that are kept: the one that is filled, and the one that the last observation lies in
MAX_KEPT = 2
# what minibatches are made of
SAMPLED = ("observations", "actions", "values", "log_probs", "advantages", "returns")


@public("compat.sb3")
class PoolRolloutBuffer(RolloutBuffer):
    """A `stable_baselines3.common.buffers.RolloutBuffer` into which a `PoolVecEnv` writes.

    The threads of native environments write observations and rewards where the buffer has them,
    and minibatches are taken from there: nothing is copied. What comes from elsewhere is copied,
    such as the observations of wrappers that change them. PPO and A2C train to the same weights as
    with their own buffer. Observations must not be a dict.

    Example:
        >>> from parallel_pool.compat.sb3 import PoolRolloutBuffer
        >>> envs = parallel_pool.PoolVecEnv("CartPole-v1", 4, seed=1)
        >>> space, acts = envs.observation_space, envs.action_space
        >>> buffer = PoolRolloutBuffer(8, space, acts, "cpu", n_envs=4, env=envs)
        >>> buffer.reset()
        >>> buffer.observations.shape
        (8, 4, 4)
        >>> envs.close()
    """

    _pool: Any = None

    def __init__(self, *arguments: Any, env: Any, **keywords: Any) -> None:
        """
        Args:
            arguments: as of Stable-Baselines3's buffer; PPO and A2C give them.
            env: the `PoolVecEnv`, or a wrapper around one; in PPO's
                `rollout_buffer_kwargs={"env": env}`.
            keywords: as of Stable-Baselines3's buffer; PPO and A2C give them.

        Raises:
            TypeError: env is no `PoolVecEnv`.
            ValueError: observations are a dict.
        """
        super().__init__(*arguments, **keywords)
        inner = getattr(env, "unwrapped", env)
        if not isinstance(inner, PoolVecEnv):
            raise TypeError(f"env={quote(env)} is {a_type(env)}: give a PoolVecEnv")
        if isinstance(self.observation_space, Dict):
            raise ValueError("observations are a dict: leave rollout_buffer_class out")
        self._pool = inner.pool
        self._engine = engine_indices(inner.pool.columns)
        self._kept: list[RolloutMemory] = []

    def reset(self) -> None:
        """Empties the buffer, and lets the pool write the next steps into it."""
        super().reset()
        # of a buffer that is still being made, or of environments that do something else
        if self._pool is None or not self._fits():
            return
        memory = self._free_memory()
        roll(self._pool, memory)
        self.observations = memory.arrays[0][:-1].view()
        self.rewards = memory.arrays[self._engine["reward"]][1:].view()

    def _fits(self) -> bool:
        """Returns whether the pool's observations and rewards are what the buffer holds."""
        pool = self._pool
        if pool.closed or pool.in_flight or not can_roll(pool):
            return False
        column = pool.columns[0]
        rewards = pool.columns[self._engine["reward"]]
        has = column.shape, column.dtype, rewards.dtype
        needs = self.obs_shape, self.observation_space.dtype, np.float32
        return has == needs and pool.num_envs == self.n_envs

    def _free_memory(self) -> RolloutMemory:
        # rows of a memory that is given up stay valid for those who hold them
        self.observations = self.rewards = np.zeros(0, np.float32)
        free = [memory for memory in self._kept if memory.is_free()]
        memory = free[0] if free else RolloutMemory(self._pool, self.buffer_size)
        others = [other for other in self._kept if other is not memory]
        self._kept = [*others[1 - MAX_KEPT :], memory]
        return memory

    def add(
        self,
        obs: Array,
        action: Array,
        reward: Array,
        episode_start: Array,
        value: torch.Tensor,
        log_prob: torch.Tensor,
    ) -> None:
        """Adds a step: what lies in the buffer already is not copied.

        Args:
            obs: (n, *shape) of the space's dtype, before the step.
            action: (n, *action shape) of the space's dtype.
            reward: float32 (n,).
            episode_start: bool (n,): whether obs is the first of an episode.
            value: (n, 1), of obs.
            log_prob: (n,), of the action.
        """
        at = self.pos
        _store(self.observations[at], obs)
        _store(self.rewards[at], reward)
        self.actions[at] = np.reshape(action, (self.n_envs, self.action_dim))
        self.episode_starts[at] = episode_start
        self.values[at] = value.detach().cpu().numpy().reshape(-1)
        self.log_probs[at] = log_prob.detach().cpu().numpy().reshape(-1)
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def get(self, batch_size: int | None = None) -> Generator[RolloutBufferSamples, None, None]:
        """Yields minibatches of tensors, (batch_size, ...) each, in random order; None: all."""
        if not self.full:
            raise ValueError(f"{self.pos} of {self.buffer_size} steps are there: add the others")
        count = self.buffer_size * self.n_envs
        # the generator that Stable-Baselines3 seeds, so that minibatches are the same
        order = np.random.permutation(count)  # noqa: NPY002
        if not self.generator_ready:
            # a view of all rows, the steps of an environment `n_envs` rows apart
            for name in SAMPLED:
                steps = getattr(self, name)
                one = steps.ndim == 2
                shape = (count, 1) if one else (count, *steps.shape[2:])
                setattr(self, name, steps.reshape(shape))
            self.generator_ready = True
        # Stable-Baselines3 has the steps of an environment one after another
        rows = order % self.buffer_size * self.n_envs + order // self.buffer_size
        size = count if batch_size is None else batch_size
        for start in range(0, count, size):
            yield self._get_samples(rows[start : start + size])


def _store(row: Array, values: Array) -> None:
    """Writes values into a row, unless they are the row itself."""
    values = np.asarray(values)
    if values.ctypes.data != row.ctypes.data or values.strides != row.strides:
        row[...] = values.reshape(row.shape)
