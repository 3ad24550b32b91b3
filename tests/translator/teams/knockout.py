"""Players lose lives; who is removed while the list is looped over lets the next one stay."""

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv


class Knockout(ParallelEnv):
    metadata = {"name": "knockout_v0"}

    def __init__(self, n=6):
        self.n = n
        self.possible_agents = [f"a{i}" for i in range(n)]
        self.agents = []

    def observation_space(self, agent):
        return Box(-1e9, 1e9, (3,), np.float32)

    def action_space(self, agent):
        return Discrete(3)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents = [a for a in self.possible_agents]
        self.life = dict(zip(self.agents, self.rng.integers(3, 9, size=self.n).tolist()))
        self.pairs = {
            a: self.possible_agents[(i + 1) % self.n] for i, a in enumerate(self.possible_agents)
        }
        self.log = []  # at most 400
        return self._o(), dict.fromkeys(self.agents, {})

    def _o(self):
        o = {}
        for i, a in enumerate(self.agents):
            o[a] = np.array([self.life[a], len(self.agents), i], dtype=np.float32)
        return o

    def step(self, actions):
        total = 0
        for a, x in sorted(actions.items()):
            self.life[a] -= int(x)
            p = self.pairs[a]
            if p in actions and x == 2:
                self.life[p] += 1
            total += int(x)
        self.log.append(total)
        rew = {a: (0.5 if self.life[a] > 0 else -1) for a in self.agents}
        term = {}
        for a in self.agents:
            term[a] = self.life[a] <= 0
        obs = self._o()
        trunc = {a: len(self.log) > 30 for a in self.agents}
        inf = {a: dict(total=total, life=self.life[a]) for a in self.agents}
        for a in self.agents:
            if self.life[a] <= 0:
                self.agents.remove(a)  # skips the next one, as in Python
        if len(self.log) > 30:
            self.agents.clear()
        return obs, rew, term, trunc, inf
