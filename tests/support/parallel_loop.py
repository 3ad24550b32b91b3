"""Reference of `PoolParallelEnv`: a plain loop over PettingZoo environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate


class Loop:
    """Steps environments one after another.

    Args:
        env_fns: functions that make them.
        mode: the autoreset mode.
        nothing: by agent, what replaces a missing observation; zeros by default.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any]],
        mode: AutoresetMode,
        nothing: Mapping[Any, Any] | None = None,
    ) -> None:
        self.envs = [make() for make in env_fns]
        self.mode, self.nothing = mode, nothing or {}
        first = self.envs[0]
        self.agents = first.possible_agents
        self.spaces = {agent: first.observation_space(agent) for agent in self.agents}
        self.shown: list[Any] = [None] * len(self.envs)
        # merges infos as vector environments do
        self.infos = gymnasium.vector.VectorEnv()
        self.infos.num_envs = len(self.envs)

    def batch(self, single: Sequence[Any]) -> dict[Any, Any]:
        """Returns, by agent, the batch of the observations that each environment returned."""
        found = {}
        for agent, space in self.spaces.items():
            nothing = self.nothing.get(agent)
            if nothing is None:
                nothing = np.zeros(space.shape or (), space.dtype)
            items = [(each or {}).get(agent, nothing) for each in single]
            found[agent] = concatenate(space, items, create_empty_array(space, len(single)))
        return found

    def numbers(self, single: Sequence[Any], dtype: Any) -> dict[Any, Any]:
        return {
            agent: np.array([each.get(agent, 0) for each in single], dtype) for agent in self.agents
        }

    def merge(self, single: Sequence[Any]) -> dict[Any, Any]:
        """Merges infos as vector environments do, but drops the masks that belong to agents."""
        merged: dict[Any, Any] = {}
        for i, infos in enumerate(single):
            if infos is not None:
                own = {key: info for key, info in infos.items() if info}
                merged = self.infos._add_info(merged, own, i)
        by_agent = {agent: merged.pop(agent, {}) for agent in self.agents}
        return by_agent | {k: v for k, v in merged.items() if k[1:] not in map(str, self.agents)}

    def ordered(self, infos: dict[Any, Any]) -> dict[Any, Any]:
        """Returns infos of agents, then the others as the first rows that have them come."""
        found = {agent: infos[agent] for agent in self.agents}
        others = [key for key in infos if key not in found and f"_{key}" in infos]
        others.sort(key=lambda key: infos[f"_{key}"].tolist().index(True))
        for key in others:
            found |= {key: infos[key], f"_{key}": infos[f"_{key}"]}
        return found

    def live(self) -> dict[Any, Any]:
        return {
            agent: np.array([agent in env.agents for env in self.envs]) for agent in self.agents
        }

    def reset(self, seed: int, mask: Any = None, low: int | None = None) -> Any:
        infos: list[Any] = [None] * len(self.envs)
        for i, env in enumerate(self.envs):
            if mask is None or mask[i]:
                options = None if low is None else {"low": low}
                self.shown[i], infos[i] = env.reset(seed=seed + i, options=options)
        return self.batch(self.shown), self.merge(infos)

    def step(self, actions: dict[Any, Any]) -> Any:
        n = len(self.envs)
        rows: list[Any] = [({}, {}, {}, {})] * n
        finals: list[Any] = [None] * n
        final_infos: list[Any] = [None] * n
        acts = {agent: batch_space(self.envs[0].action_space(agent), n) for agent in self.agents}
        each = {agent: list(iterate(acts[agent], actions[agent])) for agent in actions}
        for i, env in enumerate(self.envs):
            if not env.agents:
                self.shown[i], infos = env.reset()
                rows[i] = {}, {}, {}, infos
                continue
            self.shown[i], *row = env.step({agent: each[agent][i] for agent in env.agents})
            if self.mode is AutoresetMode.SAME_STEP and not env.agents:
                finals[i], final_infos[i] = self.shown[i], row[3]
                self.shown[i], row[3] = env.reset()
            rows[i] = row
        rewards, terminations, truncations, single = zip(*rows, strict=True)
        infos = self.merge(single)
        if any(finals):
            is_final = np.array([final is not None for final in finals])
            marks = {"final_obs": self.batch(finals), "_final_obs": is_final}
            marks |= {"final_info": self.merge(final_infos), "_final_info": is_final}
            infos = self.ordered(marks | infos)
        flags = self.numbers(terminations, np.bool_), self.numbers(truncations, np.bool_)
        return self.batch(self.shown), self.numbers(rewards, np.float64), *flags, infos


def sample(envs: Any, rng: np.random.Generator) -> dict[Any, Any]:
    """Returns random actions of all agents: by agent, an array with a row per environment."""
    actions = {}
    for agent in envs.possible_agents:
        space = envs.action_space(agent)
        space.seed(int(rng.integers(1 << 30)))
        items = [space.sample() for _ in range(envs.num_envs)]
        actions[agent] = concatenate(space, items, create_empty_array(space, envs.num_envs))
    return actions
