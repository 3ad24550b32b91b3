"""Pursuers on a torus surround one evader."""

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

MOVES = {0: (0, 0), 1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


class Pursuit(ParallelEnv):
    metadata = {"render_modes": [], "name": "pursuit_v0"}

    def __init__(self, n_pursuers=3, size=8, max_steps=60):
        super().__init__()
        self.size = size
        self.max_steps = max_steps
        self.possible_agents = [f"pursuer_{i}" for i in range(n_pursuers)]
        self.agents = []
        self.observation_spaces = {
            agent: spaces.Box(-1.0, 1.0, (2 + 2 * n_pursuers,), np.float32)
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(5) for agent in self.possible_agents}
        self.rng = np.random.default_rng()

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def _delta(self, a, b):
        d = (b - a + self.size // 2) % self.size - self.size // 2
        return d / (self.size // 2)

    def _observe(self, agent):
        me = self.positions[agent]
        parts = [self._delta(me, self.evader), me / self.size]
        for other in self.possible_agents:
            if other != agent:
                parts.append(self._delta(me, self.positions[other]))
        return np.concatenate(parts).astype(np.float32)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents = self.possible_agents[:]
        self.steps = 0
        self.evader = self.rng.integers(0, self.size, size=2)
        self.positions = {
            agent: self.rng.integers(0, self.size, size=2) for agent in self.agents
        }
        observations = {agent: self._observe(agent) for agent in self.agents}
        infos = {agent: {} for agent in self.agents}
        return observations, infos

    def step(self, actions):
        self.steps += 1
        for agent, action in actions.items():
            move = np.array(MOVES[int(action)])
            self.positions[agent] = (self.positions[agent] + move) % self.size

        if self.rng.random() < 0.7:
            dx, dy = MOVES[int(self.rng.integers(1, 5))]
            self.evader = (self.evader + np.array([dx, dy])) % self.size

        rewards = {}
        close = 0
        for agent in self.agents:
            distance = np.abs(self._delta(self.positions[agent], self.evader)).sum()
            rewards[agent] = -0.1 * float(distance)
            if distance <= 0.25:
                close += 1
        caught = close >= 2
        if caught:
            for agent in self.agents:
                rewards[agent] += 10.0

        terminations = {agent: caught for agent in self.agents}
        timeout = self.steps >= self.max_steps
        truncations = {agent: timeout for agent in self.agents}
        observations = {agent: self._observe(agent) for agent in self.agents}
        infos = {agent: {"close": close} for agent in self.agents}
        if caught or timeout:
            self.agents = []
        return observations, rewards, terminations, truncations, infos
