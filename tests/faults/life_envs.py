"""Environments that count their steps and fail when an action says so, and helpers for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from parallel_pool._workers.data.messages import OBSERVATION
from parallel_pool._workers.process_pool import ProcessPool

MODES = ("next_step", "same_step", "disabled")
# actions: a normal step, or a step that calls `trouble`
CALM, TROUBLE = 0, 1


class Life(gymnasium.Env[Any, Any]):
    """Observes the number of its steps and a number that it draws at each reset.

    Args:
        trouble: called with the environment at a step with the action TROUBLE; a result that is not
            None is returned by step.
        at_reset: called with the environment at the start of every reset.
        is_text: whether observations are strings, which are sent as objects instead of columns.
        length: number of steps after which an episode is terminated.
    """

    action_space = spaces.Discrete(2)

    def __init__(
        self,
        trouble: Callable[[Life], Any] | None = None,
        at_reset: Callable[[Life], Any] | None = None,
        is_text: bool = False,
        length: int = 10**6,
    ) -> None:
        box = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.observation_space: Any = spaces.Text(99) if is_text else box
        self.trouble, self.at_reset, self.is_text = trouble, at_reset, is_text
        self.steps = self.drawn = 0
        self.length = length
        # infos of each step
        self.info: Any = {}

    def show(self) -> Any:
        return f"{self.steps}, {self.drawn}" if self.is_text else np.array([self.steps, self.drawn])

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if self.at_reset is not None:
            self.at_reset(self)
        self.steps, self.drawn = 0, int(self.np_random.integers(10**6))
        return self.show(), {}

    def step(self, action: Any) -> Any:
        if action == TROUBLE and self.trouble is not None:
            result = self.trouble(self)
            if result is not None:
                return result
        self.steps += 1
        return self.show(), 1.0, self.steps >= self.length, False, self.info


class Lost(Exception):
    """The exception that these environments raise."""


def lose(env: Life) -> None:
    # the state differs from the last observation
    env.steps += 100
    raise Lost(f"at step {env.steps}")


def lives(make: Callable[[], Life], count: int = 4) -> list[Any]:
    """Returns env_fns; environment 1 is made by `make`, the others are `Life`."""
    return [make if i == 1 else Life for i in range(count)]


def texts(make: Callable[..., Life], count: int = 4) -> list[Any]:
    """Returns such env_fns of environments whose observations are strings."""
    return [partial(make if i == 1 else Life, is_text=True) for i in range(count)]


def pool_of(env_fns: list[Any], **kwargs: Any) -> ProcessPool:
    """Makes a pool of two workers, with environments 0 and 1 in the first."""
    return ProcessPool(
        env_fns, num_workers=2, **{"start_method": "fork", "on_error": "restart", **kwargs}
    )


def quote(pool: ProcessPool, batch: Any) -> Any:
    """Returns each environment's observation as (steps, drawn), None where there is none."""
    if pool.leaves is not None:
        return [tuple(map(int, row)) for row in batch[0]]
    replies = pool.replies()
    return [
        tuple(map(int, replies[i][OBSERVATION].split(","))) if OBSERVATION in replies[i] else None
        for i in range(pool.num_envs)
    ]


def flags(pool: ProcessPool, batch: Any) -> list[tuple[float, bool, bool]]:
    """Returns (reward, terminated, truncated) of each row."""
    names = [c.name for c in pool.columns]
    columns = [batch[names.index(name)] for name in ("reward", "terminated", "truncated")]
    return [tuple(column[i].item() for column in columns) for i in range(len(batch[0]))]


def first_of(seed: int) -> tuple[int, int]:
    """Returns the observation of a new environment after a reset with this seed."""
    env = Life()
    env.reset(seed=seed)
    return 0, env.drawn


ALL = np.full(4, CALM)
ONE = np.array([CALM, TROUBLE, CALM, CALM])
