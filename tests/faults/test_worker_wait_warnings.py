"""Warnings that name what a call waits for, and how Ctrl-C and close report it."""

from __future__ import annotations

import os
import re
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.watch import wait_warnings
from parallel_pool.errors import SlowWorkerWarning
from tests.faults.failing_envs import (
    ACTIONS,
    Counting,
    WaitFor,
    pid_of,
    pool_of,
    sleep_for_ever,
    until_stepping,
)
from tests.support.programs import Program
from tests.support.timeouts import TEST_TIMEOUT

pytestmark = pytest.mark.usefixtures("alarm")


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the first warning come after a moment."""
    monkeypatch.setattr(wait_warnings, "FIRST", 0.3)


class Warned(Exception):
    """The warning for which a test waits."""


def warning_of(wait: Callable[[], Any], part: str) -> str:
    """Calls `wait` until it gives a warning with a part; returns the text of the warning.

    Others may come before, of workers that the system has not run yet.
    """

    def show(message: Warning | str, category: type, filename: str, *_: Any) -> None:
        assert category is SlowWorkerWarning
        # it points to the caller's code
        assert filename == __file__
        if part in str(message):
            raise Warned(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show  # type: ignore[assignment]
        with pytest.raises(Warned) as caught:
            wait()
    return str(caught.value)


@pytest.mark.slow
def test_an_environment_that_hangs_in_step_is_named(soon: None) -> None:
    with pool_of(sleep_for_ever, 1) as pool:
        pool.reset(seed=0)
        pid = pid_of(pool, 1)
        part = f"environment 2 in step (worker process {pid})"
        text = warning_of(lambda: pool.step(ACTIONS, timeout=TEST_TIMEOUT), part)
        assert re.match(r"still waiting after \d+ s for ", text)
        assert "timeout=" in text and "SlowWorkerWarning" in text
        warning_of(lambda: pool.recv(timeout=TEST_TIMEOUT), part)
        with pytest.warns(SlowWorkerWarning, match="to be killed in .* environment 2 in step"):
            pool.close(timeout=1.2)


@pytest.mark.slow
def test_several_environments_that_hang_in_reset_are_named(soon: None) -> None:
    fns = [lambda: Counting(sleep_for_ever, 1, "reset")] * 12
    with ProcessPool(fns, num_workers=12, start_method="fork") as pool:
        pool.send_reset(seed=0)
        for env_id in range(12):
            until_stepping(pool, env_id)
        text = warning_of(lambda: pool.recv(timeout=TEST_TIMEOUT), "environment 0 in reset")
        assert "; and 4 more:" in text
        pool.close(timeout=0.0)


@pytest.mark.slow
def test_an_environment_that_hangs_in_a_call_is_named(soon: None) -> None:
    with pool_of() as pool:
        pool.reset(seed=0)
        pool.set_attr("render", [sleep_for_ever], [3])
        call = pool.send_call("render", env_ids=[3])
        part = f"call render of environments [3] (worker process {pid_of(pool, 1)})"
        warning_of(lambda: pool.recv_call(call, TEST_TIMEOUT), part)
        pool.close(timeout=0.0)


@pytest.mark.slow
def test_an_environment_that_hangs_while_it_is_made_is_named(soon: None) -> None:
    def make() -> ProcessPool:
        fns = [Counting, sleep_for_ever]
        return ProcessPool(fns, num_workers=2, start_method="fork", start_timeout=TEST_TIMEOUT)

    warning_of(make, "environment 1 to be made (worker process")


@pytest.mark.slow
def test_a_worker_that_does_not_begin_its_turns_is_named(soon: None) -> None:
    with pool_of() as pool:
        pool.reset(seed=0)
        pid = pid_of(pool, 0)
        os.kill(pid, signal.SIGSTOP)
        part = f"worker process {pid} to begin its next step"
        warning_of(lambda: pool.step(ACTIONS, timeout=TEST_TIMEOUT), part)
        os.kill(pid, signal.SIGCONT)
        pool.recv()


@pytest.mark.slow
def test_environments_that_are_often_a_little_slow_cause_no_warning(
    soon: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each is waited for in two updates, between which less time passes than to a warning."""
    release, update = tmp_path / "release", wait_warnings.WaitWarnings.update
    now, count = 1000.0, 0

    def slowly(self: wait_warnings.WaitWarnings, keys: Any, describe: Any) -> None:
        nonlocal now, count
        update(self, keys, describe)
        count += 1
        if count == 1:
            now += 0.2
        elif not release.exists():
            release.touch()

    monkeypatch.setattr(wait_warnings, "time", SimpleNamespace(monotonic=lambda: now))
    with pool_of(WaitFor(release), 1, "reset") as pool:
        monkeypatch.setattr(wait_warnings.WaitWarnings, "update", slowly)
        for _ in range(3):
            count = 0
            pool.send_reset(seed=0)
            until_stepping(pool, 2)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                pool.recv()
            pool.set_attr("resets", [0] * 4)
            release.unlink()


@pytest.mark.slow
def test_a_warning_that_is_an_error_loses_no_result(soon: None, tmp_path: Path) -> None:
    release = tmp_path / "release"
    with pool_of(WaitFor(release), 1) as pool:
        pool.reset(seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(SlowWorkerWarning):
                pool.step(ACTIONS)
        release.touch()
        assert len(pool.recv()[0]) == 4


def test_warnings_come_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(wait_warnings.time, "monotonic", lambda: now)
    own, warned = wait_warnings.WaitWarnings(), []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for second in range(9000):
            own.update(["one"], str)
            if seen:
                warned.append(second)
                seen.clear()
            now += 1.0
        assert warned == [30, 60, 120, 240, 480, 960, 1920, 3720, 5520, 7320]
        # a long time between two updates is not waiting; a key that was missing starts from 0
        own.update([], str)
        for _ in range(29):
            own.update(["one"], str)
            now += 1000.0
        assert not seen
    assert wait_warnings.joined(["a", "b"]) == "a; b"


# ---------------------------------------------------------------------------------------- Ctrl-C --

HANGS = """
from parallel_pool._workers.watch import supervisor

# close waits for the whole grace, without the interrupt: longer than the test may last
supervisor.GRACE = supervisor.Supervisor.close.__kwdefaults__["grace"] = 1e6

class Hangs(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}
    def step(self, action):
        come("hangs")
        time.sleep(1e6)
"""

SCRIPTS = {
    "at exit": """
pool = ProcessPool([Hangs], start_method="fork")
pool.reset()
pool.step([0])
""",
    "with": """
with ProcessPool([Hangs], start_method="fork") as pool:
    pool.reset()
    pool.step([0])
""",
    "vector": """
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
env = ProcessVectorEnv([Hangs], context="fork")
try:
    env.reset()
    env.step([0])
finally:
    env.close()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", SCRIPTS)
def test_ctrl_c_names_what_it_ends_and_ends_it_soon(
    program: Callable[..., Program], how: str
) -> None:
    running = program(HANGS + SCRIPTS[how], env={"PYTHONWARNINGS": ""})
    running.meet("hangs")
    running.process.send_signal(signal.SIGINT)
    done = running.end()
    assert done.code in (1, 130, -signal.SIGINT)
    assert "KeyboardInterrupt" in done.err
    assert "while waiting for environment 0 in step (worker process" in done.err
    assert "killed after 1 s: environment 0 in step (worker process" in done.err
