"""Sixteen drifting boats keep apart; a boat that leaves the lake is truncated."""

import math

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

N = 16


class Drift(ParallelEnv):
    metadata = {"name": "drift_v0"}

    def __init__(self):
        self.possible_agents = ["boat_%d" % i for i in range(N)]
        self.observation_spaces = {a: spaces.Box(-10, 10, (5,)) for a in self.possible_agents}
        self.action_spaces = {a: spaces.Box(-1, 1, (1,)) for a in self.possible_agents}
        self.np_random = None

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.np_random, _ = seeding.np_random(seed)
        self.agents = self.possible_agents[:]
        self.x = {}
        self.y = {}
        self.angle = {}
        for agent in self.agents:
            self.x[agent] = self.np_random.uniform(-3, 3)
            self.y[agent] = self.np_random.uniform(-3, 3)
            self.angle[agent] = self.np_random.uniform(-math.pi, math.pi)
        self.step_count = 0
        observations = {agent: self._obs(agent) for agent in self.agents}
        infos = {agent: {} for agent in self.agents}
        return observations, infos

    def _nearest(self, agent):
        best = 10.0
        for other in self.agents:
            if other == agent:
                continue
            distance = math.hypot(self.x[other] - self.x[agent], self.y[other] - self.y[agent])
            best = min(best, distance)
        return best

    def _obs(self, agent):
        return np.array(
            [
                self.x[agent],
                self.y[agent],
                math.cos(self.angle[agent]),
                math.sin(self.angle[agent]),
                self._nearest(agent),
            ],
            dtype=np.float32,
        )

    def step(self, actions):
        observations, rewards, terminations, truncations, infos = {}, {}, {}, {}, {}
        for agent in self.agents:
            self.angle[agent] += 0.3 * float(actions[agent][0])
            self.x[agent] += 0.2 * math.cos(self.angle[agent])
            self.y[agent] += 0.2 * math.sin(self.angle[agent])
        self.step_count += 1
        for agent in self.agents:
            nearest = self._nearest(agent)
            crashed = nearest < 0.15
            outside = math.hypot(self.x[agent], self.y[agent]) > 5
            observations[agent] = self._obs(agent)
            rewards[agent] = -1.0 if crashed else 0.1 * nearest
            terminations[agent] = crashed
            truncations[agent] = outside or self.step_count >= 100
            infos[agent] = {"nearest": nearest}
        self.agents = [a for a in self.agents if not (terminations[a] or truncations[a])]
        return observations, rewards, terminations, truncations, infos
