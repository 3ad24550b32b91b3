"""Agents of asynchronous pools, behind `PoolParallelEnv` with batch_size < num_envs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from parallel_pool._apis.common.reply_reader import ReplyReader
from parallel_pool._apis.common.vector_infos import of_last_steps
from parallel_pool._apis.gymnasium.infos import VectorInfos
from parallel_pool._apis.pettingzoo.players import PlayerColumns
from parallel_pool._apis.pettingzoo.process_agents import (
    by_group_number,
    joint_columns,
    joint_functions,
)
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.views import convert_batch
from parallel_pool._workers.process_pool import ProcessPool

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.groups import AgentArrays
    from parallel_pool._engine import seeds
    from parallel_pool._engine.buffers import Array


class AsyncNativeAgents:
    """The players of n native environments, of which `recv` returns the first m to finish.

    Attributes:
        pool: the `Pool` underneath.
        possible_agents: a list of all agents.
        groups: of the agents.
        live: bool (n, k): which agents act in their environment's next step.
    """

    def __init__(
        self, task_id: str, num_envs: int, batch_size: int, mode: AutoresetMode, **arguments: Any
    ) -> None:
        """Makes the environments; for arguments and exceptions see `PoolParallelEnv`."""
        threads = {name: arguments.pop(name) for name in ("num_threads", "thread_affinity_offset")}
        self._restarts = mode is AutoresetMode.SAME_STEP
        self.pool = Pool(
            task_id,
            num_envs,
            batch_size=batch_size,
            autoreset=mode.name.lower(),
            reward_dtype="float64",
            options=arguments,
            **threads,
        )
        self._columns = PlayerColumns(self.pool.spec)
        self.possible_agents, self.groups = self._columns.possible_agents, self._columns.groups
        self._infos = VectorInfos(self.pool.spec, self.pool.columns)
        self._engine = engine_indices(self.pool.columns)
        self._finals = [i for i, column in enumerate(self.pool.columns) if column.is_final]
        self.live: Array = np.zeros((self.pool.num_envs, len(self.possible_agents)), np.bool_)

    def send_reset(self, seed: seeds.Seed, options: dict[str, Any] | None) -> None:
        """Queues resets of all environments."""
        self.pool.send_reset(seed=seed, options=options)

    def send(self, blocks: Sequence[Any], env_ids: Any) -> None:
        """Queues the actions of these environments."""
        self.pool.send(self._columns.joined(blocks, self.live[env_ids]), env_ids)

    def recv(self, timeout: float | None) -> AgentArrays:
        """Returns the next batch."""
        batch = self.pool.recv(timeout=timeout)
        env_ids, rewards, terminated, truncated, elapsed = (
            batch[self._engine[name]]
            for name in ("env_id", "reward", "terminated", "truncated", "elapsed_step")
        )
        ended = terminated | truncated
        infos = self._infos.of_step(batch, (elapsed == 0) | (ended & self._restarts))
        if self._restarts and ended.any():
            last = self._observations(batch, self._finals[0])
            infos |= of_last_steps(last, ended, self._infos.of_ends(batch, ended))
        arrays = self._columns.arrays(
            self._observations(batch, 0),
            rewards,
            terminated,
            truncated,
            infos,
            env_ids,
            self.live[env_ids],
            restarts=self._restarts,
        )
        self.live[env_ids] = arrays.live
        return arrays

    def _observations(self, batch: Any, first: int) -> Any:
        """Returns the observations in the columns from `first` on: an array, or a dict of them."""
        keys = self._columns.keys
        if len(keys) == 1:
            return batch[first]
        return {key: batch[first + i] for i, key in enumerate(keys)}

    def state(self) -> Array:
        """Returns all that the agents see, one after another (n, ...), as mpe2 does."""
        return self._columns.state(self.pool.observe())


class AsyncProcessAgents:
    """The agents of n `JointEnv`s in worker processes; `recv` returns the first m to finish.

    Attributes:
        pool: the `ProcessPool` underneath.
        possible_agents: a list of all agents.
        groups: of the agents.
        live: bool (n, k): which agents act in their environment's next step.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any]],
        batch_size: int,
        mode: AutoresetMode,
        *,
        context: str | None,
        **arguments: Any,
    ) -> None:
        """Starts the workers; for arguments and exceptions see `PoolParallelEnv`."""
        self._restarts = mode is AutoresetMode.SAME_STEP
        self.pool = ProcessPool(
            joint_functions(env_fns),
            batch_size=batch_size,
            autoreset=mode.name.lower(),
            start_method=context,
            **arguments,
        )
        try:
            self._columns = joint_columns(self.pool)
            if self.pool.leaves is None:
                raise TypeError(
                    "observations of these environments are no arrays, or too many: leave"
                    " batch_size out"
                )
            self._rows = ReplyReader(self.pool, self.pool.single_observation_space)
        except BaseException:
            self.pool.close()
            raise
        self.possible_agents, self.groups = self._columns.possible_agents, self._columns.groups
        # merges infos as vector environments do
        self._merger: VectorEnv[Any, Any, Any] = VectorEnv()
        self._merger.num_envs = self.pool.batch_size
        self.live: Array = np.zeros((self.pool.num_envs, len(self.possible_agents)), np.bool_)

    def send_reset(self, seed: seeds.Seed, options: dict[str, Any] | None) -> None:
        """Queues resets of all environments."""
        self.pool.send_reset(seed=seed, options=options)

    def send(self, blocks: Sequence[Any], env_ids: Any) -> None:
        """Queues the actions of these environments."""
        self.pool.send(by_group_number(blocks), env_ids)

    def recv(self, timeout: float | None) -> AgentArrays:
        """Returns the next batch."""
        batch = self.pool.recv(timeout=timeout)
        env_ids = batch.env_id
        converted = convert_batch(self._rows.convert, batch)
        rows = {env_id: row for row, env_id in enumerate(env_ids.tolist())}
        replies = {rows[env_id]: reply for env_id, reply in self.pool.replies().items()}
        infos = self._rows.infos(self._merger._add_info, replies, converted)
        arrays = self._columns.arrays(
            converted[0], infos, env_ids, self.live[env_ids], restarts=self._restarts
        )
        self.live[env_ids] = arrays.live
        return arrays

    def state(self) -> Array:
        """Returns the environments' own states."""
        return np.stack(self.pool.call("state"))
