"""JointEnv: a PettingZoo parallel environment as a Gymnasium one; worker processes import this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector.utils import batch_space, iterate

from parallel_pool._apis.pettingzoo import groups
from parallel_pool._apis.pettingzoo.joint_results import RESET, STEP, ResultCheck
from parallel_pool._engine.actions import described
from parallel_pool._engine.arguments import quote
from parallel_pool._workers.data.spaces import nothing
from parallel_pool._workers.run.adapters import adapted

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.groups import AgentGroup
    from parallel_pool._engine.buffers import Array

# rows of an observation's "marks"
LIVE, TERMINATED, TRUNCATED = range(3)


class JointEnv(gymnasium.Env[Any, Any]):
    """All agents of a PettingZoo `ParallelEnv` as one Gymnasium environment.

    Observations and actions have a part for each group of agents (see `groups.group_agents`): the
    key is the group's number, as a string, and the value is an array, or a tree of arrays, with a
    first axis of agents. A group without arrays has one agent, and the value is that agent's own.

    An action is a dict of such parts; actions of agents that are not live are ignored. An
    observation is a dict of

    - "observation": the parts; zeros for agents that the environment returned none for;
    - "reward": float64 (k,), one for each of `possible_agents`; 0 for agents without one;
    - "marks": int8 (3, k): which agents are live and so act in the next step; which were
      terminated; which were truncated.

    The episode ends when no agent is live. Infos are the environment's own, without empty ones.

    Attributes:
        env: the parallel environment. A pool calls methods and reads attributes by
            `get_wrapper_attr` and the like, which access this one.
        possible_agents: a list of all agents.
        groups: of the agents.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        """Makes the environment.

        Args:
            make: returns a `ParallelEnv`.

        Raises:
            TypeError, ValueError: make returned no `ParallelEnv`, or one with an agent twice.
        """
        self.env = env = make()
        self.possible_agents = _agents(env)
        self.metadata = dict(getattr(env, "metadata", None) or {})
        self.render_mode = getattr(env, "render_mode", None)
        self._check = ResultCheck(self.possible_agents)
        self._indices = {agent: i for i, agent in enumerate(self.possible_agents)}
        k = len(self._indices)
        seen = {agent: env.observation_space(agent) for agent in self.possible_agents}
        acts = {agent: env.action_space(agent) for agent in self.possible_agents}
        self.groups = groups.group_agents(self.possible_agents, seen, acts)
        # a list of pairs keeps its order; spaces.Dict sorts the keys of a dict
        self.observation_space = spaces.Dict(
            [
                ("observation", _of_groups(self.groups, "observation_space")),
                ("reward", spaces.Box(-np.inf, np.inf, (k,), np.float64)),
                ("marks", spaces.MultiBinary((3, k))),
            ]
        )
        self.action_space = self._action_parts = _of_groups(self.groups, "action_space")
        # live agents in the environment's order; None before the first reset
        self._live: list[Any] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode; seed and options are the environment's own.

        Raises:
            TypeError, ValueError: the environment returned something else than PettingZoo's API.
        """
        result = self.env.reset(seed=seed, options=options)
        observations, infos = self._check.parts("reset", result, RESET)
        self._live = self._check.agents("reset", self.env.agents)
        self._check.observed("reset", self._live, observations)
        reward, marks = self._blank()
        self._mark_live(marks)
        return self._observation("reset", observations, reward, marks), _without_empty(infos)

    def step(self, action: Mapping[str, Any]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Steps all live agents, or resets if there are none. The reward is the sum of theirs.

        Raises:
            ResetNeeded: the environment was never reset.
        """
        if self._live is None:
            raise ResetNeeded("a step before the first reset: call reset() first")
        if not self._live:
            # a reset that left no agents: the episode is over before its first step
            observation, info = self.reset()
            return observation, 0.0, False, False, info
        actions = self._by_agent(action)
        # of one group, all actions are in the agents' order already
        if len(self.groups) > 1 or self._live != self.possible_agents:
            actions = {agent: actions[agent] for agent in self._live}
        result = self._check.parts("step", self.env.step(actions), STEP)
        observations, rewards, terminations, truncations, infos = result
        reward, marks = self._blank()
        # with many agents, one assignment to an array costs much less than one for each element
        reward[:] = self._check.rewards(rewards)
        live = self._check.agents("step", self.env.agents)
        flags = self._mark_ends(marks, terminations, truncations)
        # some environments keep terminated or truncated agents in their list of agents
        live = [agent for agent in live if agent not in flags]
        stayed = [agent for agent in live if agent in actions]
        self._check.observed("step", stayed, observations)
        self._live = live
        self._mark_live(marks)
        is_over = not live
        is_terminated = is_over and bool(marks[TERMINATED].any())
        observation = self._observation("step", observations, reward, marks)
        total = float(reward.sum())
        return observation, total, is_terminated, is_over != is_terminated, _without_empty(infos)

    def _mark_ends(
        self, marks: Array, terminations: Mapping[Any, Any], truncations: Mapping[Any, Any]
    ) -> set[Any]:
        """Marks agents that were terminated or truncated, and returns them."""
        ended: set[Any] = set()
        flags = (TERMINATED, "terminations", terminations), (TRUNCATED, "truncations", truncations)
        for row, name, own in flags:
            # what most steps return
            if not all(value is False for value in own.values()):
                marks[row] = self._check.flags(name, own)
                ended |= {
                    a for a, is_over in zip(self._indices, marks[row], strict=True) if is_over
                }
        return ended

    def render(self) -> Any:
        """Returns what the environment's `render` returns."""
        return self.env.render()

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns an attribute of the parallel environment."""
        return getattr(self.env, name)

    def has_wrapper_attr(self, name: str) -> bool:
        """Returns whether the parallel environment has an attribute."""
        return hasattr(self.env, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute of the parallel environment."""
        setattr(self.env, name, value)
        return True

    def _by_agent(self, action: Mapping[str, Any]) -> dict[Any, Any]:
        """Returns the actions of all agents, each as a batch of its space yields it."""
        found: dict[Any, Any] = {}
        for number, group in enumerate(self.groups):
            part = action[str(number)]
            if group.has_arrays:
                batched = self._action_parts[str(number)]
                found.update(zip(group.agents, iterate(batched, part), strict=True))
            else:
                found[group.agents[0]] = part
        return found

    def _blank(self) -> tuple[Array, Array]:
        """Returns rewards (k,) and marks (3, k) of zeros."""
        k = len(self.possible_agents)
        return np.zeros(k), np.zeros((3, k), np.int8)

    def _mark_live(self, marks: Array) -> None:
        marks[LIVE] = 1
        if self._live == self.possible_agents:
            return
        live = [self._indices[agent] for agent in self._live or ()]
        marks[LIVE] = 0
        marks[LIVE, live] = 1

    def _observation(
        self, method: str, observations: Mapping[Any, Any], reward: Array, marks: Array
    ) -> dict[str, Any]:
        parts = {str(i): _part(method, group, observations) for i, group in enumerate(self.groups)}
        return {"observation": parts, "reward": reward, "marks": marks}


@adapted.register(JointEnv)
def _adapted(adapter: JointEnv) -> Any:
    return adapter.env


def empty(space: spaces.Space[Any]) -> Any:
    """Returns zeros of a space, or Gymnasium's empty value of it; None if there is none."""
    if isinstance(space, spaces.Box):
        # an array for a single number too
        return np.zeros(space.shape, space.dtype)
    return nothing(space)


def _part(method: str, group: AgentGroup, observations: Mapping[Any, Any]) -> Any:
    """Returns what the agents of a group see, as a method returned it."""
    if not group.has_arrays:
        agent = group.agents[0]
        return observations[agent] if agent in observations else empty(group.observation_space)
    space = group.observation_space
    if isinstance(space, spaces.Box):
        # Fast path: if every agent is live and returns arrays of its space's shape, one copy is
        # enough. Smaller dtypes are widened without loss.
        rows: list[Any] = [observations.get(agent) for agent in group.agents]
        if set(map(type, rows)) == {np.ndarray} and len({row.shape for row in rows}) == 1:
            stacked = np.array(rows)
            if stacked.dtype == space.dtype and stacked.shape[1:] == space.shape:
                return stacked
    found = groups.zeros(space, (len(group.agents),))
    for at, agent in enumerate(group.agents):
        if agent not in observations:
            continue
        seen = observations[agent]
        try:
            groups.put(found, at, seen)
        except Exception as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            why = f"it has no {error}" if isinstance(error, KeyError) else error
            raise kind(
                f"{method} returned {described(seen)} as the observation of agent {agent!r}:"
                f" {why}: return one of {space}"
            ) from error
    return found


def _of_groups(all_groups: tuple[AgentGroup, ...], which: str) -> spaces.Dict:
    """Returns the space of the parts: of each group, the batched space of its agents."""
    parts = []
    for number, group in enumerate(all_groups):
        space = getattr(group, which)
        if group.has_arrays:
            space = batch_space(space, len(group.agents))
        parts.append((str(number), space))
    return spaces.Dict(parts)


def _agents(env: Any) -> list[Any]:
    """Returns an environment's possible agents; TypeError if it is not a parallel one."""
    if hasattr(env, "agent_iter"):
        raise TypeError(
            f"{env} steps one agent after another: give a parallel environment, for example from"
            " pettingzoo.utils.conversions.aec_to_parallel"
        )
    try:
        return list(env.possible_agents)
    except AttributeError as error:
        raise TypeError(
            f"{quote(env)} has no possible_agents: give functions that make PettingZoo parallel"
            " environments with a fixed set of agents"
        ) from error


def _without_empty(infos: Mapping[Any, Any]) -> dict[str, Any]:
    return {key: info for key, info in infos.items() if not (isinstance(info, dict) and not info)}


def groups_of(env: JointEnv) -> tuple[groups.AgentGroup, ...]:
    """Returns the groups of an environment; here, as another interpreter can import this module."""
    return env.groups
