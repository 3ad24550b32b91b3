"""Traffic lights on a ring keep their queues short; every light is its own agent."""

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo.utils.env import ParallelEnv

PHASES = ("ns", "ew")


class Lights(ParallelEnv):
    metadata = {"name": "lights_v0"}

    def __init__(self, n_lights=4, rate=0.4, episode_length=120, seed=None):
        self.n_lights = n_lights
        self.rate = rate
        self.episode_length = episode_length
        self.agents = ["light_" + str(i) for i in range(n_lights)]
        self.possible_agents = list(self.agents)
        self.neighbours = {
            a: [self.agents[(i - 1) % n_lights], self.agents[(i + 1) % n_lights]]
            for i, a in enumerate(self.agents)
        }
        self.np_random, _ = seeding.np_random(seed)

    def observation_space(self, agent):
        return spaces.Box(low=0, high=1000, shape=(5,), dtype=np.int64)

    def action_space(self, agent):
        return spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.np_random, _ = seeding.np_random(seed)
        self.agents = self.possible_agents[:]
        self.queue = {a: {p: int(self.np_random.integers(4)) for p in PHASES} for a in self.agents}
        self.phase = {a: "ns" for a in self.agents}
        self.waited = {a: 0 for a in self.agents}
        self.step_count = 0
        obs = {self.agents[i]: self._obs(i) for i in range(len(self.agents))}
        return obs, {a: {} for a in self.agents}

    def _obs(self, i):
        agent = self.agents[i]
        q = self.queue[agent]
        near = sum(self.queue[b]["ns"] + self.queue[b]["ew"] for b in self.neighbours[agent])
        return np.array([q["ns"], q["ew"], int(self.phase[agent] == "ew"), near, self.waited[agent]])

    def step(self, actions):
        for i, agent in enumerate(self.agents):
            wanted = PHASES[int(actions[agent])]
            if wanted != self.phase[agent]:
                self.phase[agent] = wanted
                self.waited[agent] = 0
            else:
                self.waited[agent] += 1
                q = self.queue[agent]
                out = min(q[wanted], 2)
                q[wanted] -= out
                if wanted == "ew" and out > 0:
                    follower = self.neighbours[agent][1]
                    self.queue[follower]["ew"] += out // 2
            for p in PHASES:
                if self.np_random.random() < self.rate:
                    self.queue[agent][p] += 1
        self.step_count += 1
        totals = {a: sum(self.queue[a].values()) for a in self.agents}
        rewards = {a: -0.1 * totals[a] for a in self.agents}
        jam = any(total > 25 for total in totals.values())
        terminations = {a: jam for a in self.agents}
        env_truncation = self.step_count >= self.episode_length
        truncations = {a: env_truncation for a in self.agents}
        obs = {self.agents[i]: self._obs(i) for i in range(len(self.agents))}
        infos = {a: {"queue": totals[a], "phase": int(self.phase[a] == "ew")} for a in self.agents}
        if jam or env_truncation:
            self.agents = []
        return obs, rewards, terminations, truncations, infos
