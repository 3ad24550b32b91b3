"""Environments that wait in their steps are noticed, and nothing else is taken for them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import parallel_pool
from parallel_pool._tracing.core_waits import cpu_of, wait_of
from parallel_pool._workers.run import step_waits
from parallel_pool._workers.run.step_waits import StepWaits
from parallel_pool.errors import SlowWorkerWarning
from tests.support.sampling import sampled

MS = 10**6


class Clocks:
    """Makes up what a pool's calls and its two workers take."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.times = 0, [(0, 0), (0, 0)]
        monkeypatch.setattr(step_waits.time, "perf_counter_ns", lambda: self.now)
        monkeypatch.setattr(step_waits, "worker_times", lambda pids: list(self.times))
        monkeypatch.setattr(step_waits.lib, "pp_usable_cores", lambda text: 2, raising=False)

    def call(self, wall: float, cpu: float = 0.0, waited: float = 0.0) -> None:
        """A call of `wall` ms, in which each worker runs and waits for a core so many ms."""
        self.now += round(wall * MS)
        self.times = [
            (own + round(cpu * MS), lost + round(waited * MS)) for own, lost in self.times
        ]

    def warnings_of(self, calls: Iterable[tuple[float, ...]]) -> list[str]:
        """Returns what is said of calls of a pool with 8 environments in 2 workers."""
        waits = StepWaits(8, 2)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for call in calls:
                convert: Callable[[Any], Any] = repr
                if waits.is_due():
                    convert = waits.watched(list, convert)
                self.call(*call)
                convert(())
        assert all(each.category is SlowWorkerWarning for each in found)
        return [str(each.message) for each in found]


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    # C's functions can't be replaced one by one
    class Lib:
        pass

    monkeypatch.setattr(step_waits, "lib", Lib())
    return Clocks(monkeypatch)


def test_environments_that_wait(clocks: Clocks) -> None:
    (said,) = clocks.warnings_of([(200.0, 4.0)] * 1000)
    assert "wait for 98% of a step of 200 ms" in said
    assert "8 of them share 2 worker processes: num_workers=8 is expected" in said
    assert "up to 4.0 times as fast" in said and "SlowWorkerWarning) silences" in said


def test_what_computes_too_gains_less(clocks: Clocks) -> None:
    """Two workers ran 60 ms each, and two cores can't do that in less than 60 ms."""
    (said,) = clocks.warnings_of([(200.0, 60.0)] * 100)
    assert "up to 3.3 times as fast" in said


@pytest.mark.parametrize(
    "calls",
    [
        # environments that compute
        [(200.0, 190.0)] * 100,
        # a busy machine: the workers could have run
        [(200.0, 10.0, 180.0)] * 100,
        # steps too short to gain
        [(1.0, 0.1)] * 10_000,
        # someone stopped a worker, or the whole machine, for a while
        [*[(20.0, 19.0)] * 6, (60_000.0, 1.0), *[(20.0, 19.0)] * 100],
        # waits at the start only
        [*[(500.0, 1.0)] * 4, *[(20.0, 19.0)] * 100],
    ],
    ids=["computing", "busy machine", "short", "stopped", "slow start"],
)
def test_nothing_else_is_taken_for_waiting(calls: Any, clocks: Clocks) -> None:
    assert clocks.warnings_of(calls) == []


def test_a_later_series_notices_it_too(clocks: Clocks) -> None:
    assert len(clocks.warnings_of([*[(20.0, 19.0)] * 30, *[(200.0, 2.0)] * 200])) == 1


def test_few_calls_are_watched(clocks: Clocks) -> None:
    watched = 0
    waits = StepWaits(8, 2)
    for _ in range(20_000):
        if waits.is_due():
            watched += 1
            convert = waits.watched(list, repr)
            clocks.call(20.0, 19.0)
            convert(())
    assert 8 <= watched <= 60


def test_unknown_times_and_exceptions_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = StepWaits(8, 2)
    assert waits.watched(lambda: [None, None], lambda views: 3)(()) == 3
    with pytest.raises(KeyError):
        waits.watched(list, {}.__getitem__)(())


def test_clocks_of_a_process() -> None:
    import os

    first = cpu_of(os.getpid())
    while time.process_time() < 0.01:
        pass
    sum(range(10**5))
    then = cpu_of(os.getpid())
    assert first is not None and then is not None and then > first
    assert abs(then - time.process_time_ns()) < 10**9
    assert wait_of(os.getpid()) is not None
    # no process has this number
    assert cpu_of(2**22 + 1) is None


class Waits(gymnasium.Env[Any, Any]):
    """Returns the same at every step."""

    observation_space: ClassVar[Any] = spaces.Box(0, 1, (1,))
    action_space: ClassVar[Any] = spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), 0.0, False, False, {}


# functions: the workers import this module too, and would load torch
APIS: dict[str, Callable[..., Any]] = {
    "gymnasium": lambda *args, **kwargs: parallel_pool.PoolVectorEnv(*args, **kwargs),
    "sb3": lambda *args, **kwargs: parallel_pool.PoolVecEnv(*args, **kwargs),
}


@pytest.mark.parametrize("api", sampled(APIS, {"gymnasium"}))
def test_a_pool_warns_its_caller(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if its workers never ran."""
    monkeypatch.setattr(step_waits, "worker_times", lambda pids: [(0, 0)] * len(pids))
    monkeypatch.setattr(step_waits, "MIN_CALL_NS", 0)
    with closing(APIS[api]([Waits] * 4, num_workers=2)) as envs:
        envs.reset()
        with pytest.warns(SlowWorkerWarning, match="num_workers=4 is expected") as found:
            for _ in range(20):
                envs.step(np.zeros(4, np.int64))
    # the caller's line; that of Stable-Baselines3 calls twice
    (where,) = [each.filename for each in found]
    assert where == __file__ if api == "gymnasium" else "stable_baselines3" in where


@pytest.mark.quick(1)
@pytest.mark.parametrize("num_workers", [0, 4])
def test_pools_that_gain_nothing_are_not_watched(
    num_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StepWaits, "is_due", partial(pytest.fail, "watched"))
    with closing(parallel_pool.PoolVectorEnv([Waits] * 4, num_workers=num_workers)) as envs:
        envs.reset()
        envs.step([0] * 4)
