"""The fork server: it is replaced when it hangs or dies, and no call waits for one that hangs."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from parallel_pool._workers.start import forkserver, launch
from parallel_pool._workers.start.connection import Connection
from parallel_pool._workers.start.deadline import Deadline
from parallel_pool.errors import WorkerError
from parallel_pool.testing import inspect
from tests.faults.failing_envs import ACTIONS, pid_of, pool_of, until_restarted
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for
from tests.support.worker_processes import TARGETS, Start

pytestmark = pytest.mark.usefixtures("alarm")


@pytest.fixture
def own_forkserver() -> Iterator[forkserver.Forkserver]:
    """Makes a fork server that no other test uses, so that the test may stop it."""
    forkserver.retire()
    own = forkserver.current()
    yield own
    forkserver.retire()
    own.kill()


def stop(own: forkserver.Forkserver) -> None:
    os.kill(own.pid, signal.SIGSTOP)
    wait_for(lambda: forkserver.state_of(own.pid) == "T")


@pytest.mark.slow
def test_a_stopped_fork_server_is_replaced(own_forkserver: forkserver.Forkserver) -> None:
    stop(own_forkserver)
    with pool_of(start_method="forkserver", start_timeout=60) as pool:
        assert forkserver.current().pid != own_forkserver.pid
        wait_for(lambda: has_ended(own_forkserver.pid))
        pool.reset(seed=0)


@pytest.mark.slow
def test_a_fork_server_that_does_not_answer_is_ended_in_time(
    own_forkserver: forkserver.Forkserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop(own_forkserver)
    # simulates one that hangs: the system does not report it as stopped
    monkeypatch.setattr(forkserver, "state_of", lambda pid: "D")
    began = time.monotonic()
    with pytest.raises(WorkerError, match=r"within start_timeout=0\.5 s: .* did not answer"):
        pool_of(start_method="forkserver", start_timeout=0.5)
    assert time.monotonic() - began < 20
    wait_for(lambda: has_ended(own_forkserver.pid))
    with pool_of(start_method="forkserver") as pool:
        pool.reset(seed=0)


@pytest.mark.slow
def test_a_death_is_found_while_the_fork_server_is_stopped(
    own_forkserver: forkserver.Forkserver,
) -> None:
    """The error names the signal that killed the worker, and close does not wait."""
    with pool_of(start_method="forkserver") as pool:
        pool.reset(seed=0)
        stop(own_forkserver)
        began = time.monotonic()
        worker = pid_of(pool, 1)
        # it dies with a step in flight; after a death without, sending is refused
        os.kill(worker, signal.SIGSTOP)
        pool.send(ACTIONS)
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(WorkerError, match="was killed by SIGKILL"):
            pool.recv()
        pool.close()
        assert time.monotonic() - began < 10


@pytest.mark.slow
def test_workers_are_replaced_while_the_fork_server_is_stopped(
    own_forkserver: forkserver.Forkserver,
) -> None:
    with pool_of(start_method="forkserver", on_error="restart") as pool:
        pool.reset(seed=0)
        stop(own_forkserver)
        os.kill(pid_of(pool, 1), signal.SIGKILL)
        wait_for(lambda: 1 in inspect(pool).deaths)
        until_restarted(pool)
        pool.step(ACTIONS)


@pytest.mark.slow
def test_close_does_not_wait_for_a_fork_server_that_hangs(
    own_forkserver: forkserver.Forkserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = pool_of(start_method="forkserver", on_error="restart")
    pool.reset(seed=0)
    stop(own_forkserver)
    monkeypatch.setattr(forkserver, "state_of", lambda pid: "D")
    os.kill(pid_of(pool, 1), signal.SIGKILL)
    wait_for(lambda: inspect(pool).restarting)
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 4
    assert not inspect(pool).restarting


@pytest.mark.slow
def test_a_thread_that_waits_for_an_answer_does_not_block_others(
    own_forkserver: forkserver.Forkserver,
) -> None:
    """The thread that waits holds the lock; others wait for it no longer than their deadline."""
    lock = own_forkserver.lock
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


@pytest.mark.slow
def test_workers_of_a_forkserver_draw_different_numbers(start: Start) -> None:
    source = "__import__('numpy').random.random(), __import__('random').random()"
    workers = start("forkserver", "evaluate", *[source] * 4)
    drawn = [number for worker in workers for number in worker.connection.recv(TEST_TIMEOUT)[0]]
    assert len(set(drawn)) == 8


@pytest.mark.slow
def test_a_dead_forkserver_is_replaced(start: Start) -> None:
    former = forkserver.current()
    (worker,) = start("forkserver", "echo", 1)
    os.kill(former.pid, signal.SIGKILL)
    assert worker.connection.recv(TEST_TIMEOUT)[0][2] == 1
    os.waitid(os.P_PID, former.pid, os.WEXITED | os.WNOWAIT)
    # its children continue, but their exit codes are no longer known
    worker.connection.send("alive")
    assert worker.connection.recv(TEST_TIMEOUT)[0][0] == "alive"
    worker.kill()
    assert worker.join(TEST_TIMEOUT) and worker.exitcode == 255
    (other,) = start("forkserver", "echo", 2)
    assert other.connection.recv(TEST_TIMEOUT)[0][2] == 2
    assert forkserver.current().pid != former.pid


@pytest.mark.slow
def test_libraries_are_loaded_with_the_present_variables(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = forkserver.current()
    (worker,) = start("forkserver", "echo", 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    (other,) = start("forkserver", "echo", 2)
    assert forkserver.current() is not former
    monkeypatch.undo()
    # the former fork server lives as long as its child
    for one in (worker, other):
        one.connection.recv(TEST_TIMEOUT)
        one.connection.close()
        assert one.join(TEST_TIMEOUT) and one.exitcode == 0


def test_a_worker_forked_for_an_interrupted_start_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []
    forkserver.current()
    recv = Connection.recv

    def interrupted(self: Connection, timeout: float | None = None) -> Any:
        monkeypatch.undo()
        message, fds = recv(self, timeout)
        for fd in fds:
            os.close(fd)
        pids.append(message[2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Connection, "recv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        launch.start("forkserver", f"{TARGETS}:evaluate", ["time.sleep(1e5)"], name="sleeper")
    assert len(pids) == 1
    wait_for(lambda: has_ended(pids[0]))


def test_a_deadline_limits_every_wait() -> None:
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
