"""The environments of the scenes on worker processes: Python objects, each of a known cost.

Only Gymnasium and NumPy are imported, of whatever version: the rivals' own processes load this too.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

CART_POLE, IMAGE, EXPONENTIAL = "CartPole-v1", "Image50us", "Exponential1ms"

EPISODE = 1000
# processes inherit what the first one has found, so that everybody's steps are the same work
TURNS_PER_US = "PARALLEL_POOL_BENCH_TURNS_PER_US"


def burn(turns: int) -> None:
    """Keeps a core busy: an empty loop in Python, always of the same instructions."""
    for _ in itertools.repeat(None, turns):
        pass


@functools.cache
def turns_per_us() -> float:
    """Turns of `burn` in a microsecond of thread CPU time, measured once for all processes."""
    known = os.environ.get(TURNS_PER_US)
    if known:
        return float(known)
    turns, took = 20_000, []
    for _ in range(50):
        start = time.thread_time()
        burn(turns)
        took.append(time.thread_time() - start)
    # the quickest: interrupts only ever add
    found = turns / min(took) / 1e6
    os.environ[TURNS_PER_US] = repr(found)
    return found


class Image(gymnasium.Env[Any, Any]):
    """Shows 84 x 84 x 4 bytes after so many turns of work: a copy of one of a few pictures."""

    observation_space = gymnasium.spaces.Box(0, 255, (84, 84, 4), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, turns: int, seed: int) -> None:
        self._turns = turns
        shape = (4, *self.observation_space.shape)
        self._pictures = np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)
        self._steps = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        return self._pictures[0].copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        burn(self._turns)
        self._steps += 1
        picture = self._pictures[self._steps % len(self._pictures)].copy()
        return picture, 1.0, False, self._steps >= EPISODE, {}


class Exponential(gymnasium.Env[Any, Any]):
    """Works for a time drawn from an exponential distribution, as a simulator with contacts does.

    Its own seed decides the times, whatever seeds a vectoriser hands to `reset`, so that everybody
    has the same steps to do.
    """

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (8,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, turns: int, seed: int) -> None:
        drawn = np.random.default_rng(seed).exponential(turns, EPISODE)
        self._turns: list[int] = drawn.astype(int).tolist()
        self._rows = np.random.default_rng(seed).normal(size=(EPISODE, 8)).astype(np.float32)
        self._steps = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        return self._rows[0].copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        steps = self._steps
        burn(self._turns[steps])
        self._steps = steps + 1
        return self._rows[steps].copy(), 1.0, False, self._steps >= EPISODE, {}


# what a step takes, in microseconds
COSTS = {IMAGE: (Image, 50.0), EXPONENTIAL: (Exponential, 1000.0)}


def make(name: str, turns: int, seed: int) -> gymnasium.Env[Any, Any]:
    """Makes one environment; Gymnasium's have all the wrappers of `gymnasium.make`."""
    if name in COSTS:
        return COSTS[name][0](turns, seed)
    return gymnasium.make(name)


def factories(name: str, count: int) -> list[Callable[[], gymnasium.Env[Any, Any]]]:
    """Returns functions that make environments; they can be pickled, and carry the work of a step
    with them."""
    turns = round(COSTS[name][1] * turns_per_us()) if name in COSTS else 0
    return [functools.partial(make, name, turns, seed) for seed in range(count)]
