"""Branches that die, hang, are cancelled or refused: the original and others never notice."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import gc
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import shared_memory
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from parallel_pool._workers.run import holdings
from parallel_pool._workers.watch import supervisor
from parallel_pool.errors import (
    BusyError,
    ClosedError,
    NotResetError,
    PoolTimeoutError,
    StateError,
    WorkerError,
)
from parallel_pool.leases import Lease, LeasePool
from tests.faults.lease_envs import LONG_SECONDS, Asked, Gate, begun, goes_on, run
from tests.support import interpreters
from tests.support.programs import Program
from tests.support.threads import threads
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")

NOBODY = 65534
EVER = 10**6


class Branched(Asked):
    """Has what a test needs of it: things that can't be branched, limits, deaths at lines."""

    def hold(self, kind: str) -> None:
        self.held = HELD[kind]()

    def drop(self) -> None:
        release = getattr(self.held, "shutdown", None) or getattr(self.held, "stop", None)
        if release is not None:
            release()
        del self.held

    def limit_processes(self, more: int) -> None:
        """Allows this process so many children, and then none."""
        if os.getuid() == 0:
            # the limit is not for root
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            more += 2
        else:
            more = 1
        resource.setrlimit(resource.RLIMIT_NPROC, (more, more))

    def die_at(self, line: int, in_branch: bool) -> None:
        """Lets this process, or its branches, be killed at the n-th line of `branching.py`."""
        worker, count = os.getpid(), 0

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal count
            if not frame.f_code.co_filename.endswith("_workers/run/branching.py"):
                return None
            if event == "line" and (os.getpid() != worker) == in_branch:
                count += 1
                if count == line:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)

    def spawn(self) -> int:
        return subprocess.Popen(["sleep", str(EVER)]).pid

    def fork_and_return(self) -> int:
        return os.fork()


class Sleeper(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="dreams", daemon=True)
        self.is_over = threading.Event()
        self.start()

    def run(self) -> None:
        self.is_over.wait()

    def stop(self) -> None:
        self.is_over.set()
        self.join()


class Child(subprocess.Popen[bytes]):
    def __init__(self) -> None:
        super().__init__(["sleep", str(EVER)])

    def stop(self) -> None:
        self.kill()
        self.wait()


class Shared(shared_memory.SharedMemory):
    def __init__(self) -> None:
        super().__init__(create=True, size=100)

    def stop(self) -> None:
        self.close()
        self.unlink()


def connected() -> Any:
    pair = socket.socketpair()

    class Pair:
        def stop(self) -> None:
            for end in pair:
                end.close()

    return Pair()


HELD: dict[str, Callable[[], Any]] = {
    "threads": Sleeper,
    "child processes": Child,
    "sockets": connected,
    "shared memory": Shared,
}


def branched(count: int = 1, **options: Any) -> LeasePool:
    fns = [lambda number=i: Branched(number) for i in range(count)]
    return LeasePool(
        fns, **{"start_method": "fork", "max_branches": 4, "timeout": LONG_SECONDS, **options}
    )


@contextlib.contextmanager
def leased(**options: Any) -> Iterator[tuple[LeasePool, Lease]]:
    """Yields a pool and a lease after two steps; at the end no branch may be left."""
    with branched(**options) as pool, pool.lease() as lease:
        lease.reset(seed=1)
        lease.step("on")
        lease.step("on")
        yield pool, lease
        wait_for(lambda: not pool.num_branches)
        goes(lease, 2)


def goes(lease: Lease, steps: int) -> None:
    observation, reward, *_ = lease.step("on")
    assert observation.tolist()[1] == reward == steps + 1


# -------------------------------------------------------------------------------- what is refused


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", HELD)
def test_what_a_fork_cannot_copy_is_named(kind: str) -> None:
    with leased() as (_, lease):
        lease.call("hold", kind)
        with pytest.raises(StateError, match=rf"has {kind} \(") as caught, lease.branches(2):
            pass
        if kind == "threads":
            assert "dreams" in str(caught.value)
        lease.call("drop")
        with lease.branches(2) as branches:
            for branch in branches:
                goes(branch, 2)


def test_gpus_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = {3: "/dev/null"}
    monkeypatch.setattr(holdings, "descriptors", lambda: opened)
    found = holdings.Holdings()
    before = found.find((), ())
    opened |= {7: "/dev/nvidia0", 8: "/dev/nvidiactl", 9: "/dev/dri/renderD128"}
    assert set(found.find((9,), ())) - set(before) == {"GPUs (/dev/nvidia0, /dev/nvidiactl)"}


def test_threads_that_are_ending_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was joined may exist for a moment more, though Python has forgotten it."""
    found, before, gate = holdings.Holdings(), threads(), threading.Lock()
    gate.acquire()
    # which Python never knew
    _thread.start_new_thread(gate.acquire, ())
    wait_for(lambda: len(threads() - before) == 1)
    (tid,) = threads() - before
    (named,) = found.find_threads()
    assert f"thread {tid}" in named

    def sleep(seconds: float) -> None:
        gate.release()
        wait_for(lambda: tid not in threads())

    monkeypatch.setattr(holdings, "time", SimpleNamespace(sleep=sleep))
    assert found.find_threads() == []


def test_what_the_program_has_is_not_the_environments() -> None:
    """With "fork" a worker inherits it, and it was shared before."""
    with socket.socketpair()[0], leased() as (_, lease), lease.branches() as (branch,):
        goes(branch, 2)


def test_arguments() -> None:
    with pytest.raises(ValueError, match="let each environment have its own"):
        branched(3, num_workers=2)
    for wrong in (-1, 1.5):
        with pytest.raises((TypeError, ValueError), match="max_branches"):
            branched(max_branches=wrong)
    with (
        branched(max_branches=0) as pool,
        pool.lease() as lease,
        pytest.raises(StateError, match="made without branches"),
    ):
        lease.branches()


def test_more_branches_than_there_are() -> None:
    with leased() as (pool, lease), lease.branches(3) as branches:
        with pytest.raises(BusyError, match="2 branches were asked for, and 3 of max_branches=4"):
            lease.branches(2).__enter__()
        branches[0].close()
        branches[0].close()
        # waits until the process has ended
        with lease.branches(2):
            assert pool.num_branches == 4
        with pytest.raises(ClosedError, match="the lease is over"):
            branches[0].step("on")


def test_too_many_processes() -> None:
    with branched() as pool, pool.lease() as lease:
        lease.reset(seed=1)
        lease.call("limit_processes", 2)
        with pytest.raises(OSError, match=r"only \d of 4 branches could be forked: .* They were"):
            lease.branches(4).__enter__()
        assert lease.step("on")[1] == 1
        wait_for(lambda: not pool.num_branches)


# --------------------------------------------------------------------------------------- deaths


@pytest.mark.quick(2)
@pytest.mark.parametrize("what", ["step", "reset", "call"])
@pytest.mark.parametrize(("trouble", "text"), [("kill", "SIGKILL"), ("exit", "exit code 3")])
def test_a_branch_that_dies_is_over(what: str, trouble: str, text: str) -> None:
    with leased() as (_, lease), lease.branches(3) as (branch, other, untouched):
        calls: dict[str, Callable[[], Any]] = {
            "step": lambda: branch.step(trouble),
            "reset": lambda: branch.reset(options=trouble),
            "call": lambda: branch.call("have", trouble),
        }
        with pytest.raises(WorkerError, match=text) as caught:
            calls[what]()
        assert caught.value.env_ids == (branch.env_id,)
        for again in (lambda: branch.step("on"), branch.reset, lambda: branch.call("steps")):
            with pytest.raises(WorkerError, match=rf"{text}.* it was a branch, and is over"):
                again()
        with pytest.raises(WorkerError, match="is over"), branch.branches():
            pass
        goes(other, 2)
        goes(untouched, 2)


@pytest.mark.parametrize("is_asleep", [False, True])
def test_a_branch_killed_between_two_calls(is_asleep: bool) -> None:
    with leased() as (pool, lease), lease.branches(2) as (branch, other):
        if not is_asleep:
            goes(branch, 2)
        pid = pool.worker_pids[branch.env_id]
        assert pid is not None
        os.kill(pid, signal.SIGUSR1)
        wait_for(lambda: pool.worker_pids[branch.env_id] is None)
        with pytest.raises(WorkerError, match="SIGUSR1"):
            branch.step("on")
        goes(other, 2)


@pytest.mark.sanitizers
@pytest.mark.parametrize("trouble", ["spin", "sleep"])
def test_a_branch_that_hangs_is_killed_at_its_deadline(trouble: str) -> None:
    with leased() as (pool, lease), lease.branches(2) as (branch, other):
        pid = pool.worker_pids[branch.env_id]
        with pytest.raises(PoolTimeoutError, match="so the branch is over"):
            branch.step(trouble, timeout=0.2)
        assert pid is not None
        wait_for(lambda: has_ended(pid))
        with pytest.raises(WorkerError, match="took longer than timeout"):
            branch.reset()
        goes(other, 2)


def test_an_exception_costs_only_the_episode() -> None:
    with leased() as (_, lease), lease.branches() as (branch,):
        with pytest.raises(ValueError, match="as asked"):
            branch.step("raise")
        with pytest.raises(NotResetError):
            branch.step("on")
        branch.reset()
        goes(branch, 0)
        assert branch.kill()
        with pytest.raises(WorkerError, match="was killed by its lease"):
            branch.reset()


@pytest.mark.quick(0)
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_branches_go_on_after_the_death_of_the_original(method: str) -> None:
    with branched(start_method=method) as pool, pool.lease() as lease:
        lease.reset(seed=1)
        with lease.branches(3) as (awake, asleep, dying):
            goes(awake, 0)
            goes(dying, 0)
            pid = pool.worker_pids[lease.env_id]
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: pool.worker_pids[lease.env_id] not in (pid, None))
            with pytest.raises(WorkerError, match="SIGKILL"):
                lease.branches().__enter__()
            goes(awake, 1)
            goes(asleep, 0)
            with asleep.branches() as (twin,):
                goes(twin, 1)
            with pytest.raises(WorkerError, match=r"exit code 3|ended with exit code 255"):
                dying.step("exit")
        lease.reset(seed=1)
        goes(lease, 0)
        with lease.branches() as (branch,):
            goes(branch, 1)


LINES = 120


@pytest.mark.sanitizers
@pytest.mark.parametrize("in_branch", [False, True])
@pytest.mark.parametrize("first", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_deaths_at_every_line(in_branch: bool, first: int) -> None:
    """Of the worker that forks, and of a branch; the sanitizers take every 13th line."""
    with branched(2) as pool, pool.lease() as other, pool.lease() as lease:
        other.reset(seed=1)
        for steps, line in enumerate(range(first, LINES, 13 if first else 1)):
            lease.reset(seed=1, retries=2)
            lease.call("die_at", line, in_branch)
            try:
                with lease.branches(3) as branches:
                    for branch in branches:
                        goes(branch, 0)
            except WorkerError as error:
                assert "SIGKILL" in str(error)
            goes(other, steps)
            lease.kill()
            wait_for(lambda: not pool.num_branches)
        lease.reset(seed=1, retries=2)
        with lease.branches(4) as branches:
            for branch in branches:
                goes(branch, 0)


@pytest.mark.sanitizers
def test_a_worker_that_is_stopped_while_it_is_asked() -> None:
    with branched() as pool, pool.lease() as lease:
        lease.reset(seed=1)
        pid = pool.worker_pids[0]
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(PoolTimeoutError, match="call of branches took longer"):
            lease.branches(2, timeout=0.2).__enter__()
        lease.reset(seed=1)
        with lease.branches(4) as branches:
            for branch in branches:
                goes(branch, 0)


# ------------------------------------------------------------------------------------------ ends


@pytest.mark.sanitizers
def test_cancelling_who_waits_for_branches() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as lease:
            await begun(lease)
            for pause in (0.0, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.02):

                async def hold() -> None:
                    async with lease.branches(4):
                        await asyncio.sleep(EVER)

                task = asyncio.create_task(hold())
                await asyncio.sleep(pause)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                while True:
                    with contextlib.suppress(BusyError):
                        async with lease.branches(4, timeout=LONG_SECONDS) as branches:
                            assert (await branches[0].step("on"))[1] == 3
                            break
                    await asyncio.sleep(0.001)
            await goes_on(lease)
        while pool.num_branches:
            await asyncio.sleep(0.001)

    run(play, max_branches=4)


def test_two_calls_at_once(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")

    async def play(pool: LeasePool) -> None:
        async with pool.lease() as lease:
            await begun(lease)
            stepping = asyncio.create_task(lease.step(gate.trouble))
            await asyncio.sleep(0)
            with pytest.raises(BusyError, match="a step of environment"):
                await lease.branches().__aenter__()
            gate.open()
            await stepping
            assert pool.num_branches == 0

    run(play, max_branches=4)


@pytest.mark.sanitizers
def test_branches_with_calls_in_flight_end_at_once() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as lease:
            await begun(lease)
            for _ in range(3):
                async with lease.branches(4) as branches:
                    spinning = [asyncio.create_task(each.step("spin")) for each in branches]
                    await asyncio.sleep(0.01)
                for each in spinning:
                    with pytest.raises(ClosedError, match="the lease is over"):
                        await each
            await goes_on(lease)

    run(play, max_branches=4)


def test_branches_outlive_the_lease_of_the_original() -> None:
    with branched() as pool:
        with pool.lease() as lease, contextlib.ExitStack() as stack:
            lease.reset(seed=1)
            (branch,) = stack.enter_context(lease.branches())
            lease.close()
            with pool.lease() as other:
                other.reset(seed=2)
                goes(branch, 0)
                goes(other, 0)
            with pytest.raises(ClosedError), lease.branches():
                pass
        wait_for(lambda: not pool.num_branches)


@pytest.mark.sanitizers
def test_an_event_loop_that_is_closed_with_branches_open() -> None:
    async def play(pool: LeasePool) -> None:
        async with pool.lease() as lease:
            await lease.reset(seed=1)
            async with lease.branches(2) as branches:
                await branches[0].step("on")
                made.set()
                await branches[1].step("nap")

    with branched() as pool:
        made = threading.Event()
        loop = asyncio.new_event_loop()
        # it would say that the task was pending
        loop.set_exception_handler(lambda *_: None)
        task = loop.create_task(play(pool))
        while not made.is_set():
            loop.run_until_complete(asyncio.sleep(0.001))
        loop.close()
        del task

        def is_free() -> bool:
            # deletes the task, once its step is over
            gc.collect()
            return not pool.num_branches and pool.num_free == 1

        wait_for(is_free)
        with pool.lease() as lease:
            lease.reset(seed=1)
            with lease.branches(4) as branches:
                for branch in branches:
                    goes(branch, 0)


def test_too_many_for_one_message() -> None:
    with branched(max_branches=130) as pool, pool.lease() as lease:
        lease.reset(seed=1)
        with pytest.raises(ValueError, match="at most 124"), lease.branches(130):
            pass
        assert pool.num_branches == 0
        goes(lease, 0)


@pytest.mark.filterwarnings("error")  # of processes that take long
def test_a_closed_pool_ends_its_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "WARN_AFTER", TEST_TIMEOUT / 4)
    pool = branched()
    with pool.lease() as lease, contextlib.ExitStack() as stack:
        lease.reset(seed=1)
        awake, _ = stack.enter_context(lease.branches(2))
        goes(awake, 0)
        (grandchild,) = stack.enter_context(awake.branches())
        goes(grandchild, 1)
        pids = [pid for pid in pool.worker_pids if pid]
        assert len(pids) == 4
        pool.close(timeout=TEST_TIMEOUT / 2)
        wait_for(lambda: all(map(has_ended, pids)))
        for each in (lease, awake, grandchild):
            with pytest.raises(ClosedError):
                each.step("on")
        with pytest.raises(ClosedError), lease.branches():
            pass


PROGRAM = """
from tests.faults.test_branches import branched

if __name__ == "__main__":
    pool = branched(start_method=sys.argv[1])
    with pool.lease() as lease:
        lease.reset(seed=1)
        with lease.branches(3) as (spinning, awake, asleep):
            awake.reset(seed=1)
            with awake.branches() as (twin,):
                twin.reset(seed=1)
                come("made")
                spinning.step("spin", timeout=1000)
"""


@pytest.mark.sanitizers
@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_branches_end_with_a_program_that_is_killed(
    program: Callable[..., Program], method: str
) -> None:
    running = program(PROGRAM, method)
    running.meet("made")
    running.process.kill()
    # waits until all its processes have ended
    assert running.end().code == -signal.SIGKILL


def test_a_worker_that_dies_as_it_is_told_of_its_branches() -> None:
    """The watcher has closed the connection when the message is sent."""
    with branched() as pool, pool.lease() as lease:
        lease.reset(seed=1)
        pid = pool.worker_pids[0]
        assert pid is not None
        places = 0

        def at_sending(_: Any, event: str, function: Any) -> None:
            nonlocal places
            if event == "c_call" and function.__name__ == "sendmsg":
                sys.setprofile(None)
                places += 1
                os.kill(pid, signal.SIGKILL)
                wait_for(lambda: pool.worker_pids[0] != pid)

        sys.setprofile(at_sending)
        try:
            with pytest.raises(WorkerError), lease.branches(2):
                pass
        finally:
            sys.setprofile(None)
        assert places == 1
        lease.reset(seed=1)
        goes(lease, 0)


def test_processes_that_a_branch_starts_end_with_it() -> None:
    with leased() as (_, lease):
        with lease.branches(2) as branches:
            pids = [branch.call("spawn") for branch in branches]
            with pytest.raises(WorkerError):
                branches[0].step("kill")
        wait_for(lambda: all(map(has_ended, pids)))


def test_an_environment_that_forks(capfd: pytest.CaptureFixture[str]) -> None:
    with leased() as (_, lease), lease.branches() as (branch,):
        pid = branch.call("fork_and_return")
        wait_for(lambda: has_ended(pid))
        goes(branch, 2)
        with branch.branches() as (twin,):
            goes(twin, 3)
    assert "returned from" in capfd.readouterr().err


@pytest.mark.sanitizers
def test_nothing_is_left_of_many_branches() -> None:
    def held() -> tuple[int, int, int]:
        own = (len(os.listdir(f"/proc/self/{folder}")) for folder in ("fd", "task"))
        return (*own, len(os.listdir(f"/proc/{pid}/fd")))

    with leased() as (pool, lease):
        pid = pool.worker_pids[0]
        first = (0, 0, 0)
        for i in range(8):
            with lease.branches(4) as branches:
                goes(branches[0], 2)
            wait_for(lambda: not pool.num_branches)
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            assert len(children) <= 4
            if i == 1:
                first = held()
        # threads may still be closing what the last ones had
        wait_for(lambda: all(last <= most for last, most in zip(held(), first, strict=True)))


@pytest.mark.quick(0)
@pytest.mark.parametrize("python", [sys.executable, *interpreters.others()])
def test_another_interpreter(python: str) -> None:
    # which may have no pytest
    made = "gymnasium.envs.classic_control:CartPoleEnv"
    with LeasePool([made], python=python, max_branches=2) as pool, pool.lease() as lease:
        lease.reset(seed=1)
        with lease.branches() as (branch,), branch.branches() as (twin,):
            observation, *_ = branch.step(1)
            for other in (twin, lease):
                np.testing.assert_array_equal(other.step(1)[0], observation)
