"""The process that forks workers may be stopped, or hang: nobody waits for it beyond a limit."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from parallel_pool.errors import WorkerError
from parallel_pool.workers import forkserver
from parallel_pool.workers.deadline import Deadline
from tests.faults.toys import ACTIONS, pool_of, until_restarted, worker_of
from tests.patience import has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")


@pytest.fixture
def own_forkserver() -> Iterator[forkserver.Forkserver]:
    """One that no other test needs; it is stopped by the test."""
    forkserver.retire()
    own = forkserver.current()
    yield own
    forkserver.retire()
    own.kill()


def stop(own: forkserver.Forkserver) -> None:
    os.kill(own.pid, signal.SIGSTOP)
    wait_for(lambda: forkserver._state(own.pid) == "T")


def test_one_that_is_stopped_is_replaced(own_forkserver: forkserver.Forkserver) -> None:
    stop(own_forkserver)
    with pool_of(start_method="forkserver", start_timeout=60) as pool:
        assert forkserver.current().pid != own_forkserver.pid
        wait_for(lambda: has_ended(own_forkserver.pid))
        pool.reset(seed=0)


def test_one_that_does_not_answer_is_ended_in_time(
    own_forkserver: forkserver.Forkserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop(own_forkserver)
    # hangs, for all that the system tells
    monkeypatch.setattr(forkserver, "_state", lambda pid: "D")
    began = time.monotonic()
    with pytest.raises(WorkerError, match=r"within start_timeout=0\.5 s: .* did not answer"):
        pool_of(start_method="forkserver", start_timeout=0.5)
    assert time.monotonic() - began < 20
    wait_for(lambda: has_ended(own_forkserver.pid))
    with pool_of(start_method="forkserver") as pool:
        pool.reset(seed=0)


def test_a_death_is_found_while_it_is_stopped(own_forkserver: forkserver.Forkserver) -> None:
    """What killed the worker is known too, and closing does not wait for it."""
    with pool_of(start_method="forkserver") as pool:
        pool.reset(seed=0)
        stop(own_forkserver)
        began = time.monotonic()
        os.kill(worker_of(pool, 1).pid, signal.SIGKILL)
        with pytest.raises(WorkerError, match="was killed by SIGKILL"):
            for _ in range(1000):
                pool.step(ACTIONS)
                time.sleep(0.01)
        pool.close()
        assert time.monotonic() - began < 10


def test_workers_are_followed_by_others_while_it_is_stopped(
    own_forkserver: forkserver.Forkserver,
) -> None:
    with pool_of(start_method="forkserver", on_error="restart") as pool:
        pool.reset(seed=0)
        stop(own_forkserver)
        os.kill(worker_of(pool, 1).pid, signal.SIGKILL)
        wait_for(lambda: pool._supervisor._workers[1] is None)
        until_restarted(pool)
        pool.step(ACTIONS)


def test_closing_does_not_wait_for_one_that_hangs(
    own_forkserver: forkserver.Forkserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = pool_of(start_method="forkserver", on_error="restart")
    pool.reset(seed=0)
    stop(own_forkserver)
    monkeypatch.setattr(forkserver, "_state", lambda pid: "D")
    os.kill(worker_of(pool, 1).pid, signal.SIGKILL)
    wait_for(lambda: bool(pool._supervisor._deadlines))
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 4
    assert not pool._supervisor._starters


def test_other_threads_need_not_wait_for_it(own_forkserver: forkserver.Forkserver) -> None:
    """One that is asked for something by one thread may be needed by another."""
    lock = own_forkserver._lock
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(60)
        with pytest.raises(TimeoutError):
            forkserver.current(Deadline(0.2))
        assert own_forkserver.exitcode(99, os.getpid(), Deadline(0.2)) is None
    finally:
        over.set()
        thread.join()


def test_deadlines() -> None:
    deadline = Deadline(None)
    assert deadline.remaining() is None and deadline.pause() > 0
    part = deadline.within(1e6)
    assert 0 < part.pause() < 1
    assert Deadline(5).within(1e6).seconds == 5
    deadline.expire()
    for each in (deadline, part, Deadline(0.0)):
        assert each.remaining() == 0
        with pytest.raises(TimeoutError):
            each.pause()
