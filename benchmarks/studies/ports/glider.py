"""Glider: an environment in Python with float32 arithmetic, infos and options, for the prover."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np

F = np.float32


class Glider(gymnasium.Env[Any, Any]):
    """Stay in the air with little fuel."""

    metadata: ClassVar = {"render_modes": ["rgb_array"]}

    def __init__(self, wind: float = 0.2, fuel: int = 30, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.wind, self.fuel = F(wind), fuel
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def look(self) -> Any:
        bank = self.tilt * F(-1)
        return np.array([self.height, self.speed, bank, self.distance], np.float32)

    def tell(self) -> dict[str, Any]:
        return {"left": self.left, "score": self.score, "distance": self.distance}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.height = F(self.np_random.uniform(1.0, 2.0))
        self.speed = self.tilt = self.distance = F(0)
        self.left, self.steps, self.score = self.fuel, 0, 0
        return self.look(), self.tell()

    def step(self, action: Any) -> Any:
        lift = action[0] if self.left > 0 else F(0)
        if lift > 0:
            self.left -= 1
        gust = F(self.np_random.random() - 0.5) * self.wind
        speed = self.speed + lift * F(0.05) - F(0.01) + gust * F(0.1)
        self.speed = np.clip(speed, F(-0.3), F(0.3))
        self.height = self.height + self.speed
        self.tilt = self.tilt * F(-0.5) + action[1] * F(0.25)
        self.distance = self.distance + abs(self.speed)
        self.steps += 1
        self.score += 50 * self.steps
        terminated = bool(self.height <= 0 or self.height > 4)
        truncated = not terminated and self.steps >= 40
        reward = float(self.speed) - (5.0 if terminated else 0.0)
        return self.look(), reward, terminated, truncated, self.tell()

    def render(self) -> Any:
        """A white line at the height, longer with more fuel, on a sky that is red when it falls."""
        picture = np.zeros((8, 8, 3), np.uint8)
        picture[..., 0] = 200 if self.speed < 0 else 100
        row = int(np.clip(self.height, 0, 3.5) * 2)
        picture[7 - row, : 1 + self.left % 8] = 255
        return picture
