"""Environments that fail at a chosen step, and helpers of the tests that use them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.testing import inspect
from tests.support.timeouts import wait_for

# columns of a batch
OBS, REWARD, TERMINATED, TRUNCATED, ENV_ID = range(5)
ACTIONS = np.zeros(4, np.int64)

Trouble = Callable[[], Any]

# PYTHONWARNINGS of programs that must print nothing: on a busy machine workers take long to end
QUIET = "ignore:closing the pool"


class Counting(gymnasium.Env[Any, Any]):
    """Observes the number of its steps and the first draw of its generator (-1: unseeded).

    It calls `trouble` at its step or reset (`at`) number `when`.
    """

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, trouble: Trouble | None = None, when: int = 3, at: str = "step") -> None:
        self.trouble, self.when, self.at = trouble, when, at
        self.steps = self.first = self.resets = 0

    def _show(self) -> Any:
        return np.array([self.steps, self.first], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.resets += 1
        self.steps = 0
        self.first = int(self.np_random.integers(1000)) if seed is not None else -1
        if self.trouble is not None and (self.at, self.when) == ("reset", self.resets):
            self.trouble()
        return self._show(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.trouble is not None and (self.at, self.when) == ("step", self.steps):
            self.trouble()
        return self._show(), 1.0, False, False, {}


def first_of(seed: int) -> float:
    """Returns the first draw that `Counting` observes after a reset with this seed."""
    return float(Counting().reset(seed=seed)[0][1])


class WaitFor:
    """Waits until a file exists."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self) -> None:
        while not self.path.exists():
            time.sleep(0.002)


class InTurn:
    """Calls the n-th of some functions at its n-th call, counted over all processes.

    Later calls do nothing.
    """

    def __init__(self, path: Path, *functions: Callable[[], Any]) -> None:
        self.path, self.functions = path, functions

    @property
    def calls(self) -> int:
        return len(self.path.read_bytes()) if self.path.exists() else 0

    def __call__(self) -> Any:
        with self.path.open("ab") as file:
            file.write(b".")
        if self.calls <= len(self.functions):
            self.functions[self.calls - 1]()


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep_for_ever() -> None:
    time.sleep(1e6)


def nothing() -> None:
    pass


def pool_of(
    trouble: Trouble | None = None, when: int = 3, at: str = "step", **options: Any
) -> ProcessPool:
    """Makes a pool of four environments in two workers; environment 2 has the trouble."""
    env_fns: list[Callable[[], Any]] = [Counting] * 4
    env_fns[2] = lambda: Counting(trouble, when, at)
    return ProcessPool(env_fns, **{"num_workers": 2, "start_method": "fork", **options})


def pid_of(pool: ProcessPool, lane: int) -> int:
    """Returns the process id of a lane's worker, which it must have."""
    pid = pool.worker_pids[lane]
    assert pid is not None
    return pid


def kill(pool: ProcessPool, lane: int) -> None:
    """Kills a worker, and returns when the pool has completed its rows in flight."""
    pid = pid_of(pool, lane)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: (death := inspect(pool).deaths.get(lane)) and death.pid == pid)


def until_stepping(pool: ProcessPool, env_id: int) -> None:
    """Waits until a worker steps the environment."""
    wait_for(lambda: env_id in inspect(pool).stepping)


def is_whole(pool: ProcessPool) -> bool:
    """Returns whether every lane has a worker that is ready."""
    found = inspect(pool)
    return None not in found.worker_pids and not found.restarting


def until_restarted(pool: ProcessPool) -> None:
    """Waits until every lane has a worker."""
    wait_for(partial(is_whole, pool))
