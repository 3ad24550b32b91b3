"""Workers that die, and environments that raise or hang, as the user of a pool meets them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool.errors import EnvError, PoolTimeoutError, StateError, WorkerError
from parallel_pool.workers.messages import INFO
from parallel_pool.workers.process_pool import ProcessPool

LIMIT = 60.0


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """A test that hangs fails."""

    def fail(*_: Any) -> None:
        raise AssertionError(f"not done within {LIMIT} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


class Counting(gymnasium.Env[Any, Any]):
    """Shows how many steps it has made, and does what `trouble` says at the one called `when`."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, trouble: Callable[[], Any] | None = None, when: int = 3) -> None:
        self.trouble, self.when = trouble, when
        self.steps = self.first = 0

    def _show(self) -> Any:
        return np.array([self.steps, self.first], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        self.first = int(self.np_random.integers(1000)) if seed is not None else -1
        return self._show(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.trouble is not None and self.steps == self.when:
            self.trouble()
        return self._show(), 1.0, False, False, {}


def raise_with_percent() -> None:
    raise KeyError("what %d is %s")


def segfault() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def sleep_for_ever() -> None:
    time.sleep(1e6)


def pool_of(trouble: Callable[[], Any] | None, **options: Any) -> ProcessPool:
    """Four environments in two workers, of which number 2 has trouble."""
    env_fns: list[Callable[[], Any]] = [Counting, Counting, lambda: Counting(trouble), Counting]
    return ProcessPool(env_fns, num_workers=2, start_method="fork", **options)


ACTIONS = np.zeros(4, np.int64)


def worker_of(pool: ProcessPool, lane: int) -> Any:
    worker = pool._crew._workers[lane]
    assert worker is not None
    return worker


def test_an_environment_that_raises_is_told_as_it_raised() -> None:
    with pool_of(raise_with_percent) as pool:
        pool.reset(seed=0)
        pool.step(ACTIONS)
        pool.step(ACTIONS)
        with pytest.raises(KeyError, match="what %d is %s") as caught:
            pool.step(ACTIONS)
        cause = caught.value.__cause__
        assert isinstance(cause, EnvError)
        assert cause.env_ids == (2,)
        assert "raise_with_percent" in str(cause)
        np.testing.assert_array_equal(cause.batch[0][:, 0], [3, 3, 0, 3])
        # it begins another episode, the others go on
        np.testing.assert_array_equal(pool.step(ACTIONS)[0][:, 0], [4, 4, 0, 4])


def test_one_that_ends_programs_does_not_end_this_one() -> None:
    with pool_of(sys.exit) as pool:
        pool.reset(seed=0)
        with pytest.raises(EnvError, match=r"environment 2 .*SystemExit"):
            for _ in range(3):
                pool.step(ACTIONS)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [(lambda: os._exit(3), "exit code 3"), (segfault, "SIGSEGV")],
    ids=["exit", "segfault"],
)
def test_a_worker_that_dies_is_named(trouble: Callable[[], Any], said: str) -> None:
    with pool_of(trouble) as pool:
        pool.reset(seed=0)
        with pytest.raises(WorkerError, match=rf"environment 2.*{said}.*environment 2") as caught:
            for _ in range(3):
                pool.step(ACTIONS)
        assert caught.value.env_ids == (2, 3)
        np.testing.assert_array_equal(caught.value.batch[0][:2, 0], [3, 3])
        with pytest.raises(StateError, match="worker process of environment 2 has died"):
            pool.step(ACTIONS)


def test_an_environment_that_hangs_is_waited_for_or_killed() -> None:
    with pool_of(sleep_for_ever) as pool:
        pool.reset(seed=0)
        pool.step(ACTIONS)
        pool.step(ACTIONS)
        with pytest.raises(PoolTimeoutError):
            pool.step(ACTIONS, timeout=0.2)
        pool.close(grace=0.1)
    with pool_of(sleep_for_ever, timeout=0.5) as pool:
        pool.reset(seed=0)
        with pytest.raises(WorkerError, match=r"environment 2 took longer than timeout=0\.5 s"):
            for _ in range(3):
                pool.step(ACTIONS)


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_environments_of_a_killed_worker_come_back(autoreset: str) -> None:
    with pool_of(None, on_error="restart", autoreset=autoreset) as pool:
        pool.reset(seed=0)
        # more often than a worker that brings nothing is replaced
        for _ in range(6):
            for _ in range(3):
                last = pool.step(ACTIONS)
            worker = worker_of(pool, 1)
            os.kill(worker.pid, signal.SIGKILL)
            told = batch = last
            while not batch[3].any():
                last, batch = batch, pool.step(ACTIONS)
                told = batch
            seeds = [pool.replies()[env_id][INFO]["restart_seed"] for env_id in (2, 3)]
            np.testing.assert_array_equal(told[1], [1, 1, 0, 0])
            np.testing.assert_array_equal(told[2], [False] * 4)
            np.testing.assert_array_equal(told[3], [False, False, True, True])
            if autoreset == "next_step":
                np.testing.assert_array_equal(told[0][2:], last[0][2:])
                first = pool.step(ACTIONS)[0]
            else:
                first = told[0]
            np.testing.assert_array_equal(first[2:, 0], [0, 0])
            for seed, shown in zip(seeds, first[2:, 1], strict=True):
                assert Counting().reset(seed=seed)[0][1] == shown
            while pool._crew._workers[1] in (None, worker):
                pool.step(ACTIONS)


def test_a_worker_that_dies_again_and_again_is_replaced() -> None:
    with pool_of(lambda: os._exit(1), on_error="restart") as pool:
        pool.reset(seed=0)
        # at its third step each time: two brought results, so it is not given up
        for _ in range(25):
            pool.step(ACTIONS)
