"""Teams that agree win; the members of a team share what is found."""

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv


class Votes(ParallelEnv):
    metadata = {"name": "votes_v0"}

    def __init__(self, teams=2, size=3):
        self.team_of = {}
        self.possible_agents = []
        for t in range(teams):
            for k in range(size):
                name = f"team{t}_{k}"
                self.possible_agents.append(name)
                self.team_of[name] = t
        self.members = [
            [a for a in self.possible_agents if self.team_of[a] == t] for t in range(teams)
        ]
        self.size = size
        self.teams = teams

    def observation_space(self, agent):
        return Box(-np.inf, np.inf, (self.teams + 2,))

    def action_space(self, agent):
        return Discrete(4, start=0)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        self.agents = self.possible_agents[:]
        self.votes = np.zeros((self.teams, 4), dtype=int)
        self.score = np.zeros(self.teams)
        self.rounds = 0
        self.last = {a: -1 for a in self.agents}
        self.streak = {a: 0 for a in self.agents}
        return {a: self.obs(a) for a in self.agents}, {a: {} for a in self.agents}

    def obs(self, a):
        t = self.team_of[a]
        return np.concatenate([self.score, [self.last[a], self.streak[a]]]).astype(np.float32)

    def step(self, actions):
        self.votes[:] = 0
        for a, v in actions.items():
            self.votes[self.team_of[a], v] += 1
            self.streak[a] = self.streak[a] + 1 if v == self.last[a] else 0
            self.last[a] = int(v)
        rewards = {}
        for t, team in enumerate(self.members):
            best = int(np.argmax(self.votes[t]))
            agree = self.votes[t].max()
            self.score[t] += agree / self.size
            for a in team:
                rewards[a] = float(agree) if self.last[a] == best else -0.5 * self.streak[a]
        self.rounds += 1
        lead = np.abs(self.score[0] - self.score[1])
        done = self.rounds >= 40 or lead > 4
        infos = {
            a: {"lead": lead, "votes": self.votes[self.team_of[a]].copy()} for a in self.agents
        }
        obs = {a: self.obs(a) for a in self.agents}
        terms = {a: bool(lead > 4) for a in self.agents}
        truncs = {a: self.rounds >= 40 for a in self.agents}
        if done:
            self.agents = []
        return obs, rewards, terms, truncs, infos
