"""ProcessAgents: PettingZoo environments in worker processes, behind `PoolParallelEnv`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import concatenate, create_empty_array

from parallel_pool.compat.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool.compat.pettingzoo import groups
from parallel_pool.compat.pettingzoo.groups import AgentArrays
from parallel_pool.compat.pettingzoo.joint_env import LIVE, TERMINATED, TRUNCATED, JointEnv, empty

if TYPE_CHECKING:
    from parallel_pool import seeds
    from parallel_pool.buffers import Array
    from parallel_pool.compat.pettingzoo.groups import AgentGroup


class ProcessAgents:
    """The agents of n environments, each of which is a `JointEnv` in a worker process.

    Attributes:
        vector_env: the `ProcessVectorEnv` underneath.
        possible_agents: a list of all agents.
        groups: of the agents.
        live: bool (n, k): which agents act in the next step.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any]],
        mode: AutoresetMode,
        **arguments: Any,
    ) -> None:
        """Starts the workers; for arguments and exceptions see `PoolParallelEnv`."""
        self._mode = mode
        carries = mode is AutoresetMode.SAME_STEP
        if isinstance(env_fns, Iterable):
            env_fns = [partial(JointEnv, fn, carries) if callable(fn) else fn for fn in env_fns]
        try:
            # raises for anything that is not a sequence of functions
            self.vector_env = ProcessVectorEnv(env_fns, autoreset_mode=mode, **arguments)
        except RuntimeError as error:
            if type(error) is not RuntimeError:
                raise
            raise RuntimeError(
                "the environments differ: give all the same possible_agents, in the same order,"
                f" with the same spaces (shown by groups of agents): {error}"
            ) from error
        try:
            self.possible_agents = self._read_agents()
            (self.groups, *_) = self.vector_env.pool.apply(_groups_of, env_ids=[0])
        except BaseException:
            self.vector_env.close()
            raise
        shape = self.vector_env.num_envs, len(self.possible_agents)
        self.live: Array = np.zeros(shape, np.bool_)

    def _read_agents(self) -> list[Any]:
        """Returns the agents; their order, which is that of arrays, must be equal everywhere."""
        lists = [list(agents) for agents in self.vector_env.get_attr("possible_agents")]
        for i, agents in enumerate(lists):
            if agents != lists[0]:
                raise RuntimeError(
                    f"environment {i} has possible_agents={agents}, and environment 0 {lists[0]}:"
                    " those of all environments must be equal"
                )
        return lists[0]

    def reset(self, seed: seeds.Seed, options: dict[str, Any] | None) -> AgentArrays:
        """Starts new episodes; rewards are 0, and no agent is terminated or truncated."""
        joint, infos = self.vector_env.reset(seed=seed, options=options)
        nothing = self.live.shape
        return self._read(joint, infos)._replace(
            rewards=np.zeros(nothing),
            terminations=np.zeros(nothing, np.bool_),
            truncations=np.zeros(nothing, np.bool_),
        )

    def step(self, blocks: Sequence[Any]) -> AgentArrays:
        """Steps with the actions of each group."""
        actions = {str(number): block for number, block in enumerate(blocks)}
        joint, _, _, _, infos = self.vector_env.step(actions)
        return self._read(joint, infos)

    def _read(self, joint: Any, infos: dict[Any, Any]) -> AgentArrays:
        marks: Array = joint["marks"].astype(np.bool_)
        rewards: Array = joint["reward"].copy()
        live, terminations, truncations = (marks[:, row] for row in (LIVE, TERMINATED, TRUNCATED))
        if "worker_restarted" in infos:
            # rows of restarted environments repeat old ones: their episodes are truncated
            restarted = infos["_worker_restarted"]
            rewards[restarted] = 0
            terminations[restarted] = False
            truncations[restarted] = self.live[restarted]
            if self._mode is not AutoresetMode.SAME_STEP:
                live[restarted] = False
        self.live = live.copy()
        blocks = self._blocks(joint["observation"])
        return AgentArrays(blocks, rewards, terminations, truncations, live, self._infos(infos))

    def _blocks(self, parts: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(parts[str(number)] for number in range(len(self.groups)))

    def _infos(self, infos: dict[Any, Any]) -> dict[Any, Any]:
        """Returns a vector environment's infos by agent."""
        masks = {f"_{agent}" for agent in self.possible_agents}
        found: dict[Any, Any] = {agent: infos.get(agent, {}) for agent in self.possible_agents}
        others = {key: infos[key] for key in infos if key not in found and key not in masks}
        if "final_obs" in others:
            finals, is_final = others["final_obs"], others["_final_obs"]
            others["final_obs"] = self._final_observations(finals, is_final)
        if "final_info" in others:
            others["final_info"] = self._infos(others["final_info"])
        return found | others

    def _final_observations(self, finals: Array, is_final: Array) -> dict[Any, Any]:
        """Returns the last observations of ended episodes by agent: arrays (n, ...)."""
        n = len(finals)
        found: dict[Any, Any] = {}
        for number, group in enumerate(self.groups):
            ends = {
                i: final["observation"][str(number)]
                for i, final in enumerate(finals)
                if is_final[i]
            }
            if group.has_arrays:
                block = groups.zeros(group.observation_space, (n, len(group.agents)))
                for i, end in ends.items():
                    groups.put(block, i, end)
                found.update(groups.by_agent(group, block))
            else:
                nothing = empty(group.observation_space)
                rows = [ends.get(i, nothing) for i in range(n)]
                out: Any = create_empty_array(group.observation_space, n)
                found[group.agents[0]] = concatenate(group.observation_space, rows, out)
        return {agent: found[agent] for agent in self.possible_agents}

    def state(self) -> Array:
        """Returns the environments' own states."""
        return np.stack(self.vector_env.call("state"))


def _groups_of(env: JointEnv) -> tuple[AgentGroup, ...]:
    return env.groups
