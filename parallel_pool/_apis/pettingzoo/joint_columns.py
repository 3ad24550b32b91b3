"""JointColumns: the arrays of `JointEnv`s, by group of agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector.utils import concatenate, create_empty_array

from parallel_pool._apis.common.masks import rows_in
from parallel_pool._apis.pettingzoo import groups
from parallel_pool._apis.pettingzoo.groups import AgentArrays
from parallel_pool._apis.pettingzoo.joint_env import LIVE, TERMINATED, TRUNCATED, empty

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.groups import AgentGroup
    from parallel_pool._engine.buffers import Array


class JointColumns:
    """Converts batches of `JointEnv`s to arrays of agents.

    Attributes:
        possible_agents: a list of all agents.
        groups: of the agents.
    """

    def __init__(
        self, agents: list[Any], agent_groups: tuple[AgentGroup, ...], *, is_same_step: bool
    ) -> None:
        """
        Args:
            agents, agent_groups: of the environments.
            is_same_step: whether an episode restarts in the step that ends it (SAME_STEP).
        """
        self.possible_agents, self.groups = agents, agent_groups
        self._is_same_step = is_same_step

    def arrays(self, joint: Any, infos: dict[Any, Any], env_ids: Array, live: Array) -> AgentArrays:
        """Returns the arrays of a batch.

        Args:
            joint: observations of `JointEnv`s, of these environments.
            infos: in the form of Gymnasium's vector environments.
            env_ids: of the rows, int32 (rows,).
            live: bool (n, k): which agents of all environments lived before.
        """
        marks: Array = joint["marks"].astype(np.bool_)
        rewards: Array = joint["reward"].copy()
        lives, terminations, truncations = (marks[:, row] for row in (LIVE, TERMINATED, TRUNCATED))
        if "final_obs" in infos:
            # the rows are of resets, which have replaced the steps before them
            for row in rows_in(infos["_final_obs"]):
                last = infos["final_obs"][row]
                rewards[row] = last["reward"]
                terminations[row], truncations[row] = last["marks"][[TERMINATED, TRUNCATED]]
        if "worker_restarted" in infos:
            # rows of restarted environments repeat old ones: their episodes are truncated
            restarted = infos["_worker_restarted"]
            rewards[restarted] = 0
            terminations[restarted] = False
            truncations[restarted] = live[env_ids[restarted]]
            if not self._is_same_step:
                lives[restarted] = False
        blocks = self._blocks(joint["observation"])
        return AgentArrays(
            blocks, rewards, terminations, truncations, lives, self.infos(infos), env_ids
        )

    def _blocks(self, parts: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(parts[str(number)] for number in range(len(self.groups)))

    def infos(self, infos: dict[Any, Any]) -> dict[Any, Any]:
        """Returns a vector environment's infos by agent."""
        masks = {f"_{agent}" for agent in self.possible_agents}
        found: dict[Any, Any] = {agent: infos.get(agent, {}) for agent in self.possible_agents}
        others = {key: infos[key] for key in infos if key not in found and key not in masks}
        if "final_obs" in others:
            finals, is_final = others["final_obs"], others["_final_obs"]
            others["final_obs"] = self._final_observations(finals, is_final)
        if "final_info" in others:
            others["final_info"] = self.infos(others["final_info"])
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
