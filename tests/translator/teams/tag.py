"""Taggers chase runners in a square; forces are continuous."""

import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import EzPickle, seeding
from pettingzoo import ParallelEnv

DT = 0.1


class ContinuousTag(ParallelEnv, EzPickle):
    metadata = {"name": "tag_v0", "is_parallelizable": True}

    def __init__(self, num_taggers=3, num_runners=2, max_cycles=40):
        EzPickle.__init__(self, num_taggers, num_runners, max_cycles)
        self.taggers = ["tagger_{}".format(i) for i in range(num_taggers)]
        self.runners = ["runner_{}".format(i) for i in range(num_runners)]
        self.possible_agents = self.taggers + self.runners
        self.max_cycles = max_cycles
        n = len(self.possible_agents)
        self.agent_name_mapping = dict(zip(self.possible_agents, range(n)))
        self.max_speed = {a: 1.0 if a in self.taggers else 1.3 for a in self.possible_agents}
        self.observation_spaces = {
            a: Box(-np.inf, np.inf, (4 + 2 * (n - 1) + (1 if a in self.taggers else 0),), np.float32)
            for a in self.possible_agents
        }
        self.action_spaces = {a: Box(-1, 1, (2,), np.float32) for a in self.possible_agents}

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.np_random, self.np_random_seed = seeding.np_random(seed)
        self.agents = self.possible_agents[:]
        self.cycles = 0
        n = len(self.possible_agents)
        self.pos = self.np_random.uniform(-1, 1, size=(n, 2))
        self.vel = np.zeros((n, 2))
        self.tags = 0
        observations = {a: self.observe(a) for a in self.agents}
        return observations, {a: {"tags": 0} for a in self.agents}

    def observe(self, agent):
        i = self.agent_name_mapping[agent]
        others = []
        for j in range(len(self.possible_agents)):
            if j != i:
                others.append(self.pos[j] - self.pos[i])
        obs = np.concatenate([self.vel[i], self.pos[i]] + others)
        if agent in self.taggers:
            obs = np.append(obs, self.tags)
        return obs.astype(np.float32)

    def step(self, actions):
        for agent, action in actions.items():
            i = self.agent_name_mapping[agent]
            self.vel[i] = 0.75 * self.vel[i] + np.clip(action, -1, 1) * 5.0 * DT
            speed = np.sqrt(np.square(self.vel[i][0]) + np.square(self.vel[i][1]))
            limit = self.max_speed[agent]
            if speed > limit:
                self.vel[i] = self.vel[i] / speed * limit
            self.pos[i] += self.vel[i] * DT
        self.pos = np.clip(self.pos, -1.5, 1.5)

        rewards = {a: 0.0 for a in self.agents}
        tagged = 0
        for t in self.taggers:
            for r in self.runners:
                delta = self.pos[self.agent_name_mapping[t]] - self.pos[self.agent_name_mapping[r]]
                if np.linalg.norm(delta) < 0.2:
                    rewards[t] += 10
                    rewards[r] -= 10
                    tagged += 1
        self.tags += tagged
        for r in self.runners:
            x, y = np.abs(self.pos[self.agent_name_mapping[r]])
            rewards[r] -= max(x - 0.9, 0.0) + max(y - 0.9, 0.0)
        self.cycles += 1
        done = self.tags >= 12
        terminations = {a: done for a in self.agents}
        truncations = {a: self.cycles >= self.max_cycles for a in self.agents}
        infos = {a: {} for a in self.agents}
        for a in self.agents:
            if a in self.runners:
                infos[a]["speed"] = np.linalg.norm(self.vel[self.agent_name_mapping[a]])
            elif tagged > 0:
                infos[a]["tagged"] = tagged
        infos[self.taggers[0]]["tags"] = self.tags
        observations = {a: self.observe(a) for a in self.agents}
        if done or self.cycles >= self.max_cycles:
            self.agents = []
        return observations, rewards, terminations, truncations, infos
