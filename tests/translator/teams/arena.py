"""Fighters with health and a position on a line; objects hold what each is."""

from dataclasses import dataclass

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv


@dataclass
class Fighter:
    x: int
    health: int = 10
    shield: bool = False
    kills: int = 0

    @property
    def is_alive(self):
        return self.health > 0


class BaseArena(ParallelEnv):
    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    @property
    def alive(self):
        return [a for a in self.possible_agents if self.fighters[a].is_alive]


class Arena(BaseArena):
    metadata = {"name": "arena_v2", "render_modes": []}

    def __init__(self, num_fighters=4, length=9, **kwargs):
        self.length = length
        self.possible_agents = [f"fighter_{i + 1}" for i in range(num_fighters)]
        self.observation_spaces = {
            a: spaces.Dict(
                {
                    "self": spaces.MultiDiscrete([length, 11, 2]),
                    "others": spaces.Box(-length, length, (num_fighters,), np.int32),
                    "action_mask": spaces.MultiBinary(5),
                }
            )
            for a in self.possible_agents
        }
        self.action_spaces = {a: spaces.Discrete(5) for a in self.possible_agents}
        self.fighters = {a: Fighter(0) for a in self.possible_agents}

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.np_random, seed = seeding.np_random(seed)
        self.agents = self.possible_agents[:]
        self.rounds = 0
        for a in self.agents:
            self.fighters[a] = Fighter(x=int(self.np_random.integers(self.length)))
        return self._observations(), {a: {} for a in self.agents}

    def _observations(self):
        return {a: self._observe(a) for a in self.agents}

    def _observe(self, agent):
        me = self.fighters[agent]
        others = np.zeros(len(self.possible_agents), dtype=np.int32)
        for i, other in enumerate(self.possible_agents):
            if self.fighters[other].is_alive:
                others[i] = self.fighters[other].x - me.x
            else:
                others[i] = self.length
        mask = np.array([1, me.x > 0, me.x < self.length - 1, 1, not me.shield], dtype=np.int8)
        return {
            "self": np.array([me.x, max(me.health, 0), me.shield]),
            "others": others,
            "action_mask": mask,
        }

    def step(self, actions):
        rewards = {a: 0.0 for a in self.agents}
        for a, action in actions.items():
            me = self.fighters[a]
            me.shield = False
            if action == 1:
                me.x = max(0, me.x - 1)
            elif action == 2:
                me.x = min(self.length - 1, me.x + 1)
            elif action == 4:
                me.shield = True
        for a, action in actions.items():
            if action != 3:
                continue
            me = self.fighters[a]
            for b in self.agents:
                if b == a:
                    continue
                foe = self.fighters[b]
                if abs(foe.x - me.x) <= 1 and foe.is_alive:
                    foe.health -= 1 if foe.shield else 3
                    rewards[a] += 0.5
                    if not foe.is_alive:
                        me.kills += 1
                        rewards[a] += 2.0
                        rewards[b] -= 2.0
        self.rounds += 1
        observations = self._observations()
        last = len(self.alive) <= 1
        terminations = {a: last or not self.fighters[a].is_alive for a in self.agents}
        truncations = {a: self.rounds >= 40 for a in self.agents}
        infos = {a: {"health": self.fighters[a].health, "kills": self.fighters[a].kills} for a in self.agents}
        self.agents = [a for a in self.agents if not terminations[a] and not truncations[a]]
        return observations, rewards, terminations, truncations, infos
