"""Reference of dm_env semantics: a plain loop over one Gymnasium environment."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np

FIRST, MID, LAST = range(3)


class Expected(NamedTuple):
    """A time step; reward and discount are None in a FIRST one."""

    step_type: int
    reward: np.float32 | None
    discount: float | None
    observation: Any


class DMLoop:
    """Steps an environment by dm_env's rules, and counts how its episodes end.

    Attributes:
        ends: by (terminated, truncated), the number of episodes that ended so.
    """

    def __init__(self, id: str, seed: int, limit: int) -> None:
        self._env = gymnasium.make(id, max_episode_steps=limit)
        self._seed: int | None = seed
        self._begins = True
        self.ends: dict[tuple[bool, bool], int] = {}

    def reset(self) -> Expected:
        observation, _ = self._env.reset(seed=self._seed)
        self._seed, self._begins = None, False
        return Expected(FIRST, None, None, observation)

    def step(self, action: Any) -> Expected:
        if self._begins:
            return self.reset()
        observation, reward, terminated, truncated, _ = self._env.step(action)
        self._begins = terminated or truncated
        if self._begins:
            key = (terminated, truncated)
            self.ends[key] = self.ends.get(key, 0) + 1
        kind = LAST if self._begins else MID
        return Expected(kind, np.float32(reward), 0.0 if terminated else 1.0, observation)
