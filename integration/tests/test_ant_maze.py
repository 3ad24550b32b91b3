"""PPO on an ant maze: the lengths of ways, and ants that fall."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.vector import VectorEnv

from integration.training import ant_maze


def test_ways_lead_around_the_wall() -> None:
    ways = ant_maze.Ways(ant_maze.MAZE)
    begin = np.array([-4.0, 4.0])
    goals = np.array([[-4.0, 4.0], [4.0, 4.0], [4.0, -4.0], [-4.0, -4.0]])
    found = ways.lengths(np.broadcast_to(begin, goals.shape), goals)
    # the wall ends at x = 2, and is 4 m thick
    around = 2 * np.hypot(6, 2) + 4
    straight = [0.0, 8.0, np.hypot(6, 2) + np.hypot(2, 6), around]
    # a grid with diagonals makes ways up to 8.3 % longer
    assert (found >= np.array(straight) - 0.5).all()
    assert (found <= np.array(straight) * 1.083 + 0.5).all()
    assert np.isinf(ways.lengths(np.array([[0.0, 0.0]]), goals[:1])).all()


class Maze(VectorEnv[Any, Any, Any]):
    """Two ants that stand still; the second falls on its back in each step."""

    num_envs = 2
    single_observation_space = Dict(
        {
            "observation": Box(-np.inf, np.inf, (5,)),
            "achieved_goal": Box(-9, 9, (2,)),
            "desired_goal": Box(-9, 9, (2,)),
        }
    )

    def __init__(self) -> None:
        self.masks: list[list[bool]] = []

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        if options is not None:
            self.masks.append(options["reset_mask"].tolist())
        return self._seen(upright=[True, True]), {}

    def step(self, actions: Any) -> Any:
        no = np.zeros(2, bool)
        return self._seen(upright=[True, False]), np.zeros(2), no, no, {}

    def _seen(self, upright: list[bool]) -> Any:
        turns = [(1.0, 0.0, 0.0, 0.0) if up else (0.0, 0.6, 0.8, 0.0) for up in upright]
        return {
            "observation": np.array([(0.75, *turn) for turn in turns]),
            "achieved_goal": np.array([(-4.0, 4.0)] * 2),
            "desired_goal": np.array([(4.0, 4.0)] * 2),
        }


def test_an_ant_on_its_back_begins_anew() -> None:
    maze = Maze()
    envs = ant_maze.OnFoot(maze)
    envs.reset()
    observations, rewards, terminations, truncations, _ = envs.step(None)
    assert maze.masks == [[False, True]]
    assert terminations.tolist() == [False, True] and not truncations.any()
    # what it sees is the new episode's, whose ant stands
    assert (observations[:, -4:] == (1, 0, 0, 0)).all() and not rewards.any()


def test_an_ant_that_leans_is_not_on_its_back() -> None:
    half = np.radians([0, 80, 100, 180]) / 2
    leaning = np.zeros((4, 5))
    leaning[:, 1], leaning[:, 3] = np.cos(half), np.sin(half)
    assert ant_maze.on_backs(leaning).tolist() == [False, False, True, True]
