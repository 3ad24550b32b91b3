"""Parks a car with a bicycle model."""
import math
import gymnasium as gym
import numpy as np
from gymnasium import spaces


def wrap(angle):
    return (angle + math.pi) % (2 * math.pi) - math.pi


class ParkingEnv(gym.Env):
    """The info says why an episode has ended."""

    L = 2.5
    DT = 0.1

    def __init__(self, width=20.0, height=20.0, max_steps=200):
        super().__init__()
        self.width, self.height = width, height
        self.max_steps = max_steps
        self.obstacles = [(5.0, 5.0, 1.5), (12.0, 14.0, 2.0), (15.0, 4.0, 1.0)]
        self.goal = np.array([17.0, 17.0, math.pi / 2])
        high = np.array([width, height, np.pi, 10.0, np.inf, np.pi], dtype=np.float32)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        self.action_space = spaces.Box(np.array([-1, -0.6]), np.array([1, 0.6]), dtype=np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.array([2.0, 2.0, self.np_random.uniform(-0.5, 0.5), 0.0])
        self.t = 0
        self.prev_dist = np.linalg.norm(self.state[:2] - self.goal[:2])
        return self._get_obs(), {}

    def _get_obs(self):
        x, y, th, v = self.state
        d = math.hypot(self.goal[0] - x, self.goal[1] - y)
        bearing = wrap(math.atan2(self.goal[1] - y, self.goal[0] - x) - th)
        return np.array([x, y, th, v, d, bearing], dtype=np.float32)

    def step(self, action):
        accel, steer = np.clip(action, self.action_space.low, self.action_space.high)
        x, y, th, v = self.state
        v = np.clip(v + accel * self.DT, -3.0, 3.0)
        x += v * np.cos(th) * self.DT
        y += v * np.sin(th) * self.DT
        th = wrap(th + v / self.L * np.tan(steer) * self.DT)
        self.state = np.array([x, y, th, v])
        self.t += 1

        dist = np.linalg.norm(self.state[:2] - self.goal[:2])
        reward = (self.prev_dist - dist) - 0.01
        self.prev_dist = dist

        info = {}
        terminated = False
        if any((x - ox) ** 2 + (y - oy) ** 2 < r * r for ox, oy, r in self.obstacles):
            reward -= 10
            terminated = True
            info["result"] = "crash"
        elif not (0 <= x <= self.width and 0 <= y <= self.height):
            reward -= 10
            terminated = True
            info["result"] = "out"
        elif dist < 0.5 and abs(wrap(th - self.goal[2])) < 0.3:
            reward += 20
            terminated = True
            info["result"] = "parked"
        truncated = self.t >= self.max_steps
        return self._get_obs(), reward, terminated, truncated, info
