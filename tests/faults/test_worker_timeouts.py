"""Timeouts: environments that take too long are killed and named, whatever the caller does."""

from __future__ import annotations

import gc
import math
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool._workers.data.messages import INFO, MAX_RESTARTS
from parallel_pool._workers.pool_arguments import check_timeouts
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.start.deadline import Deadline
from parallel_pool._workers.watch import supervisor
from parallel_pool._workers.watch.supervisor import Supervisor
from parallel_pool.compat import sb3
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.pettingzoo import PoolParallelEnv
from parallel_pool.errors import PoolTimeoutError, SlowWorkerWarning, StateError, WorkerError
from parallel_pool.testing import inspect
from tests.faults.failing_envs import (
    ACTIONS,
    ENV_ID,
    OBS,
    TRUNCATED,
    Counting,
    InTurn,
    WaitFor,
    kill,
    nothing,
    pid_of,
    pool_of,
    sleep_for_ever,
    until_stepping,
)
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")

FORK: dict[str, Any] = {"num_workers": 2, "start_method": "fork"}


def timers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "pp-timer"]


# ------------------------------------------------------------------------------------ turns --


@pytest.mark.slow
def test_an_environment_that_hangs_is_waited_for_or_killed() -> None:
    with pool_of(sleep_for_ever) as pool:
        pool.reset(seed=0)
        pool.step(ACTIONS)
        pool.step(ACTIONS)
        with pytest.raises(PoolTimeoutError):
            pool.step(ACTIONS, timeout=0.2)
        pool.close(timeout=0.1)
    with pool_of(sleep_for_ever, timeout=2.0) as pool:
        pool.reset(seed=0)
        with pytest.raises(WorkerError, match=r"environment 2 took longer than timeout=2\.0 s"):
            for _ in range(3):
                pool.step(ACTIONS)
        with pytest.raises(StateError, match=r"environment 2 has died: .* longer than timeout"):
            pool.step(ACTIONS)


@pytest.mark.slow
def test_an_environment_that_hangs_in_reset_is_killed() -> None:
    with (
        pool_of(sleep_for_ever, 1, "reset", timeout=2.0) as pool,
        pytest.raises(WorkerError, match=r"environment 2 took longer than timeout=2\.0 s"),
    ):
        pool.reset(seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["send", "step"])
@pytest.mark.parametrize("on_error", ["raise", "restart"])
def test_an_environment_that_hangs_while_the_caller_is_busy_is_killed(
    how: str, on_error: str, tmp_path: Path
) -> None:
    """recv always returns at once, with results of the others."""
    trouble = InTurn(tmp_path / "calls", sleep_for_ever)
    with pool_of(trouble, timeout=2.0, batch_size=2, on_error=on_error) as pool:
        pool.send_reset()
        batch = pool.recv()
        seen = set()
        error = None
        while error is None and not batch[TRUNCATED].any():
            seen |= set(batch[ENV_ID].tolist())
            try:
                if how == "step":
                    batch = pool.step(np.zeros(len(batch[ENV_ID]), np.int64), batch[ENV_ID])
                else:
                    pool.send(np.zeros(len(batch[ENV_ID]), np.int64), batch[ENV_ID])
                    batch = pool.recv()
            except WorkerError as caught:
                error = caught
        assert seen == {0, 1, 2, 3}
        assert (error is None) == (on_error == "restart")
        assert "environment 2 took longer than timeout=2.0 s" in str(inspect(pool).deaths[1])
        if error is not None:
            assert set(error.env_ids) <= {2, 3}
        else:
            restarted = batch[ENV_ID][batch[TRUNCATED]][0]
            assert restarted in (2, 3) and pool.replies()[restarted][INFO]["worker_restarted"]


@pytest.mark.slow
def test_a_worker_that_does_not_begin_its_turns_is_killed() -> None:
    """The worker is stopped, or busy with a call whose caller has given up."""
    with pool_of(timeout=2.0) as pool:
        pool.reset(seed=0)
        os.kill(pid_of(pool, 1), signal.SIGSTOP)
        with pytest.raises(WorkerError, match=r"took longer than timeout=2\.0 s to begin its"):
            pool.step(ACTIONS)
    with pool_of(timeout=2.0) as pool:
        pool.reset(seed=0)
        with pytest.raises(PoolTimeoutError, match=r"no answer within 0\.1 s to .*environments"):
            pool.recv_call(_hang(pool), 0.1)
        with pytest.raises(WorkerError, match=r"took longer than timeout=2\.0 s to begin its"):
            pool.step(ACTIONS)


def _hang(pool: ProcessPool) -> Any:
    pool.set_attr("sleep", [time.sleep], [3])
    return pool.send_call("sleep", (1e6,), env_ids=[3])


@pytest.mark.slow
def test_each_turn_has_the_whole_timeout() -> None:
    """All turns of the worker together take longer than the timeout, and none is killed."""

    class Slow(Counting):
        def step(self, action: Any) -> Any:
            time.sleep(0.5)
            return super().step(action)

    with ProcessPool([Slow] * 8, num_workers=1, start_method="fork", timeout=3.0) as pool:
        pool.reset(seed=0)
        np.testing.assert_array_equal(pool.step(np.zeros(8, int))[OBS][:, 0], [1] * 8)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """What each look of a timer at its pool's turns returns: the pause; None: it falls asleep."""
    found: list[float | None] = []
    look = Supervisor.check_turns

    def noted(self: Supervisor) -> float | None:
        pause = look(self)
        found.append(pause)
        return pause

    monkeypatch.setattr(Supervisor, "check_turns", noted)
    return found


def wait_for_sleep(looks: list[float | None], seconds: float = 0.1) -> None:
    """Waits until the timer does not look for some time.

    A wake-up that came late may cause one more look.
    """

    def sleeps() -> bool:
        before = len(looks)
        time.sleep(seconds)
        return bool(looks) and looks[-1] is None and len(looks) == before

    wait_for(sleeps)


class FakeTime:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def monotonic(self) -> float:
        return self.now

    sleep = staticmethod(time.sleep)


def test_time_in_which_all_were_stopped_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looks: list[float | None]
) -> None:
    """After Ctrl-Z hours may have passed, in which no environment took too long."""
    release = tmp_path / "release"
    fake = FakeTime()
    monkeypatch.setattr(supervisor, "time", fake)
    # the timer looks often
    monkeypatch.setattr(supervisor, "MAX_PAUSE", 0.01)
    with pool_of(WaitFor(release), timeout=10.0) as pool:
        pool.reset(seed=0)
        pool.step(ACTIONS)
        pool.step(ACTIONS)
        pool.send(ACTIONS)
        until_stepping(pool, 2)
        for _ in range(3):
            fake.now += 3600
            before = len(looks)
            wait_for(lambda before=before: len(looks) >= before + 2)
        assert not inspect(pool).deaths
        release.touch()
        np.testing.assert_array_equal(pool.recv()[OBS][:, 0], [3] * 4)
        monkeypatch.undo()


# ------------------------------------------------------------------------------------ timer --


@pytest.mark.slow
def test_without_a_timeout_there_is_no_timer() -> None:
    before = timers()
    with pool_of(), pool_of(timeout=math.inf):
        assert not set(timers()) - set(before)


@pytest.mark.slow
def test_the_timer_sleeps_while_nothing_is_in_flight(looks: list[float | None]) -> None:
    with pool_of(timeout=2.0) as pool:
        for _ in range(2):
            pool.reset(seed=0)
            # longer than the timeout, within which the timer would look if it did not sleep
            wait_for_sleep(looks, 2.2)


@pytest.mark.slow
def test_a_timeout_may_be_infinite(tmp_path: Path) -> None:
    """Of a call, and the grace of a worker that closes for longer than the warning waits."""
    warned = tmp_path / "warned"

    class Closing(Counting):
        def close(self) -> None:
            while not warned.exists():
                time.sleep(0.01)

    def let_go() -> None:
        try:
            wait_for(lambda: len(record) > 0)
        finally:
            warned.touch()

    with pool_of(timeout=math.inf, start_timeout=math.inf) as pool:
        pool.reset(seed=0, timeout=math.inf)
        assert pool.call("steps", timeout=math.inf) == [0, 0, 0, 0]
    pool = ProcessPool([Closing], start_method="fork")
    thread = threading.Thread(target=let_go)
    with pytest.warns(SlowWorkerWarning, match="which closes its environments") as record:
        thread.start()
        pool.close(timeout=math.inf)
    thread.join()
    assert not inspect(pool).deaths


@pytest.mark.slow
@pytest.mark.parametrize("how", ["send", "send_reset", "step"])
def test_whatever_is_sent_wakes_the_timer(how: str, looks: list[float | None]) -> None:
    """The timer checks the turn even if the caller does not wait for the result."""
    at = "reset" if how == "send_reset" else "step"
    with pool_of(sleep_for_ever, 2 if at == "reset" else 1, at, timeout=2.0, batch_size=2) as pool:
        pool.send_reset()
        pool.recv()
        pool.recv()
        wait_for_sleep(looks)
        if how == "send":
            pool.send(ACTIONS)
        elif how == "send_reset":
            pool.send_reset()
        else:
            np.testing.assert_array_equal(pool.step(ACTIONS)[ENV_ID], [0, 1])
        wait_for(lambda: 1 in inspect(pool).deaths)


@pytest.mark.parametrize("is_in_flight", [True, False])
def test_the_timer_ends_with_a_deleted_pool(is_in_flight: bool) -> None:
    before = timers()
    pool: Any = pool_of(timeout=50.0)
    (timer,) = set(timers()) - set(before)
    pids = [pid_of(pool, lane) for lane in (0, 1)]
    if is_in_flight:
        pool.send_reset()
    gone = weakref.ref(pool)
    del pool
    # neither the timer nor a reference cycle keeps it alive
    gc.disable()
    try:
        assert gone() is None
    finally:
        gc.enable()
    wait_for(lambda: not timer.is_alive() and all(map(has_ended, pids)))


def test_the_timer_ends_with_close() -> None:
    before = timers()
    pool = pool_of(timeout=50.0)
    (timer,) = set(timers()) - set(before)
    pool.close()
    wait_for(lambda: not timer.is_alive())


@pytest.mark.parametrize("name", ["timeout", "start_timeout"])
def test_wrong_timeouts_are_refused(name: str) -> None:
    for wrong in (0, 0.0, -1, math.nan):
        with pytest.raises(ValueError, match=f"{name}={wrong}: choose more than 0 seconds"):
            pool_of(**{name: wrong})
    with pytest.raises(TypeError, match="give seconds"):
        pool_of(**{name: "1"})


# -------------------------------------------------------------------------------------- start --


def made_by(make: Callable[[], Any], **options: Any) -> ProcessPool:
    """Makes a pool of four environments in two workers; `make` makes environment 2."""
    fns: list[Any] = [Counting, Counting, make, Counting]
    return ProcessPool(fns, **{**FORK, **options})


@pytest.mark.slow
def test_a_constructor_that_never_returns_is_named() -> None:
    before = children()
    with pytest.raises(WorkerError, match=r"environments 2 to 3 \(worker process \d+\) not made"):
        # the other worker must be ready by then
        made_by(sleep_for_ever, start_timeout=5.0)
    assert children() <= before
    with pytest.raises(WorkerError, match=r"environment 0 \(worker process \d+\) not made"):
        PoolVectorEnv([sleep_for_ever], context="fork", start_timeout=0.3)
    with pytest.raises(WorkerError, match=r"environment 0 \(worker process \d+\) not made"):
        sb3.PoolVecEnv([sleep_for_ever], start_method="fork", start_timeout=0.3)
    with pytest.raises(WorkerError, match=r"environment 0 \(worker process \d+\) not made"):
        PoolParallelEnv([sleep_for_ever], context="fork", start_timeout=0.3)


@pytest.mark.slow
def test_a_timeout_limits_the_start_too(monkeypatch: pytest.MonkeyPatch) -> None:
    # the other worker must be ready by then
    monkeypatch.setattr("parallel_pool._workers.pool_arguments.START_TIMEOUT", 5.0)
    with pytest.raises(
        WorkerError, match=r"within start_timeout=5\.0 s: choose a longer start_timeout"
    ) as e:
        made_by(sleep_for_ever, timeout=0.1)
    assert e.value.env_ids == (2, 3)
    monkeypatch.setattr("parallel_pool._workers.pool_arguments.START_TIMEOUT", 0.3)
    # the longer of both timeouts applies; with math.inf there is none
    made_by(lambda: time.sleep(0.5) or Counting(), timeout=20.0).close()
    assert check_timeouts(20.0, None) == (20.0, 20.0)
    assert check_timeouts(0.1, None) == (0.1, 0.3)
    pool_of(timeout=0.1, start_timeout=math.inf).close()
    assert check_timeouts(0.1, math.inf) == (0.1, None)


@pytest.mark.slow
def test_a_failure_is_raised_while_another_never_returns() -> None:
    """A worker that hangs does not hide the failure of a later one."""

    def refuse() -> None:
        raise KeyError("no such level")

    before = children()
    for fns in ([sleep_for_ever, refuse], [refuse, sleep_for_ever]):
        with pytest.raises(KeyError, match="no such level") as caught:
            ProcessPool(fns, **FORK)
        env_id = fns.index(refuse)
        assert caught.value.__notes__ == [f"environment {env_id} can't be made"]
        assert caught.value.__cause__.env_ids == (env_id,)  # type: ignore[union-attr]
    with pytest.raises(WorkerError, match="exit code 3 before environment 1 could be made"):
        ProcessPool([sleep_for_ever, lambda: os._exit(3)], **FORK)
    assert children() <= before


@pytest.mark.sanitizers
def test_a_worker_that_dies_while_another_starts_is_named(tmp_path: Path) -> None:
    """The worker that dies has made its environments."""
    pid = tmp_path / "pid"

    def make_and_report() -> Any:
        pid.with_suffix(".new").write_text(str(os.getpid()))
        pid.with_suffix(".new").rename(pid)
        return Counting()

    def kill_other() -> None:
        WaitFor(pid)()
        time.sleep(0.2)
        os.kill(int(pid.read_text()), signal.SIGKILL)
        sleep_for_ever()

    with pytest.raises(WorkerError, match="SIGKILL before environment 0 could be") as caught:
        ProcessPool([make_and_report, kill_other], **FORK)
    assert caught.value.env_ids == (0,)


@pytest.mark.slow
def test_restarts_that_never_end_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = InTurn(tmp_path / "made", nothing, *[sleep_for_ever] * 20)

    def make() -> Any:
        made()
        return Counting()

    with made_by(make, start_timeout=60, on_error="restart") as pool:
        # not for the first start, which may be slow on a busy machine
        monkeypatch.setattr(supervisor, "Deadline", lambda seconds: Deadline(seconds and 4.0))
        pool.reset(seed=0)
        kill(pool, 1)
        wait_for(lambda: inspect(pool).lost)
        assert f"{MAX_RESTARTS} restarts in a row made no step" in inspect(pool).lost[1]
        assert "not made within start_timeout=4.0 s" in inspect(pool).lost[1]
        assert made.calls == 1 + MAX_RESTARTS


def children() -> set[str]:
    """Returns the ids of this process's children that have not ended."""
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for thread in os.listdir("/proc/self/task"):
        pids += Path(f"/proc/self/task/{thread}/children").read_text().split()
    return {pid for pid in pids if not has_ended(int(pid))}


# a constructor hangs; the parent process gets Ctrl-C and prints its exception
HANGING = """
import pathlib, sys, time
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.pool_arguments import check_timeouts
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.watch.supervisor import Supervisor
from parallel_pool._workers.watch.wait_warnings import WaitWarnings

update = WaitWarnings.update

def noted(*args):
    # the process waits for its workers
    open(sys.argv[1] + ".waits", "a").close()
    update(*args)

WaitWarnings.update = noted

def hang():
    import os
    with open(sys.argv[1], "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(1e6)

try:
    ProcessPool([hang, hang, hang], num_workers=2, start_method=sys.argv[2])
except KeyboardInterrupt as error:
    print("interrupted", error.__notes__)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_ctrl_c_names_the_environments_that_are_being_made(method: str, tmp_path: Path) -> None:
    file, waits = tmp_path / "pids", tmp_path / "pids.waits"
    parent = subprocess.Popen(
        [sys.executable, "-c", HANGING, str(file), method],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_for(lambda: parent.poll() is not None or (_count(file) == 2 and waits.exists()))
        parent.send_signal(signal.SIGINT)
        said, _ = parent.communicate(timeout=TEST_TIMEOUT)
    finally:
        parent.kill()
    note = "while waiting for environment 0, environments 1 to 2 to be made"
    assert (parent.returncode, said) == (0, f"interrupted ['{note}']\n")
    wait_for(lambda: all(has_ended(int(pid)) for pid in file.read_text().split()))


def _count(file: Path) -> int:
    return file.read_text().count("\n") if file.exists() else 0
