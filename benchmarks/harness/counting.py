"""The environment of the soak test: it counts its own steps, and some kinds of it crash."""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

# The columns of `count`. A life is one Python object: a restarted environment has a new one. TOTAL
# counts all calls of reset and step in a life, each of which must be one row. ACTION is the last
# action, -1 after a reset.
PID, LIFE, TOTAL, EPISODE, STEP, ACTION = range(6)

ACTIONS = 7
# No life crashes within this many calls.
SAFE_CALLS = 20


class Crash(Exception):
    """The exception of environments of the kind "raises"."""


def nothing() -> None:
    """Does nothing."""


def fail() -> None:
    """Fails as Python code does."""
    raise Crash("a crash of the soak test")


def exit_process() -> None:
    """Ends the process as a crash in native code does."""
    os._exit(3)


# What each kind does when a crash is due; environments get the kinds in turn.
KINDS: dict[str, Callable[[], None]] = {
    "steady": nothing,
    "raises": fail,
    "exits": exit_process,
    # has an info that is a string
    "talks": nothing,
}


class Counting(gymnasium.Env[Any, Any]):
    """Shows its process, its counts, its last action, and a picture of one shade.

    If a picture has two shades, it was read while it was being written.
    """

    observation_space = gymnasium.spaces.Dict(
        {
            "count": gymnasium.spaces.Box(-1, 2**62, (6,), np.int64),
            "picture": gymnasium.spaces.Box(0, 255, (24, 24), np.uint8),
        }
    )
    action_space = gymnasium.spaces.Discrete(ACTIONS)

    def __init__(self, index: int, kind: str, crash_every: int) -> None:
        self.life = int.from_bytes(os.urandom(7), "little") + 1
        self.total = 0
        self._index, self._kind = index, kind
        self._episode = self._step = 0
        self._crash = KINDS[kind]
        # the number of calls before the one that crashes
        self._last = SAFE_CALLS + int(random.Random(self.life).expovariate(1 / crash_every))

    @property
    def pid(self) -> int:
        """The process of this environment."""
        return os.getpid()

    def _show(self, action: int) -> tuple[dict[str, Any], dict[str, Any]]:
        self.total += 1
        if self.total > self._last:
            self._crash()
        counts = (self.pid, self.life, self.total, self._episode, self._step, action)
        obs = {
            "count": np.array(counts, np.int64),
            "picture": np.full((24, 24), self.total & 255, np.uint8),
        }
        info: dict[str, Any] = {"total": self.total}
        if self._kind == "talks":
            info["said"] = f"{self.life}: {self.total}"
        return obs, info

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._episode += 1
        self._step = 0
        return self._show(-1)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._step += 1
        obs, info = self._show(int(action))
        # episodes have 10 to 99 steps; every other one is truncated
        is_over = self._step >= 10 + (7 * self._episode + self._index) % 90
        is_truncated = is_over and self._episode % 2 == 1
        return obs, float(self._step), is_over and not is_truncated, is_truncated, info


def factories(count: int, crash_every: int) -> list[Callable[[], Counting]]:
    """Returns functions that make environments, of each kind in turn."""
    kinds = list(KINDS)
    return [
        functools.partial(Counting, i, kinds[i % len(kinds)], crash_every) for i in range(count)
    ]
