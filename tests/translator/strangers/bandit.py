from typing import Optional

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class BaseBandit(gym.Env):
    """Common part of all the bandits: arms, regret and the episode's length."""

    def __init__(self, n_arms: int, n_contexts: int, n_pulls: int):
        self.n_arms = n_arms
        self.n_contexts = n_contexts
        self.n_pulls = n_pulls
        self.action_space = spaces.Discrete(n_arms)
        self.observation_space = spaces.Discrete(n_contexts)
        self.means = np.zeros((n_contexts, n_arms))
        self.context = 0
        self.pulls = 0
        self.regret = 0.0

    def sample_means(self) -> np.ndarray:
        raise NotImplementedError

    def sample_reward(self, mean: float) -> float:
        raise NotImplementedError

    def evolve(self) -> None:
        """Override this for non-stationary bandits."""

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None):
        super().reset(seed=seed)
        self.means = self.sample_means()
        self.context = self.np_random.integers(self.n_contexts)
        self.pulls = 0
        self.regret = 0.0
        self.counts = np.zeros(self.n_arms, dtype=int)
        return self.context, self._info()

    def step(self, action):
        assert self.action_space.contains(action), f"there is no arm {action}"
        row = self.means[self.context]
        reward = self.sample_reward(row[action])
        self.regret += row.max() - row[action]
        self.counts[action] += 1
        self.pulls += 1

        self.evolve()
        self.context = self.np_random.integers(self.n_contexts)
        return self.context, reward, False, self.pulls >= self.n_pulls, self._info()

    def _info(self):
        return {
            "regret": self.regret,
            "best_arm": int(np.argmax(self.means[self.context])),
            "favourite": int(self.counts.argmax()),
        }


class DriftingBanditEnv(BaseBandit):
    """Contextual Gaussian bandit.

    The means do a random walk, and with probability `change_prob` per pull the arms
    are permuted, so what was learned so far is wrong all of a sudden.
    """

    metadata = {"render_modes": ["ansi"]}

    def __init__(
        self,
        n_arms: int = 5,
        n_contexts: int = 3,
        n_pulls: int = 200,
        noise: float = 1.0,
        drift: float = 0.02,
        change_prob: float = 0.005,
        heavy_tails: bool = False,
        render_mode: Optional[str] = None,
    ):
        super().__init__(n_arms, n_contexts, n_pulls)
        self.noise = noise
        self.drift = drift
        self.change_prob = change_prob
        self.heavy_tails = heavy_tails
        self.render_mode = render_mode
        self.n_changes = 0

    def reset(self, **kwargs):
        self.n_changes = 0
        return super().reset(**kwargs)

    def sample_means(self):
        return self.np_random.normal(0.0, 1.0, size=(self.n_contexts, self.n_arms))

    def sample_reward(self, mean):
        if self.heavy_tails:
            return float(mean + self.noise * self.np_random.standard_t(3))
        return float(self.np_random.normal(mean, self.noise))

    def evolve(self):
        self.means += self.np_random.normal(0, self.drift, size=self.means.shape)
        if self.np_random.random() < self.change_prob:
            order = self.np_random.permutation(self.n_arms)
            self.means = self.means[:, order]
            self.n_changes += 1

    def _info(self):
        info = super()._info()
        info["n_changes"] = self.n_changes
        return info

    def render(self):
        if self.render_mode == "ansi":
            means = np.array2string(self.means[self.context], precision=2)
            return f"context {self.context}: {means} pulls={self.counts.tolist()}"
