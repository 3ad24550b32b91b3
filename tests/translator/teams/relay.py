"""A scout sees the target, a runner moves, and a gate opens: each with its own actions."""

import functools
import random

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv


class Relay(ParallelEnv):
    metadata = {"name": "relay_v0"}

    def __init__(self, length=12):
        self.length = length
        self.possible_agents = ["scout", "runner", "gate"]
        self.words = {"scout": 6, "runner": 3, "gate": 2}

    @functools.lru_cache
    def observation_space(self, agent):
        return Box(-1, 100, (4 if agent == "scout" else 3,), np.int64)

    @functools.lru_cache
    def action_space(self, agent):
        return Discrete(self.words[agent])

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.generator = np.random.default_rng(seed)
        self.agents = ["scout", "runner", "gate"]
        self.target = int(self.generator.integers(1, self.length))
        self.place = 0
        self.word = 0
        self.is_open = False
        self.steps = 0
        return self.observations(), {agent: {} for agent in self.agents}

    def observations(self):
        return {
            "scout": np.array([self.place, self.word, self.is_open, self.target]),
            "runner": np.array([self.place, self.word, self.is_open]),
            "gate": np.array([self.place, self.word, self.steps]),
        }

    def step(self, actions):
        self.steps += 1
        self.word = int(actions["scout"])
        self.is_open = bool(actions["gate"])
        move = int(actions["runner"]) - 1
        rewards = {"scout": -0.1, "runner": -0.1, "gate": -0.05 if self.is_open else 0}
        wall = self.length // 2
        ahead = self.place + move
        if self.place < wall <= ahead or ahead < wall <= self.place:
            if self.is_open:
                self.place = ahead
            else:
                rewards["runner"] -= 1
        else:
            self.place = min(max(ahead, 0), self.length - 1)
        found = self.place == self.target
        if found:
            for agent in self.agents:
                rewards[agent] += 5
        terminations = {agent: found for agent in self.agents}
        truncations = {agent: self.steps >= 50 for agent in self.agents}
        infos = {
            "scout": {},
            "runner": {"distance": abs(self.place - self.target)},
            "gate": {"is_open": self.is_open},
        }
        observations = self.observations()
        if found or self.steps >= 50:
            self.agents = []
        return observations, rewards, terminations, truncations, infos
