"""Continuous mountain car with gusts of wind and a limited battery."""

import math
from typing import Optional

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class HillCarBase(gym.Env):
    """The car and the hill. Subclasses say which other forces act and how it is rewarded."""

    min_position = -1.2
    max_position = 0.6
    max_speed = 0.07
    goal_position = 0.45
    gravity = 0.0025
    power = 0.0015

    def __init__(self):
        self.position = 0.0
        self.velocity = 0.0
        self.steps = 0

    @staticmethod
    def height(x):
        return math.sin(3 * x) * 0.45 + 0.55

    @staticmethod
    def slope(x):
        return math.cos(3 * x)

    @property
    def at_goal(self):
        return self.position >= self.goal_position and self.velocity >= 0.0

    def extra_force(self):
        return 0.0

    def place(self):
        self.position = self.np_random.uniform(low=-0.6, high=-0.4)
        self.velocity = 0.0
        self.steps = 0

    def drive(self, force):
        self.velocity += force * self.power - self.gravity * self.slope(self.position)
        self.velocity += self.extra_force()
        self.velocity = float(np.clip(self.velocity, -self.max_speed, self.max_speed))
        self.position += self.velocity
        self.position = float(np.clip(self.position, self.min_position, self.max_position))
        if self.position == self.min_position and self.velocity < 0:
            self.velocity = 0.0
        self.steps += 1


class WindyMountainCarEnv(HillCarBase):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(
        self,
        wind_std: float = 0.0002,
        wind_memory: float = 0.95,
        battery: float = 150.0,
        render_mode: Optional[str] = None,
    ):
        super().__init__()
        self.wind_std = wind_std
        self.wind_memory = wind_memory
        self.battery_capacity = battery
        self.render_mode = render_mode
        self.wind = 0.0
        self.battery = battery

        low = np.array([self.min_position, -self.max_speed, -1.0, 0.0], dtype=np.float32)
        high = np.array([self.max_position, self.max_speed, 1.0, 1.0], dtype=np.float32)
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self.action_space = spaces.Box(low=-1.0, high=1.0, shape=(1,), dtype=np.float32)

    def extra_force(self):
        # Ornstein-Uhlenbeck-like gusts; it blows harder at the top
        self.wind = self.wind_memory * self.wind + self.np_random.normal(0.0, self.wind_std)
        return self.wind * self.height(self.position)

    def _get_obs(self):
        return np.array(
            [
                self.position,
                self.velocity,
                math.tanh(self.wind * 1000),
                self.battery / self.battery_capacity,
            ],
            dtype=np.float32,
        )

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None):
        super().reset(seed=seed)
        self.place()
        self.wind = 0.0
        self.battery = self.battery_capacity
        return self._get_obs(), {"wind": self.wind}

    def step(self, action: np.ndarray):
        force = min(max(float(action[0]), -1.0), 1.0)
        used = abs(force)
        if used > self.battery:
            force = math.copysign(self.battery, force)
            used = self.battery
        self.battery -= used

        self.drive(force)

        terminated = self.at_goal
        reward = 100.0 if terminated else 0.0
        reward -= 0.1 * force**2
        # an empty battery and no swing left: nothing will ever happen again
        stuck = self.battery <= 0 and abs(self.velocity) < 1e-4
        info = {"wind": self.wind, "battery": self.battery, "steps": self.steps}
        return self._get_obs(), reward, terminated, stuck, info

    def render(self):
        if self.render_mode is None:
            return
        width, height = 300, 200
        canvas = np.full((height, width, 3), 255, dtype=np.uint8)
        scale = width / (self.max_position - self.min_position)
        xs = np.linspace(self.min_position, self.max_position, width)
        ys = np.sin(3 * xs) * 0.45 + 0.55
        rows = height - 1 - np.clip(ys * scale * 0.9, 0, height - 1).astype(int)
        canvas[rows, np.arange(width)] = 0
        col = min(int((self.position - self.min_position) * scale), width - 1)
        row = rows[col]
        canvas[max(0, row - 8) : row, max(0, col - 6) : col + 6] = [255, 0, 0]
        return canvas
