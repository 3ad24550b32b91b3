"""Environments whose pictures show everything that they hold."""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces


class Gear(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Place(NamedTuple):
    row: int
    column: int


@dataclass
class Wheel:
    angle: float
    speed: float = 0.0
    marks: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Tool:
    name: str
    weight: float


class Shown(gymnasium.Env[Any, Any]):
    """Has every kind of attribute; its picture is a text of all of them, or their sum as pixels."""

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": ["human", "ansi", "rgb_array", "rgb_array_list"],
        "render_fps": 7,
    }

    def __init__(self, size: int = 4, render_mode: str | None = None) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = spaces.Discrete(3)
        self.size, self.render_mode = size, render_mode
        self.path: list[tuple[int, int]] = []  # at most 100
        self.painter: list[str] = ["made by __init__"]
        self.pictures = 0
        self.level = 3

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count, self.ratio, self.is_done = 0, 0.5, False
        self.small = np.int64(3)
        self.narrow = np.float32(0.25)
        self.grid = np.zeros((self.size, 2), np.int8)
        self.flags = np.array([True, False])
        self.position = Place(0, 0)
        self.pair = (1, 2.5)
        self.wheel = Wheel(0.25)
        self.wheels = [Wheel(0.0), Wheel(1.0, marks=[1])]
        self.tool = Tool("hammer", 1.5)
        self.gear = Gear.LOW
        self.word = "calm"
        self.found: float | None = None
        self.last: Gear | None = None
        self.path = [(0, 0)]
        self.recent: deque[float] = deque(maxlen=3)
        self.queue: deque[int] = deque([1])
        self.seen: set[int] = set()
        self.seen.add(4)
        self.stock = {"apples": 3, "pears": 0.5}
        self.visits: dict[tuple[int, int], int] = {}
        self.nested = [[1], [2, 3]]
        return self._observation(), {}

    def _observation(self) -> Any:
        return np.array([self.ratio, self.count], dtype=np.float64)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        draw = self.np_random.random()
        self.count += 1
        self.ratio += draw
        self.is_done = self.count == 9
        self.small += 2
        self.narrow = np.float32(draw)
        self.grid[self.count % self.size, action % 2] += 1
        self.flags = ~self.flags
        self.position = Place(self.count, int(action))
        self.pair = (self.count, draw)
        self.wheel.angle += draw
        self.wheel.marks.append(self.count)
        self.wheels[1].speed += draw
        self.gear = Gear.HIGH if action == 1 else Gear.LOW
        self.word = "wild" if draw > 0.5 else "calm"
        self.found = draw if action == 2 else None
        self.last = self.gear if action else None
        self.path.append((self.count, int(action)))
        self.recent.append(draw)
        self.queue.append(self.count)
        self.seen.add(self.count)
        self.stock["apples"] += 1
        place = (self.count % 3, int(action))
        self.visits[place] = self.visits.get(place, 0) + 1
        self.nested[0].append(self.count)
        return self._observation(), draw, self.is_done, False, {}

    @property
    def doubled(self) -> int:
        return 2 * self.count

    def steps_to(self, count: int, more: int = 0) -> int:
        return count - self.count + more

    def advance(self) -> None:
        self.count += 1

    def render(self) -> Any:
        self.pictures += 1
        hidden = ("pictures", "render_mode", "observation_space", "action_space", "_np_random")
        shown = {key: value for key, value in vars(self).items() if key not in hidden}
        text = "\n".join(f"{key} = {shown[key]!r}" for key in sorted(shown))
        text += f"\nnext: {self.np_random.bit_generator.state}"
        if self.render_mode == "ansi":
            return text
        return np.frombuffer(text.encode().ljust(6000)[:6000], np.uint8).reshape(20, 100, 3)


class Failing(Shown):
    """Its render fails in its third step."""

    def render(self) -> Any:
        if self.count == 3:
            raise KeyError("no brush")
        return None if self.count == 4 else super().render()


class Silent(gymnasium.Env[Any, Any]):
    """Draws nothing."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 1, (1,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(1, np.float32), 0.0, False, False, {}
