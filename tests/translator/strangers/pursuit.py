from enum import Enum
from typing import Optional

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Actions(Enum):
    right = 0
    up = 1
    left = 2
    down = 3
    stay = 4


class PursuitEnv(gym.Env):
    """A hunter (the agent) chases a hare which runs away most of the time."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}

    def __init__(
        self,
        render_mode: Optional[str] = None,
        size: int = 8,
        hare_skill: float = 0.7,
        n_rocks: int = 5,
    ):
        self.size = size
        self.hare_skill = hare_skill
        self.n_rocks = n_rocks
        self.window_size = 256

        # Positions are {0, ..., size - 1}^2
        self.observation_space = spaces.Dict(
            {
                "agent": spaces.Box(0, size - 1, shape=(2,), dtype=int),
                "target": spaces.Box(0, size - 1, shape=(2,), dtype=int),
                "rocks": spaces.Box(0, 1, shape=(size, size), dtype=np.uint8),
            }
        )
        self.action_space = spaces.Discrete(5)

        self._agent_location = np.array([-1, -1], dtype=int)
        self._target_location = np.array([-1, -1], dtype=int)
        self._rocks = np.zeros((size, size), dtype=np.uint8)

        self._action_to_direction = {
            Actions.right.value: np.array([1, 0]),
            Actions.up.value: np.array([0, 1]),
            Actions.left.value: np.array([-1, 0]),
            Actions.down.value: np.array([0, -1]),
            Actions.stay.value: np.array([0, 0]),
        }

        assert render_mode is None or render_mode in self.metadata["render_modes"]
        self.render_mode = render_mode

    def _get_obs(self):
        return {
            "agent": self._agent_location,
            "target": self._target_location,
            "rocks": self._rocks,
        }

    def _get_info(self):
        return {
            "distance": np.linalg.norm(self._agent_location - self._target_location, ord=1),
        }

    def _random_free_cell(self):
        while True:
            cell = self.np_random.integers(0, self.size, size=2, dtype=int)
            if self._rocks[tuple(cell)] == 0:
                return cell

    def reset(self, seed: Optional[int] = None, options: Optional[dict] = None):
        super().reset(seed=seed)

        self._rocks = np.zeros((self.size, self.size), dtype=np.uint8)
        spots = self.np_random.choice(self.size**2, size=self.n_rocks, replace=False)
        self._rocks.flat[spots] = 1

        self._agent_location = self._random_free_cell()
        self._target_location = self._agent_location
        while np.array_equal(self._target_location, self._agent_location):
            self._target_location = self._random_free_cell()

        return self._get_obs(), self._get_info()

    def _move(self, location, direction):
        new = np.clip(location + direction, 0, self.size - 1)
        return location if self._rocks[new[0], new[1]] else new

    def _hare_policy(self):
        """The hare takes a neighbouring cell that is the farthest from the hunter."""
        directions = list(self._action_to_direction.values())
        if self.np_random.random() > self.hare_skill:
            return self.np_random.choice(directions)
        distances = []
        for d in directions:
            cell = self._move(self._target_location, d)
            distances.append(np.abs(cell - self._agent_location).sum())
        best = [d for d, dist in zip(directions, distances) if dist == max(distances)]
        return best[self.np_random.choice(len(best))]

    def step(self, action):
        direction = self._action_to_direction[action]
        before = self._get_info()["distance"]
        self._agent_location = self._move(self._agent_location, direction)

        terminated = np.array_equal(self._agent_location, self._target_location)
        if not terminated:
            self._target_location = self._move(self._target_location, self._hare_policy())
            terminated = np.array_equal(self._agent_location, self._target_location)

        observation = self._get_obs()
        info = self._get_info()
        reward = 10 if terminated else 0.1 * (before - info["distance"]) - 0.1

        return observation, reward, terminated, False, info

    def render(self):
        if self.render_mode == "rgb_array":
            return self._render_frame()

    def _render_frame(self):
        pix = self.window_size // self.size
        canvas = np.full((self.size * pix, self.size * pix, 3), 255, dtype=np.uint8)

        def fill(cell, color):
            x, y = cell
            canvas[y * pix : (y + 1) * pix, x * pix : (x + 1) * pix] = color

        for cell in np.argwhere(self._rocks):
            fill(cell, (90, 90, 90))
        fill(self._target_location, (200, 120, 0))
        fill(self._agent_location, (0, 0, 255))
        return canvas
