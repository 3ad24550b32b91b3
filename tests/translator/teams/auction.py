"""Bidders in a sealed auction; the second price is paid."""

from collections import defaultdict

import gymnasium
import numpy as np
from pettingzoo import ParallelEnv


def env_config(n):
    return [f"bidder-{k}" for k in range(n)]


class SealedAuction(ParallelEnv):
    metadata = {"name": "auction", "is_parallelizable": True}

    def __init__(self, bidders: int = 5, items: int = 10, budget: float = 20.0) -> None:
        super().__init__()
        self.possible_agents = env_config(bidders)
        self.items = items
        self.budget = budget
        self._observation_space = gymnasium.spaces.Box(0, 100, shape=(4,), dtype=np.float32)
        self._action_space = gymnasium.spaces.Box(0, 1, shape=(1,), dtype=np.float32)
        self.rng, _ = gymnasium.utils.seeding.np_random()

    def observation_space(self, agent: str):
        return self._observation_space

    def action_space(self, agent: str):
        return self._action_space

    def reset(self, seed: int | None = None, options: dict | None = None):
        if seed is not None:
            self.rng, _ = gymnasium.utils.seeding.np_random(seed)
        self.agents = self.possible_agents[:]
        self.left = self.items
        self.money = {a: self.budget for a in self.agents}
        self.won = {a: 0 for a in self.agents}
        self.last_price = 0.0
        self.rewards = {a: 0.0 for a in self.agents}
        self.terminations = {a: False for a in self.agents}
        self.truncations = {a: False for a in self.agents}
        self.infos = {a: {} for a in self.agents}
        self._draw_values()
        return self._obs(), self.infos

    def _draw_values(self):
        self.values = {a: float(self.rng.uniform(0.0, 10.0)) for a in self.possible_agents}

    def _obs(self):
        return {
            a: np.array([self.values[a], self.money[a], self.last_price, self.left], dtype=np.float32)
            for a in self.agents
        }

    def step(self, actions: dict):
        bids = {a: float(actions[a][0]) * self.money[a] for a in self.agents}
        ranking = sorted(bids.items(), key=lambda pair: pair[1], reverse=True)
        winner, highest = ranking[0]
        second = ranking[1][1] if len(ranking) > 1 else 0.0
        for a in self.agents:
            self.rewards[a] = 0.0
        self.money[winner] -= second
        self.won[winner] += 1
        self.rewards[winner] = self.values[winner] - second
        self.last_price = second
        self.left -= 1
        self._draw_values()
        for a in self.agents:
            self.terminations[a] = self.left == 0 or self.money[a] < 0.5
        obs = self._obs()
        rewards = {a: self.rewards[a] for a in self.agents}
        terms = {a: self.terminations[a] for a in self.agents}
        truncs = {a: self.truncations[a] for a in self.agents}
        infos = {a: {"won": self.won[a], "highest": highest} for a in self.agents}
        self.agents = [a for a in self.agents if not self.terminations[a]]
        return obs, rewards, terms, truncs, infos
