"""Agents of asynchronous pools, behind `PoolParallelEnv` with batch_size < num_envs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from parallel_pool._apis.common.reply_reader import ReplyReader
from parallel_pool._apis.pettingzoo.failures import failure_of, without_failed
from parallel_pool._apis.pettingzoo.player_batches import PlayerBatches
from parallel_pool._apis.pettingzoo.players import PlayerColumns
from parallel_pool._apis.pettingzoo.process_agents import (
    by_group_number,
    joint_columns,
    joint_functions,
)
from parallel_pool._engine.env_ids import id_list
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.views import convert_batch
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.errors import EnvError

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
        self._batches = PlayerBatches(self.pool, self._columns, mode)
        self.live: Array = np.zeros((self.pool.num_envs, len(self.possible_agents)), np.bool_)

    def send_reset(self, seed: seeds.Seed, options: dict[str, Any] | None) -> None:
        """Queues resets of all environments."""
        self.pool.send_reset(seed=seed, options=options)

    def send(self, blocks: Sequence[Any], env_ids: Any) -> None:
        """Queues the actions of these environments."""
        named = id_list(env_ids, self.pool.num_envs)
        self.pool.send(self._columns.joined(blocks, self.live[named]), named)

    def recv(self, timeout: float | None) -> AgentArrays:
        """Returns the next batch."""
        try:
            batch = self.pool.recv(timeout=timeout)
        except EnvError as error:
            if error.batch:
                error.batch = self._remember(self._batches.of_failure(error, self.live))
            raise
        return self._remember(self._batches.arrays(batch, self.live))

    def _remember(self, arrays: AgentArrays) -> AgentArrays:
        self.live[arrays.env_ids] = arrays.live
        return arrays

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
        try:
            batch = self.pool.recv(timeout=timeout)
        except Exception as error:
            failure = failure_of(error)
            if failure is not None:
                arrays = without_failed(self._arrays(failure.batch), failure.env_ids)
                failure.batch = self._remember(arrays)
            raise
        return self._remember(self._arrays(batch))

    def _arrays(self, batch: Any) -> AgentArrays:
        env_ids = batch.env_id
        converted = convert_batch(self._rows.convert, batch)
        rows = {env_id: row for row, env_id in enumerate(env_ids.tolist())}
        replies = {rows[env_id]: reply for env_id, reply in self.pool.replies().items()}
        infos = self._rows.infos(self._merger._add_info, replies, converted)
        return self._columns.arrays(
            converted[0], infos, env_ids, self.live[env_ids], restarts=self._restarts
        )

    def _remember(self, arrays: AgentArrays) -> AgentArrays:
        self.live[arrays.env_ids] = arrays.live
        return arrays

    def state(self) -> Array:
        """Returns the environments' own states."""
        return np.stack(self.pool.call("state"))
