"""Workers that die and are not replaced, and pools that are closed or deleted at any point."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.watch import supervisor
from parallel_pool.errors import (
    ClosedError,
    ForkedError,
    PoolTimeoutError,
    StateError,
    WorkerError,
)
from parallel_pool.testing import inspect
from tests.faults.failing_envs import (
    ACTIONS,
    ENV_ID,
    OBS,
    QUIET,
    Counting,
    InTurn,
    Trouble,
    kill,
    kill_self,
    nothing,
    pid_of,
    pool_of,
    sleep_for_ever,
    until_stepping,
)
from tests.faults.test_threads import Thread
from tests.support.forked import in_child
from tests.support.interrupts import Interrupter
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for
from tests.support.worker_processes import methods
from tests.support.workers_targets import crash

pytestmark = pytest.mark.usefixtures("alarm")


def pids_of(pool: ProcessPool) -> list[int]:
    return [pid for pid in pool.worker_pids if pid is not None]


def all_ended(pids: list[int]) -> bool:
    return all(map(has_ended, pids))


# ------------------------------------------------------------------------------------- deaths --


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (lambda: os._exit(3), "ended with exit code 3"),
        (kill_self, "was killed by SIGKILL"),
        (crash, "was killed by SIGSEGV"),
    ],
    ids=["exit", "sigkill", "sigsegv"],
)
@methods
def test_a_worker_that_dies_is_named(trouble: Trouble, said: str, method: str) -> None:
    with pool_of(trouble, start_method=method) as pool:
        pool.reset(seed=0)
        pid = pid_of(pool, 1)
        how = f"worker process {pid} {said} while it stepped environment 2"
        with pytest.raises(WorkerError, match=rf"environment 2 \(and 1 more\) failed: {how}") as e:
            for _ in range(3):
                pool.step(ACTIONS)
        assert e.value.env_ids == (2, 3)
        np.testing.assert_array_equal(e.value.batch[OBS][:, 0], [3, 3, 0, 0])
        # its environments are refused from now on, with the reason, and none is in flight
        for refused in (
            lambda: pool.step(ACTIONS),
            lambda: pool.send(ACTIONS[:1], [3]),
            lambda: pool.reset(),
            lambda: pool.send_reset([2]),
            lambda: pool.call("reset"),
            lambda: pool.get_attr("steps", [3]),
        ):
            with pytest.raises(StateError, match=rf"of environment [23] has died: {how}: make a"):
                refused()
            assert pool.in_flight == 0
        # the others go on
        np.testing.assert_array_equal(pool.step(ACTIONS[:2], [0, 1])[OBS][:, 0], [4, 4])
        assert pool.get_attr("steps", [0, 1]) == [4, 4]


def test_a_worker_that_dies_while_idle_is_named_by_the_next_call() -> None:
    with pool_of() as pool:
        pool.reset(seed=0)
        kill(pool, 0)
        pid = inspect(pool).deaths[0].pid
        with pytest.raises(StateError, match=rf"process {pid} was killed by"):
            pool.step(ACTIONS)
        np.testing.assert_array_equal(pool.step(ACTIONS[2:], [2, 3])[OBS][:, 0], [1, 1])


class Unseen(dict[int, str]):
    """Lost workers that a look for any does not see, as if they died right after it."""

    def __bool__(self) -> bool:
        return False


def test_a_worker_that_dies_between_check_and_send_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def keep(self: Any, lost: dict[int, str]) -> None:
        self.unseen = Unseen(lost)

    lost = property(lambda self: self.unseen, keep)
    monkeypatch.setattr(supervisor.Supervisor, "lost", lost, raising=False)
    with pool_of() as pool:
        pool.reset(seed=0)
        kill(pool, 0)
        pid = inspect(pool).deaths[0].pid
        for call in (pool.step, pool.send):
            with pytest.raises(
                StateError, match=rf"of environment 0 .*process {pid} was killed by"
            ):
                call(ACTIONS)


def test_two_workers_that_die_in_one_batch_are_both_named() -> None:
    def die(status: int) -> Callable[[], Any]:
        return lambda: Counting(lambda: os._exit(status), 1)

    with ProcessPool(
        [die(4), Counting, Counting, die(5)], num_workers=4, start_method="fork"
    ) as pool:
        pool.reset(seed=0)
        with pytest.raises(WorkerError, match=r"environment 0 .*exit code 4") as caught:
            pool.step(ACTIONS)
        assert caught.value.env_ids == (0, 3)
        last = str(caught.value).splitlines()[-1]
        assert last.startswith("Environment 3: worker process") and "exit code 5" in last
        np.testing.assert_array_equal(caught.value.batch[OBS][:, 0], [0, 1, 1, 0])
        with pytest.raises(StateError, match=r"environment 3 .*exit code 5"):
            pool.step(ACTIONS[:2], [2, 3])


@pytest.mark.quick(1)
@pytest.mark.parametrize("batch_size", [4, 2])
def test_a_pool_whose_workers_have_all_died_refuses_calls(batch_size: int) -> None:
    with pool_of(batch_size=batch_size) as pool:
        kill(pool, 0)
        kill(pool, 1)
        with pytest.raises(StateError, match="in flight"):
            pool.recv()
        with pytest.raises(PoolTimeoutError):
            pool.recv(timeout=0.05)
        with pytest.raises(StateError, match="has died"):
            pool.step(ACTIONS)


def test_an_unordered_pool_goes_on_without_dead_workers() -> None:
    with pool_of(kill_self, 2, batch_size=1) as pool:
        pool.send_reset(seed=0)
        failed: list[int] = []
        steps = dict.fromkeys(range(4), 0)
        while len(failed) < 2 or min(steps[0], steps[1]) < 20:
            try:
                batch = pool.recv()
            except WorkerError as error:
                failed += error.env_ids
                continue
            env_id = int(batch[ENV_ID][0])
            assert batch[OBS][0, 0] == steps[env_id]
            steps[env_id] += 1
            if (2 not in failed and 3 not in failed) or env_id < 2:
                # its worker may have died by now
                try:
                    pool.send([0], [env_id])
                except StateError:
                    failed.append(env_id)
        assert sorted(failed) == [2, 3]


def test_a_call_that_kills_its_worker_is_an_error() -> None:
    with pool_of(nothing) as pool:
        pool.reset(seed=0)
        with pytest.raises(WorkerError, match=r"apply of environments \[2, 3\] failed: .*SIGKILL"):
            pool.apply(kill_if_in_trouble)
        # the answer of the other worker does not come with the next call
        assert pool.get_attr("steps", [0, 1]) == [0, 0]
        with pytest.raises(StateError, match="environment 2 has died"):
            pool.get_attr("steps")


def kill_if_in_trouble(env: Any) -> None:
    if env.trouble is not None:
        kill_self()


def test_a_death_that_cannot_be_handled_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """When replacing the worker fails, no call waits for ever."""
    with pool_of(kill_self, on_error="restart") as pool:
        pool.reset(seed=0)

        def refuse(_: int) -> int:
            raise MemoryError("no entropy")

        monkeypatch.setattr(supervisor.seeds, "entropy", refuse)
        with pytest.raises(WorkerError, match="no other could be started: MemoryError: no entropy"):
            for _ in range(3):
                pool.step(ACTIONS)


# ------------------------------------------------------------------------------------- closing --


def test_close_from_another_thread_ends_recv() -> None:
    pool = pool_of(sleep_for_ever)
    pool.reset(seed=0)
    pool.step(ACTIONS)
    pool.step(ACTIONS)
    pids = pids_of(pool)
    pool.send(ACTIONS)

    def close() -> None:
        until_stepping(pool, 2)
        pool.close(timeout=0.0)

    closing = Thread(close)
    with pytest.raises(ClosedError, match="the pool is closed"):
        pool.recv()
    closing.finish()
    assert all_ended(pids)
    for refused in (pool.recv, pool.reset, lambda: pool.step(ACTIONS), lambda: pool.call("reset")):
        with pytest.raises(ClosedError):
            refused()


def test_close_from_another_thread_ends_a_call() -> None:
    pool = pool_of()
    closing = Thread(lambda: [time.sleep(0.1), pool.close(timeout=0.0)])
    with pytest.raises(ClosedError):
        pool.apply(lambda env: time.sleep(1e6))
    closing.finish()


def test_a_second_thread_in_recv_is_refused() -> None:
    with pool_of(sleep_for_ever, 1) as pool:
        pool.reset(seed=0)
        pool.send(ACTIONS)
        until_stepping(pool, 2)
        ended: list[BaseException] = []

        def receive() -> None:
            while not ended:
                try:
                    pool.recv()
                except ClosedError as error:
                    ended.append(error)
                except StateError:
                    pass

        thread = Thread(receive)
        refused = None
        while refused is None:
            try:
                pool.recv(timeout=0.0)
            except StateError as error:
                refused = error
            except PoolTimeoutError:
                pass
        assert "another thread is receiving" in str(refused)
        pool.close(timeout=0.0)
        thread.finish()
        assert len(ended) == 1


@pytest.mark.slow
def test_many_threads_close_at_once() -> None:
    pool = pool_of(sleep_for_ever, 1)
    pids = pids_of(pool)
    pool.reset()
    pool.send(ACTIONS)
    threads = [Thread(lambda: pool.close(timeout=0.2)) for _ in range(4)]
    pool.close(timeout=0.2)
    assert all_ended(pids)
    for thread in threads:
        thread.finish()


@pytest.mark.slow
def test_a_signal_handler_may_close_the_pool_at_any_point() -> None:
    """The handler runs in the main thread, which is closing the pool itself."""
    before = signal.getsignal(signal.SIGUSR1)
    for _ in range(10):
        pool = pool_of(sleep_for_ever, 1, timeout=50.0)
        pids = pids_of(pool)
        pool.reset()
        pool.send(ACTIONS)
        done, handled = threading.Event(), threading.Semaphore(0)

        def handle(*_: Any, pool: ProcessPool = pool, handled: Any = handled) -> None:
            pool.close(timeout=0.001)
            handled.release()

        def send_signals(done: threading.Event = done, handled: Any = handled) -> None:
            while not done.is_set():
                os.kill(os.getpid(), signal.SIGUSR1)
                handled.acquire(timeout=TEST_TIMEOUT)

        signal.signal(signal.SIGUSR1, handle)
        sending = Thread(send_signals)
        try:
            pool.close(timeout=0.05)
        finally:
            done.set()
            sending.join(TEST_TIMEOUT)
            signal.signal(signal.SIGUSR1, before)
        assert all_ended(pids)


@pytest.mark.quick(1)
@pytest.mark.parametrize("held", ["supervisor", "worker 1", "watcher"])
def test_a_signal_handler_may_close_the_pool_while_a_lock_is_held(held: str) -> None:
    """The handler interrupts the thread that holds the lock."""
    before = signal.getsignal(signal.SIGUSR1)
    pool = pool_of(sleep_for_ever, 1, timeout=50.0)
    pids = pids_of(pool)
    pool.reset()
    pool.send(ACTIONS)
    locks = inspect(pool).locks
    signal.signal(signal.SIGUSR1, lambda *_: pool.close(timeout=0.01))
    try:
        with locks[held]:
            signal.raise_signal(signal.SIGUSR1)
            assert all_ended(pids)
    finally:
        signal.signal(signal.SIGUSR1, before)


class InClose(Interrupter):
    """Interrupts inside close. Interrupted at its very start, close may do nothing."""

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code is ProcessPool.close.__code__ and event == "call":
            return
        super().__call__(frame, event, argument)


@pytest.mark.slow
@pytest.mark.parametrize("on_error", ["raise", "restart"])
def test_ctrl_c_anywhere_in_close_leaves_no_worker(on_error: str) -> None:
    """KeyboardInterrupt is raised after all workers have ended."""
    interrupted, place = True, 0
    while interrupted:
        place += 1 if place < 5 else 17
        pool = pool_of(sleep_for_ever, 1, on_error=on_error)
        pids = pids_of(pool)
        pool.reset()
        pool.send(ACTIONS)
        until_stepping(pool, 2)
        try:
            InClose(place).run(partial(pool.close, timeout=0.01))
            interrupted = False
        except KeyboardInterrupt:
            pass
        assert all_ended(pids) and not inspect(pool).restarting
        pool.close()
    assert place > 60


@pytest.mark.quick(1)
@pytest.mark.parametrize("at", ["made", "step"])
def test_close_ends_workers_that_are_being_started(at: str, tmp_path: Any) -> None:
    made = InTurn(tmp_path / "made", nothing, *[sleep_for_ever] * 20)
    pids = tmp_path / "pids"

    def make() -> Any:
        with pids.open("a") as file:
            file.write(f"{os.getpid()}\n")
        made()
        return Counting()

    fns: list[Any] = [Counting, make]
    pool = ProcessPool(fns, num_workers=2, start_method="fork", on_error="restart")
    pool.reset()
    kill(pool, 1)
    if at == "made":
        wait_for(lambda: made.calls == 2)
    pool.close(timeout=0.0)
    assert not inspect(pool).restarting
    assert all(has_ended(int(pid)) for pid in pids.read_text().split())


def restart_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "pp-restart"]


def test_deleting_a_pool_ends_the_start_of_a_worker(tmp_path: Any) -> None:
    made = InTurn(tmp_path / "made", nothing, *[sleep_for_ever] * 20)

    def make() -> Any:
        made()
        return Counting()

    pool: Any = ProcessPool([make], start_method="fork", on_error="restart")
    pool.reset()
    kill(pool, 0)
    wait_for(lambda: made.calls == 2)
    del pool
    gc.collect()
    wait_for(lambda: not restart_threads())


@pytest.mark.slow
def test_the_garbage_collector_may_delete_a_pool_at_any_point() -> None:
    """Even in a thread that holds the locks that close takes."""
    pool: Any = pool_of(sleep_for_ever, 1, timeout=50.0)
    pool.reset()
    pool.send(ACTIONS)
    pids = pids_of(pool)
    locks = inspect(pool).locks
    assert len(locks) == 4
    with contextlib.ExitStack() as held:
        for lock in locks.values():
            held.enter_context(lock)
        del pool
        gc.collect()
    wait_for(lambda: all_ended(pids))


# -------------------------------------------------------------------------------------- forks --


@pytest.mark.slow
@pytest.mark.parametrize("on_error", ["raise", "restart"])
def test_calls_in_a_forked_child_are_refused(on_error: str) -> None:
    with pool_of(timeout=50.0, on_error=on_error) as pool:
        pool.reset(seed=0)
        pool.send(ACTIONS)

        def child() -> None:
            for refused in (
                lambda: pool.step(ACTIONS),
                lambda: pool.send(ACTIONS),
                lambda: pool.recv(),
                lambda: pool.recv(timeout=0.0),
                lambda: pool.reset(seed=1),
                lambda: pool.send_reset([1]),
                lambda: pool.call("reset"),
                lambda: pool.get_attr("steps"),
                lambda: pool.set_attr("steps", [0] * 4),
            ):
                with pytest.raises(ForkedError, match="belongs to the parent process"):
                    refused()
            pool.close()
            pool.close(timeout=0.0)

        # at the fork, another thread holds none or one of these locks
        for lock in (None, *inspect(pool).locks.values()):
            holder = _Holder(lock)
            in_child(child)
            holder.release()
        np.testing.assert_array_equal(pool.recv()[OBS][:, 0], [1] * 4)
        assert not inspect(pool).deaths


class _Holder:
    """A thread that holds a lock, or none, until `release`."""

    def __init__(self, lock: Any) -> None:
        self._may_go = threading.Event()
        has = threading.Event()

        def hold() -> None:
            if lock is None:
                has.set()
                return
            with lock:
                has.set()
                self._may_go.wait(TEST_TIMEOUT)

        self._thread = Thread(hold)
        has.wait(TEST_TIMEOUT)

    def release(self) -> None:
        self._may_go.set()
        self._thread.finish()


def test_a_forked_child_may_delete_the_inherited_pool() -> None:
    with pool_of(timeout=50.0) as pool:
        pool.reset(seed=0)
        held: list[Any] = [pool]

        def child() -> None:
            held.clear()
            frame: FrameType | None = sys._getframe()
            while frame is not None:
                frame.f_locals.clear()
                frame = frame.f_back
            gc.collect()

        in_child(child)
        np.testing.assert_array_equal(pool.step(ACTIONS)[OBS][:, 0], [1] * 4)


# a child that exits as programs do: finalizers run, and the interpreter deletes its globals
LEAVING = """
import gc, os, sys
import numpy as np
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.testing import inspect
from parallel_pool._workers.process_pool import ProcessPool
from tests.faults.failing_envs import Counting
pool = ProcessPool([Counting] * 4, num_workers=2, on_error="restart", timeout=50.0)
pool.reset(seed=0)
child = os.fork()
if not child:
    if {drops}:
        del pool
        gc.collect()
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print(pool.step(np.zeros(4, int))[0][:, 0], dict(inspect(pool).deaths))
"""


@pytest.mark.slow
@pytest.mark.parametrize("drops", [True, False])
def test_a_forked_child_exits_normally(drops: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVING.format(drops=drops)],
        capture_output=True,
        env={**os.environ, "PYTHONWARNINGS": QUIET},
        text=True,
        check=False,
        timeout=TEST_TIMEOUT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1. 1. 1. 1.] {}\n", "")
