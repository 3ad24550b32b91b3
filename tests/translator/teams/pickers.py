"""Pickers carry items home; the episode ends in one of three places of step."""

import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary
from pettingzoo import ParallelEnv


class Pickers(ParallelEnv):
    metadata = {"name": "pickers_v0"}
    possible_agents = ["x", "y", "z"]
    observation_spaces = {
        a: Dict({"grid": Box(0, 1, (4, 4), np.float32), "flags": MultiBinary(3)})
        for a in ["x", "y", "z"]
    }
    action_spaces = {a: Box(-2, 2, (2,), np.float64) for a in ["x", "y", "z"]}

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def reset(self, seed=None, options=None):
        self.np_random = np.random.default_rng(seed) if seed is not None else self.np_random
        self.agents = self.possible_agents[:]
        self.pos = {a: self.np_random.uniform(0, 4, 2) for a in self.agents}
        self.t = 0
        self.carrying = {a: None for a in self.agents}
        self.items = [
            (int(self.np_random.integers(4)), int(self.np_random.integers(4))) for _ in range(3)
        ]
        return self.make_obs(), {a: {} for a in self.agents}

    def make_obs(self):
        grid = np.zeros((4, 4), dtype=np.float32)
        for r, c in self.items:
            grid[r, c] = 1.0
        for a in self.agents:
            r, c = (np.clip(self.pos[a], 0, 3)).astype(int)
            grid[r, c] = 0.5
        return {
            a: {
                "grid": grid,
                "flags": np.array(
                    [self.carrying[b] is not None for b in self.possible_agents], dtype=np.int8
                ),
            }
            for a in self.agents
        }

    def step(self, actions):
        self.t += 1
        for a in self.agents:
            self.pos[a] = np.clip(self.pos[a] + np.clip(actions[a], -1, 1), 0, 3.999)
            cell = tuple(self.pos[a].astype(int))
            if self.carrying[a] is None and cell in self.items:
                self.carrying[a] = self.items.index(cell)
                self.items.remove(cell)
        if not self.items:
            obs = self.make_obs()
            agents = self.agents
            self.agents = []
            return (
                obs,
                {a: 10.0 if self.carrying[a] is not None else 0.0 for a in agents},
                {a: True for a in agents},
                {a: False for a in agents},
                {a: {} for a in agents},
            )
        if self.t >= 25:
            obs = self.make_obs()
            rewards = {a: -1.0 for a in self.agents}
            term = {a: False for a in self.agents}
            trunc = {a: True for a in self.agents}
            info = {a: {} for a in self.agents}
            self.agents = []
            return obs, rewards, term, trunc, info
        return (
            self.make_obs(),
            {a: -0.05 for a in self.agents},
            {a: False for a in self.agents},
            {a: False for a in self.agents},
            {a: {} for a in self.agents},
        )
