"""Traders bid for one good; the price follows who buys and who sells."""

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Market(ParallelEnv):
    metadata = {"name": "market_v1"}

    def __init__(self, n_traders=4, horizon=100, fee=0.01):
        self.n_traders = n_traders
        self.horizon = horizon
        self.fee = fee
        self.possible_agents = [f"trader_{i}" for i in range(n_traders)]
        self._obs_space = spaces.Dict(
            {
                "prices": spaces.Box(0, np.inf, (5,), np.float32),
                "book": spaces.Box(-np.inf, np.inf, (2,), np.float32),
            }
        )
        # buy, hold or sell; how much
        self._act_space = spaces.MultiDiscrete([3, 4])

    def observation_space(self, agent):
        return self._obs_space

    def action_space(self, agent):
        return self._act_space

    def _get_obs(self):
        recent = np.array(self.history[-5:], dtype=np.float32)
        return {
            agent: {
                "prices": recent,
                "book": np.array([self.cash[agent], self.goods[agent]], dtype=np.float32),
            }
            for agent in self.agents
        }

    def _wealth(self, agent):
        return self.cash[agent] + self.goods[agent] * self.price

    def reset(self, seed=None, options=None):
        self.rng = np.random.default_rng(seed) if seed is not None else self.rng
        self.agents = self.possible_agents[:]
        self.t = 0
        self.price = 10.0
        self.history = [10.0] * 5  # at most 128
        self.cash = {agent: 100.0 for agent in self.agents}
        self.goods = {agent: 5 for agent in self.agents}
        self.last = {agent: self._wealth(agent) for agent in self.agents}
        return self._get_obs(), {agent: {} for agent in self.agents}

    def step(self, actions):
        demand = 0
        for agent in self.agents:
            side, amount = actions[agent]
            cost = amount * self.price * (1 + self.fee)
            if side == 0 and self.cash[agent] >= cost:
                self.cash[agent] -= cost
                self.goods[agent] += int(amount)
                demand += int(amount)
            elif side == 2 and self.goods[agent] >= amount:
                self.cash[agent] += amount * self.price * (1 - self.fee)
                self.goods[agent] -= int(amount)
                demand -= int(amount)
        shock = self.rng.normal(0.0, 0.02)
        self.price = max(0.5, self.price * (1 + 0.01 * demand + shock))
        self.history.append(self.price)
        self.t += 1

        rewards = {}
        for agent in self.agents:
            wealth = self._wealth(agent)
            rewards[agent] = wealth - self.last[agent]
            self.last[agent] = wealth
        richest = max(self.agents, key=self._wealth)
        terminations = {agent: False for agent in self.agents}
        truncations = {agent: self.t >= self.horizon for agent in self.agents}
        infos = {
            agent: {"wealth": self._wealth(agent), "is_richest": agent == richest}
            for agent in self.agents
        }
        obs = self._get_obs()
        if all(truncations.values()):
            self.agents = []
        return obs, rewards, terminations, truncations, infos
