"""A hot potato is thrown around; who holds it when it goes off is out."""

import copy

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv


class HotPotato(ParallelEnv):
    metadata = {"name": "potato_v0"}

    def __init__(self, players=5):
        self.num_players = players
        self.possible_agents = [f"p{i}" for i in range(players)]
        self.observation_spaces = {a: Box(0, 100, (2 * players,), np.float32) for a in self.possible_agents}
        self.action_spaces = {a: Discrete(players) for a in self.possible_agents}
        self.rng = None

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def reset(self, seed=None, options=None):
        if self.rng is None or seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents = copy.copy(self.possible_agents)
        self.out = set()
        self.held = {agent: 0 for agent in self.agents}
        self.winner = None
        order = list(self.agents)
        self.rng.shuffle(order)
        self.seats = order
        self.holder = str(self.rng.choice(self.agents))
        self.fuse = int(self.rng.integers(3, 8))
        observations = {}
        observations.update({agent: self.look(agent) for agent in self.agents})
        return observations, {agent: {} for agent in self.agents}

    def look(self, agent):
        view = np.zeros(2 * self.num_players, dtype=np.float32)
        for i in range(self.num_players):
            name = f"p{i}"
            if name not in self.out:
                view[i] = self.held[name]
            view[self.num_players + i] = 1 + self.seats.index(name) if name == self.holder else 0
        if agent == self.holder:
            view[0] += self.fuse
        return view

    def step(self, actions):
        rewards = {agent: 0 for agent in self.agents}
        target = f"p{int(actions.get(self.holder, 0))}"
        thrower = self.holder
        if target in self.agents and target != thrower:
            self.holder = target
            rewards[thrower] += 0.1
        else:
            rewards[thrower] -= 0.2
        self.held[self.holder] += 1
        self.fuse -= 1
        observations, terminations, truncations, infos = {}, {}, {}, {}
        loser = None
        if self.fuse == 0:
            loser = self.holder
            self.out.add(loser)
            rewards[loser] = -1
            self.fuse = int(self.rng.integers(3, 8))
            rest = [agent for agent in self.agents if agent != loser]
            self.holder = str(self.rng.choice(rest))
            if len(rest) == 1:
                self.winner = rest[0]
                rewards[self.winner] += 1
        for agent in self.agents:
            observations[agent] = self.look(agent)
            terminations[agent] = agent == loser or self.winner is not None
            truncations[agent] = False
            most = max(self.held, key=self.held.get)
            infos[agent] = {"held": self.held[agent], "leads": most == agent}
        rewards[next(a for a in self.agents if a != loser)] += 0.01
        self.agents = [] if self.winner is not None else sorted(set(self.agents) - self.out)
        return observations, rewards, terminations, truncations, infos
