"""Towers of Hanoi."""
import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Hanoi(gym.Env):
    def __init__(self, disks: int = 3, penalty: float = -0.1):
        self.disks = disks
        self.penalty = penalty
        self.moves = [(a, b) for a in range(3) for b in range(3) if a != b]
        self.action_space = spaces.Discrete(len(self.moves))
        self.observation_space = spaces.Tuple([spaces.Discrete(3) for _ in range(disks)])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.pegs = [list(range(self.disks - 1, -1, -1)), [], []]
        self.count = 0
        return self._state(), {"legal": self._mask()}

    def _state(self):
        where = [0] * self.disks
        for p, peg in enumerate(self.pegs):
            for d in peg:
                where[d] = p
        return tuple(where)

    def _mask(self):
        return np.array([self._legal(a, b) for a, b in self.moves], dtype=bool)

    def _legal(self, a, b):
        return bool(self.pegs[a]) and (not self.pegs[b] or self.pegs[b][-1] > self.pegs[a][-1])

    def step(self, action):
        a, b = self.moves[action]
        self.count += 1
        if not self._legal(a, b):
            return self._state(), self.penalty, False, self.count >= 200, {"legal": self._mask()}
        self.pegs[b].append(self.pegs[a].pop())
        done = len(self.pegs[2]) == self.disks
        return self._state(), 1.0 if done else 0.0, done, self.count >= 200, {"legal": self._mask()}
