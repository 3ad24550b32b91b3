"""A swarm keeps its formation: all state is in arrays, with a row for each robot."""

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Swarm(ParallelEnv):
    metadata = {"name": "swarm_v0"}

    def __init__(self, n=6, dt=0.05, radius=1.0, max_t=150):
        self.n = n
        self.dt = dt
        self.radius = radius
        self.max_t = max_t
        self.possible_agents = [f"robot_{i}" for i in range(n)]
        self.obs_space = spaces.Box(-np.inf, np.inf, shape=(8,), dtype=np.float64)
        self.act_space = spaces.Box(-1.0, 1.0, shape=(2,), dtype=np.float64)

    def observation_space(self, agent):
        return self.obs_space

    def action_space(self, agent):
        return self.act_space

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        self.agents = self.possible_agents[:]
        self.t = 0
        self.p = self.np_random.normal(size=(self.n, 2))
        self.v = np.zeros((self.n, 2))
        angles = np.linspace(0, 2 * np.pi, 7)[:-1]
        self.goal = self.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        obs = self._get_all_obs()
        return {a: obs[i] for i, a in enumerate(self.agents)}, {a: {} for a in self.agents}

    def _get_all_obs(self):
        center = self.p.mean(axis=0)
        return np.concatenate(
            [self.p, self.v, self.goal - self.p, np.tile(center, 6).reshape(6, 2)], axis=1
        )

    def step(self, actions):
        u = np.array([actions[a] for a in self.agents])
        self.v = np.clip(self.v + u * self.dt * 4, -2, 2)
        self.p = self.p + self.v * self.dt
        self.t += 1

        error = np.linalg.norm(self.goal - self.p, axis=1)
        cost = -error - 0.01 * (u**2).sum(axis=1)
        done = bool((error < 0.05).all())
        late = self.t >= self.max_t

        obs = self._get_all_obs()
        observations = dict(zip(self.agents, obs))
        rewards = dict(zip(self.agents, cost))
        terminations = dict.fromkeys(self.agents, done)
        truncations = dict.fromkeys(self.agents, late)
        infos = {a: {"error": error[i]} for i, a in enumerate(self.agents)}
        if done or late:
            self.agents = []
        return observations, rewards, terminations, truncations, infos
