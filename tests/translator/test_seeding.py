"""What reset() does with its seed: the engine seeds; nothing else may depend on it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils import seeding

import parallel_pool
from parallel_pool._contract import twins


class Plain(gymnasium.Env[Any, Any]):
    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-9, 9, (1,), np.float64)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.place = 0.0

    def begin(self, seed: int | None) -> None:
        super().reset(seed=seed)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.begin(seed)
        self.place = self.np_random.random()
        return np.array([self.place]), {}

    def step(self, action: Any) -> Any:
        self.place += self.np_random.random() - 0.5
        return np.array([self.place]), 0.0, abs(self.place) > 2, False, {}


class Guarded(Plain):
    def begin(self, seed: int | None) -> None:
        if seed is not None:
            gymnasium.Env.reset(self, seed=seed)
            self.action_space.seed(seed)


class Functional(Plain):
    def begin(self, seed: int | None) -> None:
        if seed is None:
            pass
        else:
            self.np_random, _ = seeding.np_random(seed)


class Inner(Plain):
    def begin(self, seed: int | None) -> None:
        if not seed is None:  # noqa: E714
            self.np_random = np.random.default_rng(seed)


class Method(Plain):
    def _seed(self, seed: int | None = None) -> None:
        self.np_random, _ = seeding.np_random(seed)

    def begin(self, seed: int | None) -> None:
        if seed is not None:
            self._seed(seed)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "cls", [Plain, Guarded, Functional, Inner, Method], ids=lambda cls: cls.__name__
)
def test_ways_to_seed(cls: Any) -> None:
    (task_id,) = parallel_pool.compile(cls)
    twins.compare(cls, task_id)


class Count(Plain):
    def begin(self, seed: int | None) -> None:
        super().reset(seed=seed)
        if seed is not None:
            self.place = 1.0


class Number(Plain):
    def begin(self, seed: int | None) -> None:
        super().reset(seed=seed)
        self.first = seed


class Either(Plain):
    def begin(self, seed: int | None) -> None:
        super().reset(seed=seed)
        self.place = 1.0 if seed else 2.0


class Also(Plain):
    def begin(self, seed: int | None) -> None:
        super().reset(seed=seed)
        if seed is not None or self.place > 1:
            self.place = 1.0


class Fixed(Plain):
    def begin(self, seed: int | None) -> None:
        if seed is not None:
            self.np_random = np.random.default_rng(7)


class Shifted(Plain):
    def begin(self, seed: int | None) -> None:
        self.np_random = np.random.default_rng(seed + 1 if seed is not None else None)


@pytest.mark.parametrize(
    "cls", [Count, Number, Either, Also, Fixed, Shifted], ids=lambda cls: cls.__name__
)
def test_what_else_depends_on_the_seed_is_refused(cls: Any) -> None:
    with pytest.raises(parallel_pool.SourceError, match="seed"):
        parallel_pool.compile(cls)
