"""A prisoner who escapes through a door, and a guard who catches him (PettingZoo's tutorial)."""

import functools
from copy import copy

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

SIZE = 7


class PrisonerAndGuard(ParallelEnv):
    metadata = {"name": "prisoner_and_guard_v0", "render_modes": ["ansi"]}

    def __init__(self, render_mode=None):
        self.possible_agents = ["prisoner", "guard"]
        self.render_mode = render_mode
        self.escape_x = None
        self.escape_y = None
        self.guard_x = None
        self.guard_y = None
        self.prisoner_x = None
        self.prisoner_y = None
        self.timestep = None
        self.np_random = None

    def reset(self, seed=None, options=None):
        if seed is not None or self.np_random is None:
            self.np_random, _ = seeding.np_random(seed)
        self.agents = copy(self.possible_agents)
        self.timestep = 0
        self.prisoner_x = 0
        self.prisoner_y = 0
        self.guard_x = SIZE - 1
        self.guard_y = SIZE - 1
        self.escape_x = int(self.np_random.integers(2, 5))
        self.escape_y = int(self.np_random.integers(2, 5))
        observations = {
            a: (
                self.prisoner_x + SIZE * self.prisoner_y,
                self.guard_x + SIZE * self.guard_y,
                self.escape_x + SIZE * self.escape_y,
            )
            for a in self.agents
        }
        infos = {a: {} for a in self.agents}
        return observations, infos

    def step(self, actions):
        prisoner_action = actions["prisoner"]
        guard_action = actions["guard"]

        if prisoner_action == 0 and self.prisoner_x > 0:
            self.prisoner_x -= 1
        elif prisoner_action == 1 and self.prisoner_x < SIZE - 1:
            self.prisoner_x += 1
        elif prisoner_action == 2 and self.prisoner_y > 0:
            self.prisoner_y -= 1
        elif prisoner_action == 3 and self.prisoner_y < SIZE - 1:
            self.prisoner_y += 1

        if guard_action == 0 and self.guard_x > 0:
            self.guard_x -= 1
        elif guard_action == 1 and self.guard_x < SIZE - 1:
            self.guard_x += 1
        elif guard_action == 2 and self.guard_y > 0:
            self.guard_y -= 1
        elif guard_action == 3 and self.guard_y < SIZE - 1:
            self.guard_y += 1

        terminations = {a: False for a in self.agents}
        rewards = {a: 0 for a in self.agents}
        if self.prisoner_x == self.guard_x and self.prisoner_y == self.guard_y:
            rewards = {"prisoner": -1, "guard": 1}
            terminations = {a: True for a in self.agents}
        elif self.prisoner_x == self.escape_x and self.prisoner_y == self.escape_y:
            rewards = {"prisoner": 1, "guard": -1}
            terminations = {a: True for a in self.agents}

        truncations = {a: False for a in self.agents}
        if self.timestep > 100:
            rewards = {"prisoner": 0, "guard": 0}
            truncations = {"prisoner": True, "guard": True}
        self.timestep += 1

        observations = {
            a: (
                self.prisoner_x + SIZE * self.prisoner_y,
                self.guard_x + SIZE * self.guard_y,
                self.escape_x + SIZE * self.escape_y,
            )
            for a in self.agents
        }
        infos = {a: {} for a in self.agents}

        if any(terminations.values()) or all(truncations.values()):
            self.agents = []

        return observations, rewards, terminations, truncations, infos

    def render(self):
        grid = np.full((SIZE, SIZE), " ")
        grid[self.prisoner_y, self.prisoner_x] = "P"
        grid[self.guard_y, self.guard_x] = "G"
        grid[self.escape_y, self.escape_x] = "E"
        return "\n".join("".join(row) for row in grid)

    @functools.lru_cache(maxsize=None)
    def observation_space(self, agent):
        return MultiDiscrete([SIZE * SIZE] * 3)

    @functools.lru_cache(maxsize=None)
    def action_space(self, agent):
        return Discrete(4)
