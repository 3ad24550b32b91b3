"""A plain loop over PettingZoo environments with Gymnasium's rules for each agent's row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import concatenate, create_empty_array, iterate
from pettingzoo import ParallelEnv


class Herd(ParallelEnv[str, Any, Any]):
    """Agents of one space that end at different times, with infos of several forms.

    Args:
        dicts: whether observations and actions are dicts.
        agents: number of agents.
        longest: largest number of steps of an agent.
    """

    def __init__(self, dicts: bool = False, agents: int = 3, longest: int = 4) -> None:
        self.metadata = {"name": "herd_v0"}
        self.render_mode = "rgb_array"
        self.dicts, self.longest = dicts, longest
        self.possible_agents = [f"cow_{i}" for i in range(agents)]
        self.agents = []
        self.rng = np.random.default_rng()
        self.calls = 0
        box, legal = spaces.Box(-9, 9, (2,), np.float32), spaces.MultiBinary(3)
        self.seen = spaces.Dict(place=box, legal=legal) if dicts else box
        self.acts: Any = spaces.Discrete(3)
        if dicts:
            self.acts = spaces.Dict(x=spaces.Discrete(2), y=spaces.Box(-1, 1, (2,), np.float32))

    def observation_space(self, agent: str) -> Any:
        return self.seen

    def action_space(self, agent: str) -> Any:
        return self.acts

    def observed(self) -> dict[str, Any]:
        shown = {}
        for agent in self.agents:
            place = self.rng.random(2).astype(np.float32) + self.sums[agent]
            legal = self.rng.integers(0, 2, 3).astype(np.int8)
            shown[agent] = {"place": place, "legal": legal} if self.dicts else place
        return shown

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.ends = {a: int(self.rng.integers(1, self.longest + 1)) for a in self.agents}
        self.sums = dict.fromkeys(self.agents, np.float32(0))
        self.count = 0
        infos: dict[str, Any] = {agent: {"end": self.ends[agent]} for agent in self.agents}
        infos["options"] = {"low": (options or {}).get("low", -1)}
        return self.observed(), infos

    def step(self, actions: dict[str, Any]) -> Any:
        assert list(actions) == self.agents
        self.count += 1
        for agent, action in actions.items():
            self.sums[agent] += np.float32(action["y"].sum() if self.dicts else action)
        shown = self.observed()
        draw = self.rng.random()
        rewards = {agent: draw + self.sums[agent] for agent in self.agents}
        over = {agent: self.ends[agent] == self.count for agent in self.agents}
        terminations = {agent: over[agent] and draw < 0.5 for agent in self.agents}
        truncations = {agent: over[agent] and draw >= 0.5 for agent in self.agents}
        infos: dict[str, Any] = {agent: {} for agent in self.agents}
        last = self.agents[-1]
        infos[last] = {"sum": self.sums[last], "deep": {"count": self.count}, "name": last}
        infos["common"] = {"draw": draw}
        if self.count == 2:
            infos["place"] = np.arange(2)
        self.agents = [agent for agent in self.agents if not over[agent]]
        return shown, rewards, terminations, truncations, infos

    def render(self) -> Any:
        return np.zeros((2, 3, 3), np.uint8)

    def add(self, number: int) -> int:
        self.calls += number
        return self.calls


class RowLoop:
    """Rows of the agents of several environments, each environment stepped by itself.

    Args:
        make: makes one environment.
        num_envs: environments.
        mode: how episodes start again.
        agents: whose rows; None for all.
        others: chooses the actions of other agents, as for `AgentVectorEnv`.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        num_envs: int,
        mode: AutoresetMode,
        agents: Sequence[str] | None = None,
        others: Callable[[Any], Any] | None = None,
    ) -> None:
        self.envs = [make() for _ in range(num_envs)]
        first = self.envs[0]
        self.mode, self.others = mode, others
        self.possible = first.possible_agents
        self.agents = list(agents or self.possible)
        self.space = first.observation_space(self.agents[0])
        action_space = first.action_space(self.agents[0])
        self.count = num_envs * len(self.agents)
        self.batched_actions = gymnasium.vector.utils.batch_space(action_space, self.count)
        self.shown: list[Any] = [None] * num_envs
        # of each row, as the environments returned them; infos of resets stay until the next one
        self.step_infos: list[Any] = [{}] * self.count
        self.restarted = [False] * num_envs
        self.reset_infos: list[Any] = [{}] * self.count
        # merges infos as vector environments do
        self.merger = gymnasium.vector.VectorEnv()
        self.merger.num_envs = self.count

    def nothing(self) -> Any:
        if isinstance(self.space, spaces.Dict):
            return {k: np.zeros(s.shape, s.dtype) for k, s in self.space.spaces.items()}
        return np.zeros(self.space.shape, self.space.dtype)

    def batch(self, rows: Sequence[Any]) -> Any:
        return concatenate(self.space, rows, create_empty_array(self.space, len(rows)))

    def own_info(self, infos: dict[str, Any], agent: str) -> dict[str, Any]:
        common = {key: value for key, value in infos.items() if key not in self.possible}
        return {**infos.get(agent, {}), **common}

    def rows_of(self, found: Sequence[tuple[Any, Any]], merged: Any) -> tuple[Any, Any]:
        """Returns the batch of observations and infos of whole environments."""
        rows = []
        for e, (observations, infos) in enumerate(found):
            for i, agent in enumerate(self.agents):
                rows.append(observations.get(agent, self.nothing()))
                row = e * len(self.agents) + i
                merged = self.merger._add_info(merged, self.own_info(infos, agent), row)
        return self.batch(rows), merged

    def note(self, noted: list[Any], env: int, infos: Any) -> None:
        k = len(self.agents)
        for i, agent in enumerate(self.agents):
            noted[env * k + i] = self.own_info(infos, agent)

    def live(self) -> Any:
        return np.array([agent in env.agents for env in self.envs for agent in self.agents])

    def finish(self, infos: dict[str, Any]) -> dict[str, Any]:
        return {**infos, "live": self.live(), "_live": np.ones(self.count, np.bool_)}

    def reset(self, seed: int, mask: Any = None, low: int | None = None) -> Any:
        infos: list[Any] = [{}] * len(self.envs)
        for i, env in enumerate(self.envs):
            if mask is None or mask[i]:
                options = None if low is None else {"low": low}
                self.shown[i], infos[i] = env.reset(seed=seed + i, options=options)
                self.note(self.reset_infos, i, infos[i])
        observations, merged = self.rows_of(list(zip(self.shown, infos, strict=True)), {})
        return observations, self.finish(merged)

    def step(self, actions: Any) -> Any:
        each = list(iterate(self.batched_actions, actions))
        chosen = self.others(self.seen_by_others()) if self.others else {}
        k = len(self.agents)
        rewards = np.zeros(self.count)
        terminations, truncations = np.zeros((2, self.count), np.bool_)
        merged: dict[str, Any] = {}
        results: list[tuple[Any, Any]] = []
        self.restarted = [False] * len(self.envs)
        for e, env in enumerate(self.envs):
            if not env.agents:
                assert self.mode is AutoresetMode.NEXT_STEP
                self.shown[e], infos = env.reset()
                results.append((self.shown[e], infos))
                continue
            own = {agent: each[e * k + i] for i, agent in enumerate(self.agents)}
            own |= {agent: values[e] for agent, values in chosen.items()}
            observations, *row, infos = env.step({agent: own[agent] for agent in env.agents})
            self.note(self.step_infos, e, infos)
            for i, agent in enumerate(self.agents):
                at = e * k + i
                rewards[at] = row[0].get(agent, 0)
                terminations[at] = row[1].get(agent, False)
                truncations[at] = row[2].get(agent, False)
                if self.mode is AutoresetMode.SAME_STEP and (terminations[at] or truncations[at]):
                    final = {
                        "final_obs": observations.pop(agent),
                        "final_info": self.own_info(infos, agent),
                    }
                    merged = self.merger._add_info(merged, final, at)
            if self.mode is AutoresetMode.SAME_STEP and not env.agents:
                observations, infos = env.reset()
                self.note(self.reset_infos, e, infos)
                self.restarted[e] = True
            self.shown[e] = observations
            results.append((observations, infos))
        merged = self.with_infos(results, merged, terminations | truncations)
        rows = [o.get(agent, self.nothing()) for o, _ in results for agent in self.agents]
        return self.batch(rows), rewards, terminations, truncations, self.finish(merged)

    def with_infos(self, results: Any, merged: dict[str, Any], ended: Any) -> dict[str, Any]:
        """Merges infos; a row that ended before its environment has them in final_info."""
        k = len(self.agents)
        for e, (_, infos) in enumerate(results):
            goes_on = 0 < len(self.envs[e].agents) < len(self.possible)
            for i, agent in enumerate(self.agents):
                row = e * k + i
                if self.mode is AutoresetMode.SAME_STEP and goes_on and ended[row]:
                    continue
                merged = self.merger._add_info(merged, self.own_info(infos, agent), row)
        return merged

    def seen_by_others(self) -> dict[str, Any]:
        space = self.space
        found = {}
        for agent in self.possible:
            if agent not in self.agents:
                space = self.envs[0].observation_space(agent)
                rows = [
                    shown.get(agent, np.zeros(space.shape, space.dtype)) for shown in self.shown
                ]
                found[agent] = np.stack(rows)
        return found
