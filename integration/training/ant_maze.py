"""Trains one agent on AntMaze_UMaze of Gymnasium-Robotics, on each vectoriser.

    python -m integration.training.ant_maze [--seeds N] [--minutes M]

An ant begins at a random place of a maze, and walks to another, around a wall between two corridors
of 12 m. The reward of a step is the part of the way that it has taken: an episode's return is 1 at
the goal, where the episode ends, and 0 at the place where it began. A way is the shortest one
around walls.

This writes ant_maze.json and ant_maze.png; comparison.py says how. Gymnasium's vector environments
and ours give the same bits, so their agents are equal after each rollout.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.vector import NormalizeObservation
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from integration.training import ppo
from integration.training.comparison import ASYNC, OURS, SYNC, Comparison, Env, Player, Task
from integration.training.vectorisers import mode

# the map U_MAZE: 1 is a wall
MAZE = np.array(
    [
        [1, 1, 1, 1, 1],
        [1, 0, 0, 0, 1],
        [1, 1, 1, 0, 1],
        [1, 0, 0, 0, 1],
        [1, 1, 1, 1, 1],
    ]
)
# size of a cell in m, and points in a cell along each axis
CELL, POINTS = 4.0, 16


class Ways:
    """Lengths of the shortest ways in a maze, over a grid of points."""

    def __init__(self, maze: np.ndarray[Any, Any]) -> None:
        self._is_free = np.kron(maze == 0, np.ones((POINTS, POINTS), bool))
        rows, columns = self._is_free.shape
        self._corner = np.array([-columns, rows]) * CELL / POINTS / 2
        numbers = np.arange(rows * columns).reshape(rows, columns)
        edges = []
        # to the right, down, and down to either side; the graph has no direction
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            begins = np.s_[: rows - down, max(0, -right) : columns - max(0, right)]
            ends = np.s_[down:, max(0, right) : columns + min(0, right)]
            both = self._is_free[begins] & self._is_free[ends]
            length = np.hypot(down, right) * CELL / POINTS
            edges.append((numbers[begins][both], numbers[ends][both], length))
        begun = np.concatenate([begin for begin, _, _ in edges])
        ended = np.concatenate([end for _, end, _ in edges])
        lengths = np.concatenate([np.full(len(begin), length) for begin, _, length in edges])
        self._graph = coo_array((lengths, (begun, ended)), shape=(numbers.size,) * 2).tocsr()
        # of a point, from all points
        self._to = cache(lambda point: dijkstra(self._graph, directed=False, indices=point))

    def lengths(
        self, places: np.ndarray[Any, Any], goals: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """Returns the lengths in m of the ways from places (n, 2) to goals (n, 2); inf in walls."""
        pairs = zip(self._points(places), self._points(goals), strict=True)
        return np.array([self._to(goal)[place] for place, goal in pairs])

    def _points(self, places: np.ndarray[Any, Any]) -> list[int]:
        """Returns the numbers of the nearest points of the grid."""
        columns, rows = ((places - self._corner) * (1, -1) * POINTS / CELL).astype(int).T
        found: list[int] = np.ravel_multi_index((rows, columns), self._is_free.shape).tolist()
        return found


class OnFoot(VectorWrapper):
    """Rewards the part of the way to the goal that a step takes, and joins observations.

    An ant on its back begins a new episode in the same step, by a reset mask.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        spaces = env.single_observation_space
        self._names = list(spaces)  # type: ignore[call-overload]
        size = sum(spaces[name].shape[0] for name in self._names)  # type: ignore[index]
        self.single_observation_space = Box(-np.inf, np.inf, (size,), np.float64)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._ways = Ways(MAZE)
        # of an episode: the way from its beginning, and what is left of it
        self._whole = self._left = np.zeros(env.num_envs)
        self._ended = np.ones(env.num_envs, bool)

    def reset(self, **options: Any) -> Any:
        observations, infos = self.env.reset(**options)
        self._ended[:] = True
        self._walked(observations)
        return self._joined(observations), infos

    def step(self, actions: Any) -> Any:
        observations, _, terminations, truncations, infos = self.env.step(actions)
        rewards = self._walked(observations)
        self._ended = terminations | truncations
        if (fell := on_backs(observations["observation"]) & ~self._ended).any():
            observations, _ = self.env.reset(options={"reset_mask": fell})
            terminations = terminations | fell
            self._ended |= fell
        return self._joined(observations), rewards, terminations, truncations, infos

    def _walked(self, observations: Any) -> np.ndarray[Any, Any]:
        """Returns the parts of the way; 0 in rows of a reset."""
        left = self._ways.lengths(observations["achieved_goal"], observations["desired_goal"])
        # a torso that touches a wall may lie a little inside it
        left = np.where(np.isfinite(left), left, self._left)
        self._whole = np.where(self._ended, left, self._whole)
        parts = np.where(self._ended, 0.0, self._left - left) / self._whole
        self._left = left
        return parts

    def _joined(self, observations: Any) -> np.ndarray[Any, Any]:
        return np.concatenate([observations[name] for name in self._names], axis=-1)


def on_backs(observations: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns which torsos (n, numbers) are upside down, as a bool array (n,)."""
    # of the torso's quaternion w, x, y, z: the cosine of its tilt is 1 - 2 (x^2 + y^2)
    x, y = observations[:, 2], observations[:, 3]
    upside_down: np.ndarray[Any, Any] = x * x + y * y > 0.5
    return upside_down


def wrapped(env: Env) -> Env:
    return NormalizeObservation(OnFoot(env))


TASKS = (
    Task(
        task_id="AntMaze_UMaze-v4",
        num_envs=64,
        target=0.8,
        window=128,
        settings=ppo.Settings(
            total_steps=8_000_000,
            rollout_steps=128,
            epochs=5,
            minibatches=8,
            learning_rate=5e-4,
            gamma=0.99,
            gae_lambda=0.95,
            entropy_weight=0.0,
            scales_rewards=True,
            first_deviation=0.37,
        ),
        wrap=wrapped,
        options={"continuing_task": False},
        score="share of the way",
        folder="gymnasium-robotics-1.4.2",
    ),
)


def players(task: Task) -> Mapping[str, Player]:
    def original(name: str) -> Player:
        def make(task: Task, seed: int) -> Env:
            import gymnasium_robotics

            gymnasium.register_envs(gymnasium_robotics)
            return mode(name)(task, seed)

        return make

    return {OURS: mode("parallel_pool"), SYNC: original("sync"), ASYNC: original("async")}


COMPARISON = Comparison("ant_maze", __doc__, "ant_maze", TASKS, players)

if __name__ == "__main__":
    COMPARISON.main()
