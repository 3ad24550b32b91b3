"""Tanks of two sides shoot along lines; who is hit leaves, and the last side wins."""

from copy import copy

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Tanks(ParallelEnv):
    metadata = {"name": "tanks_v0"}

    def __init__(self, side=3, size=10):
        self.side = side
        self.size = size
        self.possible_agents = [f"north_{i}" for i in range(side)] + [
            f"south_{i}" for i in range(side)
        ]

    def observation_space(self, agent):
        return spaces.Box(0, 255, (self.size, self.size, 2), np.uint8)

    def action_space(self, agent):
        return spaces.Discrete(6)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.np_random = np.random.default_rng(seed=seed)
        self.agents = copy(self.possible_agents)
        self.board = -np.ones((self.size, self.size), dtype=int)
        self.place = {}
        self.ammo = {a: 8 for a in self.agents}
        for i, a in enumerate(self.agents):
            row = 0 if a.startswith("north") else self.size - 1
            column = int(self.np_random.integers(self.size))
            while self.board[row, column] != -1:
                column = int(self.np_random.integers(self.size))
            self.place[a] = [row, column]
            self.board[row, column] = i
        self.turn = 0
        return {a: self.picture(a) for a in self.agents}, {a: {} for a in self.agents}

    def picture(self, agent):
        frame = np.zeros((self.size, self.size, 2), dtype=np.uint8)
        for other in self.agents:
            r, c = self.place[other]
            same = other.split("_")[0] == agent.split("_")[0]
            frame[r, c, 0 if same else 1] = 255 if other == agent else 128
        return frame

    def step(self, actions):
        rewards = {a: -0.01 for a in self.agents}
        hit = set()
        for a in self.agents:
            r, c = self.place[a]
            action = actions[a]
            if action < 4:
                dr, dc = [(-1, 0), (1, 0), (0, -1), (0, 1)][action]
                nr, nc = r + dr, c + dc
                if 0 <= nr < self.size and 0 <= nc < self.size and self.board[nr, nc] == -1:
                    self.board[nr, nc] = self.board[r, c]
                    self.board[r, c] = -1
                    self.place[a][0] = nr
                    self.place[a][1] = nc
            elif self.ammo[a] > 0:
                self.ammo[a] -= 1
                step = 1 if a.startswith("north") else -1
                row = r + step
                while 0 <= row < self.size:
                    found = self.board[row, c]
                    if found >= 0:
                        victim = self.possible_agents[found]
                        if victim not in hit and victim.split("_")[0] != a.split("_")[0]:
                            hit.add(victim)
                            rewards[a] += 1.0
                            rewards[victim] -= 1.0
                        break
                    row += step
        for victim in sorted(hit):
            r, c = self.place[victim]
            self.board[r, c] = -1
        self.turn += 1
        observations = {a: self.picture(a) for a in self.agents}
        terminations = {a: a in hit for a in self.agents}
        rest = [a for a in self.agents if a not in hit]
        norths = sum(1 for a in rest if a.startswith("north"))
        if norths == 0 or norths == len(rest):
            for a in rest:
                terminations[a] = True
                rewards[a] += 3.0
            rest = []
        truncations = {a: self.turn >= 70 and not terminations[a] for a in self.agents}
        infos = {a: {"ammo": self.ammo[a]} for a in self.agents}
        self.agents = [] if self.turn >= 70 else rest
        return observations, rewards, terminations, truncations, infos
