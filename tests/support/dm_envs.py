"""Small dm_env environments, for tests of those in worker processes."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import dm_env
import numpy as np
from dm_env import specs

Pair = namedtuple("Pair", ["left", "right"])


class Walk(dm_env.Environment):  # type: ignore[misc]
    """A random walk whose episodes end with discount 0, 0.5 or 1.

    Attributes:
        actions: those of the current episode, as they arrived.
        level: an attribute that users may set.
    """

    def __init__(self, random: Any = None) -> None:
        self._random = np.random.RandomState(random)
        self._begins = True
        self.actions: list[Any] = []
        self.level = 1
        self.is_closed = False

    def observation_spec(self) -> Any:
        return OrderedDict(
            walk=specs.BoundedArray((2,), np.float64, [-9, -99], 99, name="walk"),
            clock=specs.DiscreteArray(9, np.int32),
            parts=(specs.Array((), np.float32), [specs.Array((1, 2), np.uint8)]),
            pair=Pair(specs.Array((), bool), OrderedDict(deep=specs.Array((3,), np.int64))),
        )

    def action_spec(self) -> Any:
        return specs.BoundedArray((2,), np.float32, -1, 1)

    def reset(self) -> dm_env.TimeStep:
        self._begins = False
        self._place = self._random.uniform(size=2)
        self._limit = self._random.randint(2, 9)
        self.actions = []
        return dm_env.restart(self._observation())

    def step(self, action: Any) -> dm_env.TimeStep:
        if self._begins:
            return self.reset()
        self.actions.append(action)
        self._place += self._random.normal(size=2) + action * self.level
        reward = float(self._place[0])
        if len(self.actions) < self._limit:
            return dm_env.transition(reward, self._observation(), 0.9)
        self._begins = True
        discount = [0.0, 0.5, 1.0][self._limit % 3]
        return dm_env.truncation(reward, self._observation(), discount)

    def _observation(self) -> Any:
        clock = len(self.actions)
        return OrderedDict(
            walk=self._place.copy(),
            clock=clock,
            parts=(0.25 * clock, [np.full((1, 2), clock, np.uint8)]),
            pair=Pair(clock % 2 == 0, {"deep": np.arange(3) + clock}),
        )

    def close(self) -> None:
        self.is_closed = True


class Vector(Walk):
    """A walk that shows one array, and takes one of three actions."""

    def observation_spec(self) -> Any:
        return specs.BoundedArray((2,), np.float64, -99, 99)

    def action_spec(self) -> Any:
        return specs.DiscreteArray(3)

    def _observation(self) -> Any:
        return self._place.copy()


class Fixed(Vector):
    """Has given specs and results, and no generator."""

    def __init__(self, step: Any = None, **given: Any) -> None:
        """Takes what `step` returns, and by name what other methods return."""
        super().__init__()
        self._random = None
        self._step, self._given = step, given

    def reset(self) -> Any:
        return self._given.get("reset", dm_env.restart(np.zeros(2)))

    def step(self, action: Any) -> Any:
        return self._step

    def observation_spec(self) -> Any:
        return self._given.get("observation_spec", super().observation_spec())

    def action_spec(self) -> Any:
        return self._given.get("action_spec", super().action_spec())

    def reward_spec(self) -> Any:
        return self._given.get("reward_spec", super().reward_spec())

    def discount_spec(self) -> Any:
        return self._given.get("discount_spec", super().discount_spec())


class Wrapper(dm_env.Environment):  # type: ignore[misc]
    """Passes everything on, as wrappers of dm_control and acme do, and holds a generator."""

    def __init__(self, env: Any) -> None:
        self._environment = env
        self._noise = np.random.default_rng()

    def reset(self) -> Any:
        return self._environment.reset()

    def step(self, action: Any) -> Any:
        result = self._environment.step(action)
        return result._replace(reward=(result.reward or 0.0) + self._noise.uniform())

    def observation_spec(self) -> Any:
        return self._environment.observation_spec()

    def action_spec(self) -> Any:
        return self._environment.action_spec()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)


class Moody(Vector):
    """Raises when it gets action 2."""

    def step(self, action: Any) -> Any:
        if action == 2:
            raise ArithmeticError("no 2")
        return super().step(action)


def functions(kind: Callable[[], Any], count: int) -> list[Callable[[], Any]]:
    return [kind] * count
