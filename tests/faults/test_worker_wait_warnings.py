"""Warnings that name what a call waits for, and how Ctrl-C and close report it."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.watch import supervisor, wait_warnings
from parallel_pool.errors import PoolTimeoutError, SlowWorkerWarning, WorkerError
from tests.faults.failing_envs import (
    ACTIONS,
    Counting,
    pid_of,
    pool_of,
    sleep_for_ever,
    until_stepping,
)
from tests.support.programs import Program

pytestmark = pytest.mark.usefixtures("alarm")


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the first warning come after a moment."""
    monkeypatch.setattr(wait_warnings, "FIRST", 0.3)


def warning_of(wait: Callable[[], Any], error: type[Exception] = PoolTimeoutError) -> str:
    """Calls `wait`, which must raise `error`; returns the text of the warning that it gives."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(error):
            wait()
    assert seen and all(each.category is SlowWorkerWarning for each in seen)
    # it points to the caller's code
    assert seen[0].filename == __file__
    return str(seen[0].message)


@pytest.mark.slow
def test_an_environment_that_hangs_in_step_is_named(soon: None) -> None:
    with pool_of(sleep_for_ever, 1) as pool:
        pool.reset(seed=0)
        pid = pid_of(pool, 1)
        text = warning_of(lambda: pool.step(ACTIONS, timeout=1.0))
        assert f"environment 2 in step (worker process {pid})" in text
        assert (
            "still waiting after 0 s for" in text
            and "timeout=" in text
            and "SlowWorkerWarning" in text
        )
        assert "environment 2 in step" in warning_of(lambda: pool.recv(timeout=1.5))
        with pytest.warns(SlowWorkerWarning, match="to be killed in .* environment 2 in step"):
            pool.close(timeout=1.2)


@pytest.mark.slow
def test_several_environments_that_hang_in_reset_are_named(soon: None) -> None:
    fns = [lambda: Counting(sleep_for_ever, 1, "reset")] * 12
    with ProcessPool(fns, num_workers=12, start_method="fork") as pool:
        pool.send_reset(seed=0)
        for env_id in range(12):
            until_stepping(pool, env_id)
        text = warning_of(lambda: pool.recv(timeout=1.0))
        assert "environment 0 in reset" in text and "; and 4 more:" in text
        pool.close(timeout=0.0)


@pytest.mark.slow
def test_an_environment_that_hangs_in_a_call_is_named(soon: None) -> None:
    with pool_of() as pool:
        pool.reset(seed=0)
        pool.set_attr("render", [sleep_for_ever], [3])
        call = pool.send_call("render", env_ids=[3])
        text = warning_of(lambda: pool.recv_call(call, 1.0))
        assert f"call render of environments [3] (worker process {pid_of(pool, 1)})" in text
        pool.close(timeout=0.0)


@pytest.mark.slow
def test_an_environment_that_hangs_while_it_is_made_is_named(soon: None) -> None:
    def make() -> ProcessPool:
        fns = [Counting, sleep_for_ever]
        return ProcessPool(fns, num_workers=2, start_method="fork", start_timeout=1.5)

    assert "environment 1 to be made (worker process" in warning_of(make, WorkerError)


@pytest.mark.slow
def test_a_worker_that_does_not_begin_its_turns_is_named(soon: None) -> None:
    with pool_of() as pool:
        pool.reset(seed=0)
        pid = pid_of(pool, 0)
        os.kill(pid, signal.SIGSTOP)
        text = warning_of(lambda: pool.step(ACTIONS, timeout=1.0))
        assert f"worker process {pid} to begin its next step" in text
        os.kill(pid, signal.SIGCONT)
        pool.recv()


@pytest.mark.slow
def test_environments_that_are_often_a_little_slow_cause_no_warning(soon: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pool_of(lambda: time.sleep(0.15), 1, "reset") as pool:
            for _ in range(3):
                pool.reset(seed=0)
                pool.set_attr("resets", [0] * 4)


@pytest.mark.slow
def test_a_warning_that_is_an_error_loses_no_result(soon: None) -> None:
    with pool_of(lambda: time.sleep(1), 1) as pool:
        pool.reset(seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(SlowWorkerWarning):
                pool.step(ACTIONS)
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
    running = program(HANGS + SCRIPTS[how])
    running.meet("hangs")
    began = time.monotonic()
    running.process.send_signal(signal.SIGINT)
    done = running.end()
    # without the interrupt, close would wait for the whole grace
    assert time.monotonic() - began < supervisor.GRACE
    assert done.code in (1, 130, -signal.SIGINT)
    assert "KeyboardInterrupt" in done.err
    assert "while waiting for environment 0 in step (worker process" in done.err
    assert "killed after 1 s: environment 0 in step (worker process" in done.err
