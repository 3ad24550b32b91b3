"""Watching worker processes: the end of each is reported exactly once."""

from __future__ import annotations

import signal
import threading
import time
import weakref

import pytest

from parallel_pool._workers.start.launch import Worker
from parallel_pool._workers.watch.watch import Watcher
from tests.support.timeouts import TEST_TIMEOUT, wait_for
from tests.support.worker_processes import Ends, Start, methods


@pytest.mark.quick(1)
@methods
def test_a_watcher_reports_each_end_once(start: Start, method: str) -> None:
    ended, ways = Ends(), ["return", "os._exit", "SIGKILL", "segfault"]
    watcher = Watcher()
    workers = start(method, "end", *ways)
    for worker in workers:
        watcher.watch(worker, ended)
    for worker, code in zip(workers, (0, 3, -signal.SIGKILL, -signal.SIGSEGV), strict=True):
        worker.connection.send("go")
        ended.wait_for(worker, code)
    # a worker that has already ended is reported too
    watcher.watch(workers[0], ended)
    wait_for(lambda: len(ended.received) == 5)
    watcher.close()
    assert [worker for worker, _ in ended.received] == [*workers, workers[0]]
    ended.received.clear()


@pytest.mark.slow
def test_an_idle_watcher_sleeps(start: Start) -> None:
    watcher = Watcher()
    (worker,) = start("fork", "echo", None)
    watcher.watch(worker, Ends())
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "pp-watcher"]

    def switches() -> list[str]:
        with open(f"/proc/self/task/{thread.native_id}/status") as file:
            return [line for line in file if "ctxt_switches" in line]

    # until the thread sleeps
    wait_for(lambda: switches() == (time.sleep(0.1), switches())[1])
    before = switches()
    time.sleep(1)
    assert switches() == before
    watcher.close()
    wait_for(lambda: not thread.is_alive())


def test_a_callback_may_fail_or_close(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = []
    monkeypatch.setattr(threading, "excepthook", lambda args: failures.append(args.exc_type))
    watcher = Watcher()
    first, second, third = start("fork", "echo", 1, 2, 3)
    ended = Ends()

    def fail(worker: Worker) -> None:
        raise LookupError

    def close(worker: Worker) -> None:
        watcher.close()
        worker.close()
        ended(worker)

    watcher.watch(first, fail)
    watcher.watch(second, close)
    watcher.watch(third, ended)
    first.kill()
    wait_for(lambda: failures == [LookupError])
    second.kill()
    wait_for(lambda: len(ended.received) == 1)
    third.kill()
    assert third.join(TEST_TIMEOUT)
    with pytest.raises(ValueError, match="closed"):
        watcher.watch(third, ended)
    watcher.close()
    assert [worker for worker, _ in ended.received] == [second]
    ended.received.clear()


@pytest.mark.slow
def test_close_does_not_wait_for_a_callback_that_waits_for_it(start: Start) -> None:
    watcher = Watcher()
    (worker,) = start("fork", "echo", 1)
    is_in, is_closed = threading.Event(), threading.Event()

    def wait(worker: Worker) -> None:
        is_in.set()
        assert is_closed.wait(TEST_TIMEOUT)

    watcher.watch(worker, wait)
    worker.kill()
    assert is_in.wait(TEST_TIMEOUT)
    watcher.close()
    is_closed.set()
    wait_for(lambda: "pp-watcher" not in [thread.name for thread in threading.enumerate()])


def test_a_deleted_watcher_ends_its_thread(start: Start) -> None:
    class Pool:
        def __init__(self, worker: Worker) -> None:
            self.watcher = Watcher()
            self.watcher.watch(worker, self.on_end)

        def on_end(self, worker: Worker) -> None:
            raise AssertionError

    (worker,) = start("fork", "echo", 1)
    pool = Pool(worker)
    there = weakref.ref(pool)
    del pool
    assert there() is None
    wait_for(lambda: "pp-watcher" not in [thread.name for thread in threading.enumerate()])
    worker.kill()


@pytest.mark.sanitizers
def test_an_event_of_a_worker_is_not_taken_for_one_of_the_next(start: Start) -> None:
    """Two end at once. The callback of the first replaces the second by one that lives on."""
    watcher, ended = Watcher(), Ends()
    blocker, first, second, third, probe = start("fork", "echo", *range(5))
    is_in, may_go_on = threading.Event(), threading.Event()

    def block(worker: Worker) -> None:
        is_in.set()
        assert may_go_on.wait(TEST_TIMEOUT)

    def replace(worker: Worker) -> None:
        ended(worker)
        watcher.unwatch(second)
        # uses all numbers of descriptors that have become free
        for _ in range(8):
            watcher.watch(third, ended)

    watcher.watch(blocker, block)
    watcher.watch(first, replace)
    watcher.watch(second, ended)
    watcher.watch(probe, ended)
    blocker.kill()
    assert is_in.wait(TEST_TIMEOUT)
    # the thread sees both ends in one poll
    for worker in (first, second):
        worker.kill()
        assert worker.join(TEST_TIMEOUT)
    may_go_on.set()
    ended.wait_for(first, -signal.SIGKILL)
    probe.kill()
    ended.wait_for(probe, -signal.SIGKILL)
    watcher.close()
    assert [worker for worker, _ in ended.received] == [first, probe]
    ended.received.clear()


def test_the_end_of_an_unwatched_worker_is_not_reported(start: Start) -> None:
    watcher, ended = Watcher(), Ends()
    first, second = start("fork", "echo", 1, 2)
    for worker in (first, second):
        watcher.watch(worker, ended)
    watcher.unwatch(first)
    first.close()
    second.kill()
    ended.wait_for(second, -signal.SIGKILL)
    assert len(ended.received) == 1
    watcher.close()
    ended.received.clear()
