"""NativeAgents: native environments with several players, behind `PoolParallelEnv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from parallel_pool._apis.gymnasium import reset_mask
from parallel_pool._apis.gymnasium.native_vector_env import NativeVectorEnv
from parallel_pool._apis.pettingzoo.player_batches import PlayerBatches
from parallel_pool._apis.pettingzoo.players import PlayerColumns
from parallel_pool.errors import EnvError

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.groups import AgentArrays
    from parallel_pool._engine import seeds
    from parallel_pool._engine.buffers import Array


class NativeAgents:
    """The players of n native environments.

    Attributes:
        vector_env: the `NativeVectorEnv` underneath, whose arrays have an axis of players.
        pool: its `Pool`.
        possible_agents: a list of all agents.
        groups: of the agents.
        live: bool (n, k): which agents act in the next step.
    """

    def __init__(self, task_id: str, num_envs: int, mode: AutoresetMode, **arguments: Any) -> None:
        """Makes the environments; for arguments and exceptions see `PoolParallelEnv`."""
        self._restarts = mode is AutoresetMode.SAME_STEP
        self.vector_env = NativeVectorEnv(
            task_id, num_envs, backend="native", autoreset_mode=mode, **arguments
        )
        self.pool = self.vector_env.pool
        self._columns = PlayerColumns(self.pool.spec)
        self.possible_agents, self.groups = self._columns.possible_agents, self._columns.groups
        self._batches = PlayerBatches(self.pool, self._columns, mode)
        self._env_ids = np.arange(self.vector_env.num_envs, dtype=np.int32)
        shape = self.vector_env.num_envs, len(self.possible_agents)
        self.live: Array = np.zeros(shape, np.bool_)

    def reset(self, seed: seeds.Seed, options: dict[str, Any] | None) -> AgentArrays:
        """Starts new episodes; rewards are 0, and no agent is terminated or truncated."""
        # before the reset, which takes it out
        mask = options.get(reset_mask.KEY) if isinstance(options, Mapping) else None
        try:
            observations, infos = self.vector_env.reset(seed=seed, options=options)
        except EnvError as error:
            self._note_failure(error)
            raise
        return self._remember(
            self._columns.first_arrays(observations, infos, self._env_ids.copy(), self.live, mask)
        )

    def step(self, blocks: Sequence[Any]) -> AgentArrays:
        """Steps with the actions of each group."""
        try:
            results = self.vector_env.step(self._columns.joined(blocks, self.live))
        except EnvError as error:
            self._note_failure(error)
            raise
        return self._remember(
            self._columns.arrays(*results, self._env_ids.copy(), self.live, restarts=self._restarts)
        )

    def _remember(self, arrays: AgentArrays) -> AgentArrays:
        self.live = arrays.live.copy()
        return arrays

    def _note_failure(self, failure: EnvError) -> None:
        """Takes over who acts next, and gives the failure the arrays that it has prevented."""
        if failure.batch:
            arrays = self._batches.of_failure(failure, self.live)
            self.live[arrays.env_ids] = arrays.live
            failure.batch = arrays

    def state(self) -> Array:
        """Returns all that the agents see, one after another (n, ...), as mpe2 does."""
        return self._columns.state(self.vector_env.pool.observe())
