"""Trains on a line; shapes of stations come from a table."""
import gymnasium
import numpy as np
from gymnasium import spaces

LINES = {
    "short": {"stations": 4, "rate": np.array([0.2, 0.5, 0.3, 0.1])},
    "long": {"stations": 7, "rate": np.array([0.2, 0.1, 0.5, 0.3, 0.4, 0.1, 0.2])},
}


class Subway(gymnasium.Env):
    def __init__(self, line="short", capacity=10):
        spec = LINES[line]
        self.n = spec["stations"]
        self.rate = spec["rate"]
        self.capacity = capacity
        self.action_space = spaces.Discrete(3, start=-1)
        self.observation_space = spaces.Box(0, 1000, (2 * self.n + 1,), dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.waiting = np.zeros(self.n, dtype=int)
        self.aboard = np.zeros(self.n, dtype=int)
        self.pos = 0
        self.t = 0
        return self._obs(), self._info()

    def _obs(self):
        return np.concatenate([self.waiting, self.aboard, [self.pos]]).astype(np.float32)

    def _info(self):
        return {"waiting": self.waiting.copy(), "load": self.aboard.sum() / self.capacity, "stats": {"t": self.t, "pos": self.pos}}

    def step(self, action):
        self.pos = int(np.clip(self.pos + action, 0, self.n - 1))
        arrivals = self.np_random.poisson(self.rate)
        self.waiting += arrivals
        delivered = self.aboard[self.pos]
        self.aboard[self.pos] = 0
        room = self.capacity - self.aboard.sum()
        if action == 0 and room > 0:
            boarding = min(room, self.waiting[self.pos])
            self.waiting[self.pos] -= boarding
            for _ in range(boarding):
                dest = self.np_random.integers(self.n)
                while dest == self.pos:
                    dest = self.np_random.integers(self.n)
                self.aboard[dest] += 1
        self.t += 1
        reward = float(delivered) - 0.01 * self.waiting.sum()
        return self._obs(), reward, bool(self.waiting.max() > 60), self.t >= 300, self._info()
