"""Environments that are recorded; workers import this module without torch."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

KEPT = ["kind", "nested"]


class Walk(gymnasium.Env[Any, Any]):
    """Draws the length of each episode, and how it ends; rewards are exact in float32.

    Args:
        fails_at: the step of its life that raises.
        both: whether episodes end with both flags.
    """

    observation_space = spaces.Dict(
        {"box": spaces.Box(-9, 9, (2,), np.float32), "picture": spaces.Box(0, 255, (9, 9, 3), "u1")}
    )
    action_space = spaces.Box(-1, 1, (2,), np.float32)

    def __init__(self, fails_at: int = -1, both: bool = False) -> None:
        self.fails_at, self.both, self.taken = fails_at, both, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps, self.length = 0, int(self.np_random.integers(2, 9))
        return self._show(), self._info((options or {}).get("low", -1))

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.taken += 1
        if self.taken == self.fails_at:
            raise ZeroDivisionError("as asked")
        is_over, drawn = self.steps == self.length, int(self.np_random.integers(1, 9))
        flags = is_over and (self.both or drawn < 4), is_over and (self.both or drawn >= 4)
        return self._show(), drawn / 8, *flags, self._info(float(action[0]))

    def _show(self) -> Any:
        return {
            "box": self.np_random.uniform(-9, 9, 2).astype(np.float32),
            "picture": self.np_random.integers(0, 256, (9, 9, 3), np.uint8),
        }

    def _info(self, low: float) -> Any:
        own = {"kind": "cat", "nested": {"low": float(low), "half": np.float32(self.steps / 2)}}
        # which others lack at the end of an episode
        return own if self.steps % 2 else {**own, "even": 1}


class Mortal(Walk):
    """Raises in its tenth step."""

    def __init__(self) -> None:
        super().__init__(fails_at=10)


class Tired(Walk):
    """Ends its episodes with both flags."""

    def __init__(self) -> None:
        super().__init__(both=True)


class Shown(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Shows the infos that are kept only: Minari's collector stores all, or fails."""

    def reset(self, **arguments: Any) -> Any:
        observation, info = self.env.reset(**arguments)
        return observation, {name: info[name] for name in KEPT}

    def step(self, action: Any) -> Any:
        *results, info = self.env.step(action)
        return *results, {name: info[name] for name in KEPT}
