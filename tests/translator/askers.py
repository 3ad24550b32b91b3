"""Environments that ask for options of a reset, in the ways in which people write it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control import utils

Result = tuple[Any, dict[str, Any]]


class Asker(gymnasium.Env[Any, Any]):
    """Shows what its reset made of the options."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
        self.action_space = spaces.Discrete(2)
        self.length = 7

    def _obs(self) -> Any:
        return np.array([self.x, self.count, self.is_set], dtype=np.float64)

    def begin(self, options: dict[str, Any] | None) -> None:
        raise NotImplementedError

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Result:
        super().reset(seed=seed)
        self.x = 0.5
        self.count = 3
        self.is_set = False
        self.begin(options)
        return self._obs(), {"count": self.count, "x": self.x}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.x += self.np_random.random()
        self.count -= 1
        return self._obs(), 1.0, self.count <= 0, False, {"count": self.count, "x": self.x}


class Tests(Asker):
    def begin(self, options: dict[str, Any] | None) -> None:
        if options is not None and "x" in options:
            self.x = options["x"]
        if options and "count" in options and options["count"] > 1:
            self.count = options["count"]
        if options is not None:
            self.is_set = True


class Gets(Asker):
    def begin(self, options: dict[str, Any] | None) -> None:
        options = options or {}
        self.x = options.get("x", -0.05)
        self.count = options.get("count", self.length)
        self.is_set = options.get("is_set", False)


class Nested(Asker):
    def begin(self, options: dict[str, Any] | None) -> None:
        self.x = (options or {}).get("x", 0.25) * self.np_random.uniform(0.5, 1.5)
        self.count = 5 if options is None or "count" not in options else options["count"]
        self.is_set = bool(options)


class Filled(Asker):
    def begin(self, options: dict[str, Any] | None) -> None:
        if options is None:
            options = {}
        count = 4
        if "count" in options:
            count = options["count"]
        self.count = count
        x = options.get("x")
        if x is not None:
            self.x = x
        if options.get("is_set"):
            self.is_set = True


class Bounds(Asker):
    def begin(self, options: dict[str, Any] | None) -> None:
        low, high = utils.maybe_parse_reset_bounds(options, -0.1, 0.1)
        self.x = self.np_random.uniform(low, high)


class Helped(Asker):
    def number(self, options: dict[str, Any] | None, default: float) -> float:
        if options is None:
            return default
        try:
            return float(options["x"])
        except KeyError:
            return 2 * default

    def begin(self, options: dict[str, Any] | None) -> None:
        self.x = self.number(options, 0.75)
        steps = range(int(options.get("count", 2)) if options else 1)
        for _ in steps:
            self.x *= 1.5


class Index(Asker):
    def begin(self, options: dict[str, Any] | None) -> None:
        places = [0.5, 1.5, 2.5]
        if options is not None and "factor" in options:
            self.x *= options["factor"]
        if options is not None and "place" in options:
            self.x = places[options["place"]]


class Needs(Asker):
    def begin(self, options: dict[str, Any] | None) -> None:
        if options is not None:
            if "x" in options:
                self.is_set = True
            self.x = options["x"]


class Locals(Asker):
    """Shows the types of variables that an option may be kept in."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Result:
        gymnasium.Env.reset(self, seed=seed)
        options = options or {}
        one = 4
        if "one" in options:
            one = options["one"]
        two = options["two"] if "two" in options else 5  # noqa: SIM401  people write it so
        three = 0.5
        if "three" not in options:
            three = options.get("three", 0.75)
        self.x, self.count, self.is_set = three, 2, True
        return self._obs(), {"one": one, "two": two, "count": one, "x": three}


class Large(Asker):
    """Asks for more than numbers, too."""

    def begin(self, options: dict[str, Any] | None) -> None:
        if options is not None and "start" in options:
            self.x, self.is_set = options["start"]
        if options is not None:
            name = options.get("name", "none")
            self.count = options.get("count", 3 if name == "none" else 4)
