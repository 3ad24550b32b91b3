"""Environments in Python for the study `python_env`, as people write them."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
from gymnasium import spaces


class CartPole(gymnasium.Env):
    """A pole on a cart, its state in attributes."""

    def __init__(self, gravity=9.8, force_mag=10.0):
        high = np.array([4.8, np.inf, 24 * math.pi / 180, np.inf], np.float32)
        self.observation_space = spaces.Box(-high, high)
        self.action_space = spaces.Discrete(2)
        self.gravity, self.force_mag = gravity, force_mag
        self.masspole, self.length, self.tau = 0.1, 0.5, 0.02
        self.total_mass = 0.1 + 1.0
        self.polemass_length = 0.1 * 0.5
        self.max_theta = 12 * 2 * math.pi / 360

    def _get_obs(self):
        return np.array([self.x, self.x_dot, self.theta, self.theta_dot], dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-0.05, 0.05)
        self.x_dot = self.np_random.uniform(-0.05, 0.05)
        self.theta = self.np_random.uniform(-0.05, 0.05)
        self.theta_dot = self.np_random.uniform(-0.05, 0.05)
        return self._get_obs(), {}

    def step(self, action):
        force = self.force_mag if action == 1 else -self.force_mag
        cosine, sine = math.cos(self.theta), math.sin(self.theta)
        swing = self.polemass_length * (self.theta_dot * self.theta_dot) * sine
        temp = (force + swing) / self.total_mass
        theta_acc = (self.gravity * sine - cosine * temp) / (
            self.length * (4.0 / 3.0 - self.masspole * (cosine * cosine) / self.total_mass)
        )
        x_acc = temp - self.polemass_length * theta_acc * cosine / self.total_mass
        self.x += self.tau * self.x_dot
        self.x_dot += self.tau * x_acc
        self.theta += self.tau * self.theta_dot
        self.theta_dot += self.tau * theta_acc
        fallen = abs(self.x) > 2.4 or abs(self.theta) > self.max_theta
        return self._get_obs(), 1.0, fallen, False, {}


class ArrayCartPole(gymnasium.Env):
    """The same in Gymnasium's style: the state is an array, made anew in each step."""

    def __init__(self):
        self.gravity, self.masscart, self.masspole = 9.8, 1.0, 0.1
        self.total_mass = self.masspole + self.masscart
        self.length = 0.5
        self.polemass_length = self.masspole * self.length
        self.force_mag, self.tau = 10.0, 0.02
        self.theta_threshold_radians = 12 * 2 * math.pi / 360
        self.x_threshold = 2.4
        high = np.array([4.8, np.inf, 2 * self.theta_threshold_radians, np.inf], dtype=np.float32)
        self.action_space = spaces.Discrete(2)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        self.state = np.zeros(4)

    def _get_obs(self):
        return np.array(self.state, dtype=np.float32)

    def _get_info(self):
        return {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.uniform(low=-0.05, high=0.05, size=(4,))
        return self._get_obs(), self._get_info()

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} ({type(action)}) invalid"
        x, x_dot, theta, theta_dot = self.state
        force = self.force_mag if action == 1 else -self.force_mag
        costheta = np.cos(theta)
        sintheta = np.sin(theta)
        temp = (force + self.polemass_length * np.square(theta_dot) * sintheta) / self.total_mass
        thetaacc = (self.gravity * sintheta - costheta * temp) / (
            self.length * (4.0 / 3.0 - self.masspole * np.square(costheta) / self.total_mass)
        )
        xacc = temp - self.polemass_length * thetaacc * costheta / self.total_mass
        x = x + self.tau * x_dot
        x_dot = x_dot + self.tau * xacc
        theta = theta + self.tau * theta_dot
        theta_dot = theta_dot + self.tau * thetaacc
        self.state = np.array([x, x_dot, theta, theta_dot], dtype=np.float64)
        terminated = bool(
            x < -self.x_threshold
            or x > self.x_threshold
            or theta < -self.theta_threshold_radians
            or theta > self.theta_threshold_radians
        )
        return self._get_obs(), 1.0, terminated, False, self._get_info()


SIZE = 10
EMPTY, WALL, FOOD, AGENT = 0, 1, 2, 3


class GridWorld(gymnasium.Env):
    """Food among walls, on a board that is a 2-D array."""

    def __init__(self, walls=12, foods=5):
        self.walls, self.foods = walls, foods
        self.grid = np.zeros((SIZE, SIZE), np.uint8)
        self.observation_space = spaces.Box(0, 3, (SIZE, SIZE), np.uint8)
        self.action_space = spaces.Discrete(4)

    def _place(self, what):
        while True:
            row, col = self.np_random.integers(0, SIZE), self.np_random.integers(0, SIZE)
            if self.grid[row, col] == EMPTY:
                self.grid[row, col] = what
                return row, col

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.grid[:] = EMPTY
        for _ in range(self.walls):
            self._place(WALL)
        for _ in range(self.foods):
            self._place(FOOD)
        self.row, self.col = self._place(AGENT)
        self.eaten = 0
        return self.grid.copy(), {"eaten": self.eaten}

    def step(self, action):
        row, col = self.row, self.col
        if action == 0:
            row -= 1
        elif action == 1:
            row += 1
        elif action == 2:
            col -= 1
        else:
            col += 1
        reward, done = -0.1, False
        if 0 <= row < SIZE and 0 <= col < SIZE and self.grid[row, col] != WALL:
            reward = -0.01
            if self.grid[row, col] == FOOD:
                reward = 1.0
                self.eaten += 1
            self.grid[self.row, self.col] = EMPTY
            self.grid[row, col] = AGENT
            self.row, self.col = row, col
            done = self.eaten == self.foods
        return self.grid.copy(), reward, done, False, {"eaten": self.eaten}


WINDOW = 32
NUM_PRICES = 1_000_000


def prices():
    rng = np.random.default_rng(7)
    return 100.0 * np.exp(np.cumsum(rng.normal(0, 1e-3, NUM_PRICES)))


PRICES = prices()


class Trading(gymnasium.Env):
    """Short, flat or long; the observation is a window of a million prices."""

    def __init__(self, fee=1e-4, length=256):
        self.prices = PRICES
        self.fee, self.length = fee, length
        self.observation_space = spaces.Box(-np.inf, np.inf, (WINDOW + 2,), np.float32)
        self.action_space = spaces.Discrete(3)

    def _get_obs(self):
        obs = np.zeros(WINDOW + 2, dtype=np.float32)
        window = self.prices[self.t - WINDOW + 1 : self.t + 1]
        obs[:WINDOW] = window / self.prices[self.t] - 1.0
        obs[WINDOW] = self.position
        obs[WINDOW + 1] = self.equity
        return obs

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = int(self.np_random.integers(WINDOW, len(self.prices) - self.length - 1))
        self.end = self.t + self.length
        self.position = 0
        self.equity = 1.0
        return self._get_obs(), {"equity": self.equity}

    def step(self, action):
        wanted = int(action) - 1
        cost = self.fee * abs(wanted - self.position)
        self.position = wanted
        growth = float(self.prices[self.t + 1] / self.prices[self.t]) - 1.0
        gain = self.position * growth - cost
        self.t += 1
        self.equity *= 1.0 + gain
        ruined = self.equity < 0.5
        late = self.t >= self.end
        return self._get_obs(), math.log(1.0 + gain), ruined, late, {"equity": self.equity}
