"""AgentTable: arrays of several agents as rows, one for each agent of each environment."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from parallel_pool._apis.common import vector_infos
from parallel_pool._apis.common.vector_errors import NotResetError
from parallel_pool._apis.pettingzoo import groups
from parallel_pool._apis.pettingzoo.groups import AgentArrays, AgentGroup
from parallel_pool._engine.actions import check_sequence, take_array
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.present_states import restores_of
from parallel_pool._engine.trees import map_leaves, row_of

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from parallel_pool._apis.pettingzoo.pool_parallel_env import PoolParallelEnv
    from parallel_pool._engine.buffers import Array

    # observations (n, ...) of agents to their actions (n, ...)
    Policy = Callable[[dict[Any, Any]], Mapping[Any, Any]]


class AgentTable:
    """Converts between arrays (n, agents, ...) and rows (n * k, ...) of k chosen agents.

    Row env * k + i is that of the i-th chosen agent in environment env.

    Attributes:
        agents: the chosen agents, k of them.
        others: all other agents.
        num_envs: environments, n.
        num_rows: n * k.
        observation_space, action_space: of one row.
        seen: the observations of the last result by group, of which `others` see theirs before the
            next step; () if there are no others, or no results.
    """

    def __init__(
        self, envs: PoolParallelEnv, agents: Sequence[Any] | None, policy: Policy | None
    ) -> None:
        """Chooses the agents.

        Args:
            envs: the environments.
            agents: which of `possible_agents` have rows; None for all.
            policy: chooses the actions of the others.

        Raises:
            TypeError: agents are no list, or their spaces are no arrays.
            ValueError: agents are unknown or named twice, or their spaces differ; or the others
                have no policy.
        """
        possible = envs.possible_agents
        self.agents = possible.copy() if agents is None else _checked(agents, possible)
        self.others = [agent for agent in possible if agent not in self.agents]
        if policy is not None and not callable(policy):
            raise TypeError(
                f"others={quote(policy)} is {a_type(policy)}: give a function of observations"
            )
        if self.others and policy is None:
            raise ValueError(
                f"agents {self.others} have no rows, and must act too: give"
                " others=function, which gets a dict of their observations and returns one of"
                " their actions"
            )
        self._policy = policy
        self._envs, self._groups = envs, envs.groups
        self._own_index = self._index_of_group(envs)
        self._own = own = self._groups[self._own_index]
        self.num_envs = envs.num_envs
        self.num_rows = self.num_envs * len(self.agents)
        self.observation_space: Space[Any] = own.observation_space
        self.action_space: Space[Any] = own.action_space
        # where the chosen agents are in their group, and among all agents; None: they are all
        self._in_group = _columns([own.agents.index(agent) for agent in self.agents], own.agents)
        self._in_all = _columns([possible.index(agent) for agent in self.agents], possible)
        self.seen: tuple[Any, ...] = ()
        # the calls of the pool's `set_state`, and how many of them `seen` knows of
        self._restores = restores_of(envs.pool)
        self._known_restores = 0

    def _index_of_group(self, envs: PoolParallelEnv) -> int:
        """Returns the index of the group that all chosen agents are in."""
        found = {
            number: [agent for agent in self.agents if agent in group.agents]
            for number, group in enumerate(envs.groups)
        }
        found = {number: agents for number, agents in found.items() if agents}
        index: int = next(iter(found))
        own = envs.groups[index]
        if len(found) > 1:
            differing = "; ".join(
                f"{agents} {envs.groups[number].observation_space}"
                f" and {envs.groups[number].action_space}"
                for number, agents in found.items()
            )
            raise ValueError(
                f"the agents' spaces differ ({differing}): choose agents of equal spaces with"
                " agents=[...], or give each group its own policy with step_arrays()"
            )
        if not own.has_arrays:
            raise TypeError(
                f"agent {quote(own.agents[0])} has spaces without arrays ({own.observation_space},"
                f" {own.action_space}): use reset() and step() of PoolParallelEnv"
            )
        return index

    # --------------------------------------------------------------------------------- actions --

    def blocks(self, actions: Any) -> list[Any]:
        """Returns the actions of each group, for `step_arrays`.

        Args:
            actions: (n * k, *shape), an array or a sequence; or a tree of such arrays.

        Raises:
            TypeError, ValueError: there are too few or too many, or those of the others are wrong.
            NotResetError: the others have seen nothing yet.
        """
        shape = self.num_envs, len(self.agents)
        own = _split(self.action_space, actions, shape, "actions")
        if self._in_group is None and len(self._groups) == 1:
            return [own]
        found = {agent: groups.take(own, (slice(None), i)) for i, agent in enumerate(self.agents)}
        found |= self._actions_of_others()
        return [
            own if group is self._own and self._in_group is None else self._stacked(group, found)
            for group in self._groups
        ]

    def _stacked(self, group: AgentGroup, found: Mapping[Any, Any]) -> Any:
        if not group.has_arrays:
            return found[group.agents[0]]
        return groups.stack(group.action_space, [found[agent] for agent in group.agents])

    def _actions_of_others(self) -> dict[Any, Any]:
        if not self.others:
            return {}
        assert self._policy is not None
        self._see_restored()
        if not self.seen:
            raise NotResetError("a step before reset(): call reset() first")
        seen: dict[Any, Any] = {}
        for group, block in zip(self._groups, self.seen, strict=True):
            own = groups.by_agent(group, block)
            seen.update({agent: own[agent] for agent in group.agents if agent in self.others})
        chosen = self._policy(seen)
        if not isinstance(chosen, Mapping):
            raise TypeError(
                f"others() returned {a_type(chosen)}: return a dict with the actions of"
                f" {self.others}"
            )
        for agent in chosen:
            if agent not in self.others:
                raise ValueError(
                    f"others() returned actions of {quote(agent)}: return those of {self.others}"
                )
        for agent in self.others:
            if agent not in chosen:
                raise ValueError(
                    f"others() returned no actions for agent {quote(agent)}: return {self.num_envs}"
                )
        of_agents = {agent: group.action_space for group in self._groups for agent in group.agents}
        return {
            agent: _split(of_agents[agent], chosen[agent], (self.num_envs,), f"others()[{agent!r}]")
            for agent in self.others
        }

    def _see_restored(self) -> None:
        """Takes over what the others see where the pool's `set_state` has changed environments."""
        count = self._restores.count
        if count != self._known_restores:
            self.seen = self._envs._agents.present().observations
            self._known_restores = count

    def present(self) -> tuple[Any, dict[str, Any]]:
        """Returns the observations and infos of all rows in the present states."""
        arrays = self._envs._agents.present()
        infos = self.infos(arrays.infos, self._envs.possible_agents)
        return self.observations(arrays), infos

    # --------------------------------------------------------------------------------- results --

    def observations(self, arrays: AgentArrays) -> Any:
        """Returns the observations of all rows (n * k, ...), or a tree of such arrays."""
        found: Any = arrays.observations[self._own_index]
        if self._in_group is not None:
            found = groups.take(found, (slice(None), self._in_group))
        return map_leaves(lambda a: a.reshape(self.num_rows, *a.shape[2:]), found)

    def column(self, table: Array) -> Array:
        """Returns an array (n, all agents) as one of all rows, (n * k,)."""
        return (table if self._in_all is None else table[:, self._in_all]).reshape(self.num_rows)

    def spread(self, of_envs: Array) -> Array:
        """Returns an array (n,) of environments as one of their rows, (n * k,)."""
        return np.repeat(of_envs, len(self.agents))

    def infos(self, infos: Mapping[Any, Any], all_agents: Sequence[Any]) -> dict[str, Any]:
        """Returns infos by agent as infos of rows, in the form of Gymnasium's vector environments.

        An info that is no agent's belongs to all rows of its environment.
        """
        known = set(all_agents)
        count = len(self.agents)
        found = vector_infos.of_envs({k: v for k, v in infos.items() if k not in known}, count)
        parts = [infos.get(agent, {}) for agent in self.agents]
        if any(parts):
            found |= vector_infos.of_agents(parts, self.num_envs)
        return found

    def last_observations(self, by_agent: Mapping[Any, Any], row: int) -> Any:
        """Returns a copy of a row's last observation, from arrays (n, ...) by agent."""
        env, i = divmod(row, len(self.agents))
        return row_of(by_agent[self.agents[i]], env)


def _checked(agents: Any, possible: Sequence[Any]) -> list[Any]:
    """Returns the chosen agents."""
    if not isinstance(agents, Sequence) or isinstance(agents, (str, bytes)):
        raise TypeError(f"agents={quote(agents)} is {a_type(agents)}: give a list of agents")
    chosen = list(agents)
    if not chosen:
        raise ValueError(f"agents=[]: choose one or more of {list(possible)}")
    for i, agent in enumerate(chosen):
        if agent not in possible:
            raise ValueError(f"there is no agent {quote(agent)}: choose of {list(possible)}")
        if agent in chosen[:i]:
            raise ValueError(f"agents={chosen} names {quote(agent)} twice: name each once")
    return chosen


def _columns(indices: list[int], among: Sequence[Any]) -> list[int] | None:
    """Returns the indices; None if they are all, in order."""
    return None if indices == list(range(len(among))) else indices


def _split(space: Space[Any], actions: Any, shape: tuple[int, ...], name: str) -> Any:
    """Returns rows of actions with other leading axes; raises if there are too few or too many."""
    if isinstance(space, spaces.Dict):
        if not isinstance(actions, Mapping) or set(actions) != set(space.spaces):
            raise ValueError(f"{name} are {quote(actions)}: give a dict of {list(space.spaces)}")
        parts = space.spaces.items()
        return {key: _split(part, actions[key], shape, f"{name}[{key!r}]") for key, part in parts}
    if isinstance(space, spaces.Tuple):
        if not isinstance(actions, tuple) or len(actions) != len(space.spaces):
            raise ValueError(
                f"{name} are {quote(actions)}: give a tuple of {len(space.spaces)} parts"
            )
        each = enumerate(zip(space.spaces, actions, strict=True))
        return tuple(_split(part, own, shape, f"{name}[{i}]") for i, (part, own) in each)
    count = math.prod(shape)
    assert space.shape is not None
    actions = take_array(actions)
    if not isinstance(actions, np.ndarray):
        check_sequence(actions, count, name)
        actions = np.asarray(actions)
    expected = (count, *space.shape)
    if actions.shape != expected:
        raise ValueError(f"{name} have shape {actions.shape}: give {expected}")
    return actions.reshape(*shape, *space.shape)
