"""The environments of the scenes on worker processes: Python objects of a known cost.

The file imports only Gymnasium and NumPy and works with old versions of both, as the processes of
rivals load it too.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

CART_POLE = "CartPole-v1"
IMAGE, IMAGE_TURNS = "Image50us", "Image50usTurns"
EXPONENTIAL, EXPONENTIAL_TURNS = "Exponential1ms", "Exponential1msTurns"

EPISODE = 1000
# The environment variable through which processes inherit the value that the first one measured, so
# that all steps are the same work.
TURNS_PER_US = "PARALLEL_POOL_BENCH_TURNS_PER_US"

# `burn` or `spend`.
Work = Callable[[float], None]


def burn(turns: float) -> None:
    """Keeps a core busy with this many turns of an empty loop: a fixed number of instructions."""
    for _ in itertools.repeat(None, int(turns)):
        pass


def spend(seconds: float) -> None:
    """Keeps a core busy for this much of the thread's CPU time, however fast the core is."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@functools.cache
def turns_per_us() -> float:
    """Returns the turns of `burn` per microsecond of CPU time, measured once for all processes."""
    known = os.environ.get(TURNS_PER_US)
    if known:
        return float(known)
    turns, took = 20_000, []
    for _ in range(50):
        start = time.thread_time()
        burn(turns)
        took.append(time.thread_time() - start)
    # the minimum, as interrupts only add time
    found = turns / min(took) / 1e6
    os.environ[TURNS_PER_US] = repr(found)
    return found


class Image(gymnasium.Env[Any, Any]):
    """Works, then returns 84 x 84 x 4 bytes: a copy of one of four pictures."""

    SHAPE = (84, 84, 4)
    observation_space = gymnasium.spaces.Box(0, 255, SHAPE, np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, work: Work, amount: float, seed: int) -> None:
        self._work, self._amount = work, amount
        draw = np.random.default_rng(seed).integers
        self._pictures = draw(256, size=(4, *self.SHAPE), dtype=np.uint8)
        self._steps = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        return self._pictures[0].copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._work(self._amount)
        self._steps += 1
        picture = self._pictures[self._steps % len(self._pictures)].copy()
        return picture, 1.0, False, self._steps >= EPISODE, {}


class Exponential(gymnasium.Env[Any, Any]):
    """Works for a time drawn from an exponential distribution, as a simulator with contacts does.

    The times depend on the seed of the constructor, not on those that a vectoriser passes to
    `reset`, so that all vectorisers do the same steps.
    """

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (8,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, work: Work, amount: float, seed: int) -> None:
        self._work = work
        drawn = np.random.default_rng(seed).exponential(amount, EPISODE)
        self._amounts: list[float] = drawn.tolist()
        self._rows = np.random.default_rng(seed).normal(size=(EPISODE, 8)).astype(np.float32)
        self._steps = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        return self._rows[0].copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        steps = self._steps
        self._work(self._amounts[steps])
        self._steps = steps + 1
        return self._rows[steps].copy(), 1.0, False, self._steps >= EPISODE, {}


@dataclass(frozen=True)
class Cost:
    """The cost of a step: `work` for this many microseconds."""

    kind: Callable[[Work, float, int], gymnasium.Env[Any, Any]]
    work: Work
    us: float

    def amount(self) -> float:
        """Returns the argument of `work`: turns as measured here, or seconds."""
        return round(self.us * turns_per_us()) if self.work is burn else self.us / 1e6


COSTS = {
    IMAGE: Cost(Image, spend, 50.0),
    IMAGE_TURNS: Cost(Image, burn, 50.0),
    EXPONENTIAL: Cost(Exponential, spend, 1000.0),
    EXPONENTIAL_TURNS: Cost(Exponential, burn, 1000.0),
}


def make(name: str, amount: float, seed: int) -> gymnasium.Env[Any, Any]:
    """Makes one environment; Gymnasium's have the wrappers of `gymnasium.make`."""
    if name in COSTS:
        return COSTS[name].kind(COSTS[name].work, amount, seed)
    return gymnasium.make(name)


def factories(name: str, count: int) -> list[Callable[[], gymnasium.Env[Any, Any]]]:
    """Returns functions that make environments; they can be pickled and hold the work of a step."""
    amount = COSTS[name].amount() if name in COSTS else 0
    return [functools.partial(make, name, amount, seed) for seed in range(count)]
