"""Fishers share a stock that grows again; who has no energy leaves."""

import functools

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv


class Commons(ParallelEnv):
    metadata = {"name": "commons_v0", "render_modes": ["human"]}

    def __init__(self, num_fishers: int = 5, capacity: float = 40.0, growth: float = 0.3):
        self.num_fishers = num_fishers
        self.capacity = capacity
        self.growth = growth
        self.possible_agents = [f"fisher_{i}" for i in range(num_fishers)]
        self.agents = self.possible_agents[:]

    @functools.lru_cache(maxsize=None)
    def observation_space(self, agent):
        return Box(low=-np.inf, high=np.inf, shape=(3,), dtype=np.float64)

    @functools.lru_cache(maxsize=None)
    def action_space(self, agent):
        return Discrete(4)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        self.agents = self.possible_agents[:]
        self.energy = {a: 3.0 + self.np_random.random() for a in self.agents}
        self.caught = {a: 0 for a in self.agents}
        self.stock = self.capacity / 2
        self.day = 0
        return self._obs(), {a: {"energy": self.energy[a], "day": self.day} for a in self.agents}

    def _obs(self):
        return {
            a: np.array([self.stock, self.energy[a], len(self.agents)]) for a in self.agents
        }

    def step(self, actions):
        order = self.np_random.permutation(len(self.agents))
        rewards = {a: 0.0 for a in self.agents}
        for i in order:
            agent = self.agents[i]
            wanted = float(actions[agent])
            got = min(wanted, self.stock)
            self.stock -= got
            self.energy[agent] += got - 1.2
            self.caught[agent] += int(got)
            rewards[agent] = got
        self.stock += self.growth * self.stock * (1 - self.stock / self.capacity)
        self.day += 1

        observations = self._obs()
        infos = {a: {"energy": self.energy[a], "day": self.day} for a in self.agents}
        terminations = {a: self.energy[a] <= 0 for a in self.agents}
        truncations = {a: self.day >= 50 for a in self.agents}
        for a in self.agents[:]:
            if terminations[a] or truncations[a]:
                self.agents.remove(a)
        return observations, rewards, terminations, truncations, infos
