"""Native games whose players do not all act until the end: `live` and `ended`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from pettingzoo import ParallelEnv

from parallel_pool import PoolParallelEnv
from tests.support.agent_arrays import check_order_only
from tests.support.parallel_loop import Loop, sample
from tests.support.same import assert_same

MODES = list(AutoresetMode)
GAME = "test/Elimination-v0"
NUM_ENVS = 4


class Elimination(ParallelEnv[str, Any, Any]):
    """The same game in Python."""

    def __init__(self) -> None:
        self.metadata = {"name": "elimination_v0"}
        self.possible_agents = [f"player_{i}" for i in range(3)]
        self.agents = []
        self.rng = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(0, 6, (2,), np.int64)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(3)

    def observed(self) -> dict[str, Any]:
        left = sum(points > 0 for points in self.points.values())
        return {agent: np.array([self.points[agent], left]) for agent in self.agents}

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        if seed is not None:
            self.rng, _ = seeding.np_random(seed)
        self.points = {
            agent: 3 + i + int(self.rng.integers(0, 2)) for i, agent in enumerate(self.agents)
        }
        self.elapsed = 0
        return self.observed(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> Any:
        self.elapsed += 1
        for agent in self.agents:
            self.points[agent] = max(0, self.points[agent] - int(actions[agent]))
        out = {agent: self.points[agent] == 0 for agent in self.agents}
        rewards = {agent: -1.0 if is_out else 0.0 for agent, is_out in out.items()}
        left = [agent for agent, is_out in out.items() if not is_out]
        if len(left) == 1:
            rewards[left[0]], out[left[0]] = 1.0, True
        truncations = dict.fromkeys(self.agents, self.elapsed == 4)
        infos: dict[str, Any] = {agent: {} for agent in self.agents}
        results = self.observed(), rewards, out, truncations, infos
        is_over = not left or all(out.values()) or self.elapsed == 4
        self.agents = [] if is_over else left
        return results


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_players_that_are_out_are_dead_agents(mode: AutoresetMode) -> None:
    loop = Loop([Elimination] * NUM_ENVS, mode)
    rng = np.random.default_rng(0)
    died_early = truncated = 0
    with PoolParallelEnv(GAME, NUM_ENVS, autoreset_mode=mode) as envs:
        assert_same(envs.reset(seed=0), loop.reset(0), "reset")
        for step in range(60):
            assert_same(envs.live, loop.live(), f"live before step {step}")
            actions = sample(envs, rng)
            result = envs.step(actions)
            assert_same(result, loop.step(actions), f"step {step}")
            live = np.array(list(envs.live.values()))
            ends = np.array(list(result[2].values()))
            died_early += int((ends & live.any(0)).any())
            truncated += int(np.any(list(result[3].values())))
            over = ~live.any(0)
            if mode is AutoresetMode.DISABLED and over.any():
                again = envs.reset(seed=step, options={"reset_mask": over.copy()})
                assert_same(again, loop.reset(step, over), f"reset at {step}")
    assert died_early and truncated


@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name)
def test_an_asynchronous_pool_differs_in_order_only(mode: AutoresetMode) -> None:
    with (
        PoolParallelEnv(GAME, NUM_ENVS, autoreset_mode=mode) as envs,
        PoolParallelEnv(GAME, NUM_ENVS, autoreset_mode=mode, batch_size=2) as asynchronous,
    ):
        check_order_only(envs, asynchronous, 20)


def test_actions_of_players_that_are_out_are_ignored() -> None:
    with PoolParallelEnv(GAME, 1) as envs:
        envs.reset(seed=0)
        for _ in range(2):
            envs.step({agent: [2 if agent == "player_0" else 0] for agent in envs.possible_agents})
        assert envs.agents == ["player_1", "player_2"]
        envs.step({"player_0": [99], "player_1": [0], "player_2": [0]})
        with pytest.raises(ValueError, match="99"):
            envs.step({"player_1": [99], "player_2": [0]})
        with pytest.raises(ValueError, match="no actions for agent 'player_2'"):
            envs.step({"player_1": [0]})
        assert envs.agents == ["player_1", "player_2"]


@pytest.mark.parametrize(("task_id", "num_envs"), [("mpe/simple_v3", 3), (GAME, 1)])
def test_what_is_written_into_live_changes_nothing(task_id: str, num_envs: int) -> None:
    with PoolParallelEnv(task_id, num_envs) as envs:
        envs.reset(seed=1)
        for is_live in envs.live.values():
            is_live[:] = False
        assert envs.agents == envs.possible_agents
