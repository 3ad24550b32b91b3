"""`parallel_pool.testing.inspect`: what it tells of the pools and environments of every API."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import closing
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import gymnasium
import numpy as np
import pytest

from parallel_pool import Pool, testing
from parallel_pool._engine.sharing import share
from parallel_pool._tracing import opened
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.errors import ForkedError, PoolTimeoutError
from parallel_pool.testing import inspect
from tests.contract.api_cases import CASES, Case, of_each
from tests.contract.small_envs import Gate
from tests.faults.failing_envs import (
    ACTIONS,
    Counting,
    InTurn,
    WaitFor,
    kill,
    nothing,
    pool_of,
    until_restarted,
    until_stepping,
)
from tests.support.forked import in_child
from tests.support.timeouts import has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")


@pytest.mark.quick(2, sanitizers=True)
@of_each(CASES)
def test_the_pool_of_every_api_is_found(
    case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pools: list[Any] = []
    monkeypatch.setattr(opened, "listeners", [pools.append])
    with closing(case.make(Gate(tmp_path))) as env:
        case.kind.start(env)
        found = inspect(env)
        assert [found.pool] == pools
        assert found.state == "idle" and found.in_flight == pools[0].in_flight
        assert len(found.worker_pids) == getattr(pools[0], "num_workers", 0)
        assert not found.deaths and not found.lost and not found.restarting
    assert inspect(env).state == "closed"


def test_a_wrapped_environment_is_inspected_too() -> None:
    envs = gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="parallel_pool")
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    assert inspect(wrapped).pool is inspect(envs).pool
    wrapped.close()


@pytest.mark.parametrize("source", [None, "CartPole-v1", [1], MagicMock()])
def test_what_has_no_pool_is_refused(source: Any) -> None:
    with pytest.raises(TypeError, match=r"an? \w+ has no pool in this process: give a Pool"):
        inspect(source)
    with (
        closing(gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync")) as envs,
        pytest.raises(TypeError, match="a SyncVectorEnv has no pool"),
    ):
        inspect(envs)


@pytest.mark.sanitizers
def test_it_is_a_view_of_one_moment() -> None:
    assert {"Inspection", "inspect"} <= set(dir(testing))
    with pool_of() as pool:
        before = inspect(pool)
        with pytest.raises(FrozenInstanceError):
            before.state = "closed"  # type: ignore[misc]
        kill(pool, 0)
        assert before.deaths == {} and list(inspect(pool).deaths) == [0]


def test_worker_pids_are_those_of_the_processes() -> None:
    with pool_of(on_error="restart") as pool:
        first = pool.worker_pids
        assert tuple(pool.apply(lambda env: os.getpid(), [0, 2])) == first
        kill(pool, 1)
        until_restarted(pool)
        assert tuple(pool.apply(lambda env: os.getpid(), [0, 2])) == pool.worker_pids
        assert pool.worker_pids[0] == first[0] and pool.worker_pids[1] != first[1]
        assert inspect(pool).worker_pids == pool.worker_pids
        last = pool.worker_pids
    assert pool.worker_pids == (None, None)
    assert all(pid is not None and has_ended(pid) for pid in last)
    with Pool("CartPole-v1", 2) as native:
        assert native.worker_pids == ()


def test_a_death_and_why_the_lane_gets_no_other_worker_are_told() -> None:
    with pool_of() as pool:
        kill(pool, 1)
        found = inspect(pool)
        assert found.deaths[1].exitcode == -signal.SIGKILL
        assert found.lost == {1: str(found.deaths[1])} and found.restarting == ()
        assert found.worker_pids[0] is not None and found.worker_pids[1] is None


@pytest.mark.sanitizers
def test_a_restart_is_told_until_the_worker_is_ready(tmp_path: Path) -> None:
    release = tmp_path / "release"
    made = InTurn(tmp_path / "made", nothing, WaitFor(release))

    def make() -> Any:
        made()
        return Counting()

    with ProcessPool([Counting, make], start_method="fork", on_error="restart") as pool:
        kill(pool, 1)
        wait_for(lambda: made.calls == 2)
        found = inspect(pool)
        assert list(found.deaths) == [1] and not found.lost and found.restarting == (1,)
        assert found.worker_pids[0] is not None and found.worker_pids[1] is None
        release.touch()
        until_restarted(pool)
        found = inspect(pool)
        assert list(found.deaths) == [1] and not found.lost and found.restarting == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["supervisor", "watcher", "worker 0", "worker 1"])
def test_a_lock_is_that_of_the_pool(name: str) -> None:
    """A death is not recorded while it is held, but for the lock of another worker."""
    with pool_of() as pool:
        locks = inspect(pool).locks
        assert sorted(locks) == ["supervisor", "watcher", "worker 0", "worker 1"]
        with locks[name]:
            os.kill(pool.worker_pids[1] or 0, signal.SIGKILL)
            if name == "worker 0":
                wait_for(lambda: 1 in inspect(pool).deaths)
            else:
                time.sleep(0.1)
                assert not inspect(pool).deaths
        wait_for(lambda: 1 in inspect(pool).deaths)


@pytest.mark.slow
def test_what_is_stepped_and_received_is_told(tmp_path: Path) -> None:
    release = tmp_path / "release"
    with pool_of(WaitFor(release), 1) as pool:
        pool.reset(seed=0)
        wait_for(lambda: inspect(pool).stepping == ())
        pool.send(ACTIONS)
        until_stepping(pool, 2)
        wait_for(lambda: inspect(pool).stepping == (2,))
        assert (inspect(pool).state, inspect(pool).in_flight) == ("idle", 4)
        thread = threading.Thread(target=pool.recv)
        thread.start()
        wait_for(lambda: inspect(pool).state == "receiving")
        release.touch()
        thread.join()
        assert (inspect(pool).state, inspect(pool).in_flight) == ("idle", 0)
        pool.send(ACTIONS)

        def interrupt(views: Any) -> Any:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pool.recv_as(interrupt)
        assert (inspect(pool).state, inspect(pool).in_flight) == ("interrupted", 4)
        pool.recv()
        assert inspect(pool).state == "idle"


@pytest.mark.sanitizers
def test_what_threads_step_is_told() -> None:
    options = {"sleep_ms": 2000}
    with Pool("test/Fault-v0", 1, num_threads=1, options=options) as pool:
        pool.reset()
        pool.send([0])
        with pytest.raises(PoolTimeoutError):
            # a thread takes the place of the caller
            pool.recv(timeout=0)
        wait_for(lambda: inspect(pool).stepping == (0,))
        pool.recv()
        # the thread may not have left the step whose row was received
        wait_for(lambda: inspect(pool).stepping == ())
        share(pool)
        assert inspect(pool).state == "shared"


def test_blocks_of_results_that_are_kept_are_counted() -> None:
    with Pool("CartPole-v1", 2) as pool:
        kept = [pool.reset()]
        few = inspect(pool).blocks
        kept += [pool.step(np.zeros(2, np.int64)) for _ in range(20)]
        assert inspect(pool).blocks >= few + 15


def test_in_a_forked_child_it_is_refused() -> None:
    with pool_of() as pool, inspect(pool).locks["supervisor"]:

        def child() -> None:
            with pytest.raises(ForkedError, match="belongs to the parent process"):
                inspect(pool)

        in_child(child)
