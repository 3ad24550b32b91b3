"""NativeAgents: native environments with several players, behind `PoolParallelEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from parallel_pool.compat.gymnasium.vector_env import PoolVectorEnv
from parallel_pool.compat.pettingzoo.groups import AgentArrays
from parallel_pool.compat.pettingzoo.players import PlayerColumns

if TYPE_CHECKING:
    from parallel_pool import seeds
    from parallel_pool.buffers import Array


class NativeAgents:
    """The players of n native environments; all of them live until the episode ends.

    Attributes:
        vector_env: the `PoolVectorEnv` underneath, whose arrays have an axis of players.
        pool: its `Pool`.
        possible_agents: a list of all agents.
        groups: of the agents.
        live: bool (n, k): which agents act in the next step.
    """

    def __init__(self, env_id: str, num_envs: int, mode: AutoresetMode, **arguments: Any) -> None:
        """Makes the environments; for arguments and exceptions see `PoolParallelEnv`."""
        self._mode = mode
        self.vector_env = PoolVectorEnv(
            env_id, num_envs, backend="native", autoreset_mode=mode, **arguments
        )
        self.pool = self.vector_env.pool
        self._columns = PlayerColumns(self.pool.spec)
        self.possible_agents, self.groups = self._columns.possible_agents, self._columns.groups
        self._env_ids = np.arange(self.vector_env.num_envs, dtype=np.int32)
        shape = self.vector_env.num_envs, len(self.possible_agents)
        self.live: Array = np.zeros(shape, np.bool_)

    def reset(self, seed: seeds.Seed, options: dict[str, Any] | None) -> AgentArrays:
        """Starts new episodes; rewards are 0, and no agent is terminated or truncated."""
        mask = None if options is None else options.get("reset_mask")
        observations, infos = self.vector_env.reset(seed=seed, options=options)
        live = np.ones_like(self.live) if mask is None else self.live | mask[:, np.newaxis]
        none = np.zeros(live.shape, np.bool_)
        return self._arrays(observations, np.zeros(live.shape), none, none.copy(), live, infos)

    def step(self, blocks: Sequence[Any]) -> AgentArrays:
        """Steps with the actions of each group."""
        observations, rewards, terminated, truncated, infos = self.vector_env.step(
            self._columns.joined(blocks)
        )
        shape = self.live.shape
        live = np.ones(shape, np.bool_)
        if self._mode is not AutoresetMode.SAME_STEP:
            live &= ~(terminated | truncated)[:, np.newaxis]
        terminations = np.repeat(terminated[:, np.newaxis], shape[1], 1)
        truncations = np.repeat(truncated[:, np.newaxis], shape[1], 1)
        rewards = rewards.reshape(shape)
        return self._arrays(observations, rewards, terminations, truncations, live, infos)

    def _arrays(
        self,
        observations: Any,
        rewards: Array,
        terminations: Array,
        truncations: Array,
        live: Array,
        infos: dict[str, Any],
    ) -> AgentArrays:
        self.live = live.copy()
        return AgentArrays(
            self._columns.blocks(observations),
            rewards,
            terminations,
            truncations,
            live,
            self._columns.infos(infos),
            self._env_ids.copy(),
        )

    def state(self) -> Array:
        """Returns all that the agents see, one after another (n, ...), as mpe2 does."""
        return self._columns.state(self.vector_env.pool.observe())
