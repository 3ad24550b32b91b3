"""Cars cross a junction from four sides and may not meet; more cars come as others leave."""

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete
from pettingzoo import ParallelEnv

SIDES = ["north", "east", "south", "west"]
HEADING = {"north": (0, 1), "east": (-1, 0), "south": (0, -1), "west": (1, 0)}
START = {"north": (4, 0), "east": (8, 4), "south": (5, 8), "west": (0, 5)}


class Crossing(ParallelEnv):
    metadata = {"name": "crossing_v0"}

    def __init__(self, p_enter=0.3):
        self.p_enter = p_enter
        self.possible_agents = [f"{side}_{i}" for side in SIDES for i in range(2)]

    def observation_space(self, agent):
        return MultiDiscrete([9, 9, 9, 9, 2])

    def action_space(self, agent):
        return Discrete(2)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.clock = 0
        self.at = {}
        self.waiting = self.possible_agents[:]
        self.agents = []
        self._enter(force=True)
        return {a: self._obs(a) for a in self.agents}, {a: {"waiting": len(self.waiting)} for a in self.agents}

    def _enter(self, force=False):
        for agent in list(self.waiting):
            side = agent.split("_")[0]
            place = START[side]
            free = all(self.at[other] != place for other in self.agents)
            if free and (self.rng.random() < self.p_enter or (force and not self.agents)):
                self.at[agent] = place
                self.agents.append(agent)
                self.waiting.remove(agent)

    def _obs(self, agent):
        x, y = self.at[agent]
        nearest, best = (x, y), 99
        for other in self.agents:
            if other != agent:
                ox, oy = self.at[other]
                d = abs(ox - x) + abs(oy - y)
                if d < best:
                    nearest, best = (ox, oy), d
        return np.array([x, y, nearest[0], nearest[1], int(best == 1)])

    def step(self, actions):
        self.clock += 1
        obs, rewards, terms, truncs, infos = {}, {}, {}, {}, {}
        moved = {}
        for agent in self.agents:
            x, y = self.at[agent]
            dx, dy = HEADING[agent.split("_")[0]]
            if actions[agent] == 1:
                x, y = x + dx, y + dy
            moved[agent] = (x, y)
        crashed = set()
        for a in self.agents:
            for b in self.agents:
                if a != b and moved[a] == moved[b]:
                    crashed.add(a)
        for agent in self.agents:
            x, y = moved[agent]
            out = not (0 <= x < 9 and 0 <= y < 9)
            terms[agent] = agent in crashed or out
            truncs[agent] = self.clock >= 60
            rewards[agent] = -5 if agent in crashed else (1 if out else -0.1)
            self.at[agent] = (min(max(x, 0), 8), min(max(y, 0), 8))
        for agent in self.agents:
            obs[agent] = self._obs(agent)
            infos[agent] = {"waiting": len(self.waiting)}
        gone = [a for a in self.agents if terms[a] or truncs[a]]
        self.agents = [a for a in self.agents if a not in gone]
        if self.clock < 60:
            before = len(self.agents)
            self._enter(force=not self.agents)
            for agent in self.agents[before:]:
                obs[agent] = self._obs(agent)
                rewards[agent] = 0
                terms[agent] = False
                truncs[agent] = False
                infos[agent] = {"waiting": len(self.waiting)}
        return obs, rewards, terms, truncs, infos
