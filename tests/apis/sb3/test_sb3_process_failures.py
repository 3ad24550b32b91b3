"""PoolVecEnv over Python environments: exceptions, dead workers and restarts."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool.compat.sb3 import PoolVecEnv
from parallel_pool.errors import EnvError, StateError, WorkerError
from tests.parity.test_process_parity import INFOS, Teller
from tests.support.same import assert_same
from tests.support.sb3_process_cases import SPACES, Maker, made, process_ids, tellers
from tests.support.timeouts import has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")


class Counting(gymnasium.Env[Any, Any]):
    """Counts its steps, and calls `trouble` at step `when` and in resets with options.

    Args:
        trouble: a function without arguments.
        when: the number of the step in its episode.
    """

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, trouble: Callable[[], Any] | None = None, when: int = 3) -> None:
        self.trouble, self.when = trouble, when
        self.steps = self.first = 0

    def _show(self) -> Any:
        return np.array([self.steps, self.first], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if options and self.trouble is not None:
            self.trouble()
        self.steps = 0
        self.first = int(self.np_random.integers(1000)) if seed is not None else -1
        return self._show(), {"reset": self.first}

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.trouble is not None and self.steps == self.when:
            self.trouble()
        return self._show(), 1.0, False, False, {"steps": self.steps}


class OwnError(Exception):
    """An exception class of this file."""


def fail() -> None:
    raise OwnError("what %d is %s")


def counters(trouble: Callable[[], Any] | None = None) -> list[Maker]:
    """Four environments, of which number 2 has trouble."""
    return [Counting, Counting, partial(Counting, trouble), Counting]


def test_an_exception_is_raised_unchanged() -> None:
    with made(counters(fail)) as env:
        env.reset()
        env.step([0] * 4)
        env.step([0] * 4)
        env.reset_infos[:] = [{}] * 4
        with pytest.raises(OwnError, match="what %d is %s") as caught:
            env.step([0] * 4)
        assert "environment 2 failed" in caught.value.__notes__[0]
        cause = caught.value.__cause__
        assert isinstance(cause, EnvError) and cause.env_ids == (2,)
        assert "in fail" in str(cause)
        observations, rewards, dones, infos = cause.batch
        assert observations[:, 0].tolist() == [3, 3, 0, 3] and rewards.tolist() == [1, 1, 0, 1]
        assert not dones.any()
        assert infos[3] == {"steps": 3, "TimeLimit.truncated": False}
        assert infos[2] == {"TimeLimit.truncated": False}
        # its next step is a reset
        observations, rewards, dones, infos = env.step([0] * 4)
        assert observations[:, 0].tolist() == [4, 4, 0, 4] and rewards.tolist() == [1, 1, 0, 1]
        assert not dones.any() and infos[2] == {"TimeLimit.truncated": False}
        assert env.reset_infos == [{}, {}, {"reset": -1}, {}]
        # later steps are normal
        assert env.step([0] * 4)[0][:, 0].tolist() == [5, 5, 1, 5]
        assert env.reset_infos == [{}, {}, {"reset": -1}, {}]


@pytest.mark.slow
def test_after_an_exception_in_a_reset_the_next_step_is_a_reset() -> None:
    with made(counters(fail)) as env:
        env.reset()
        env.step([0] * 4)
        env.set_options([{}, {}, {"do": 1}, {}])
        with pytest.raises(OwnError) as caught:
            env.reset()
        assert isinstance(caught.value.__cause__, EnvError)
        assert caught.value.__cause__.batch[:, 0].tolist() == [0] * 4
        assert env.step([0] * 4)[0][:, 0].tolist() == [1, 1, 0, 1]
        # after another failure and a reset nothing is pending
        env.set_options([{}, {}, {"do": 1}, {}])
        with pytest.raises(OwnError):
            env.reset()
        env.set_options()
        assert env.reset()[:, 0].tolist() == [0] * 4
        assert [info["steps"] for info in env.step([0] * 4)[3]] == [1] * 4
        assert env.reset_infos == [{"reset": -1}] * 4


@pytest.mark.slow
class Speaker(gymnasium.Env[Any, Any]):
    """Observations with a text, which travel as objects; the first reset may raise."""

    def __init__(self, fails: bool) -> None:
        self.observation_space = spaces.Dict(said=spaces.Text(8), at=spaces.Box(-1, 1, (2,)))
        self.action_space = spaces.Discrete(2)
        self.fails = fails

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if self.fails:
            self.fails = False
            raise ZeroDivisionError("the first reset")
        return {"said": "hello", "at": np.ones(2, np.float32)}, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return {"said": "step", "at": np.zeros(2, np.float32)}, 1.0, False, False, {}


def test_an_exception_of_the_first_reset_is_raised_unchanged_without_arrays() -> None:
    envs = PoolVecEnv([partial(Speaker, fails=i == 1) for i in range(2)], num_workers=0)
    with pytest.raises(ZeroDivisionError, match="the first reset") as caught:
        envs.reset()
    assert isinstance(caught.value.__cause__, EnvError)
    observations = caught.value.__cause__.batch
    assert observations["said"][0] == "hello" and observations["at"].tolist() == [[1, 1], [0, 0]]
    assert envs.reset()["said"] == ("hello", "hello")
    envs.close()


def test_after_an_exception_each_step_has_its_own_infos() -> None:
    """Also in an environment whose infos are empty for some steps."""

    class Once(Teller):
        def step(self, action: Any) -> Any:
            if self.episodes == 1:
                raise OwnError
            return super().step(action)

    tell = INFOS["now and then"]
    with made([partial(Once, length=3, tell=tell), partial(Teller, length=9)]) as env:
        env.reset()
        with pytest.raises(OwnError):
            env.step([0, 0])
        infos = [env.step([0, 0])[3][0] for _ in range(3)]
        assert infos == [{"TimeLimit.truncated": False, **more} for more in ({}, {}, {"seldom": 2})]
        assert env.reset_infos == [{}, {}]


def test_an_exception_in_a_constructor_names_the_environment() -> None:
    with pytest.raises(OwnError) as caught:
        PoolVecEnv([Counting, fail], "fork")
    assert any("environment 1 can't be made" in note for note in caught.value.__notes__)


@pytest.mark.slow
def test_after_an_exception_in_a_method_steps_continue() -> None:
    with made(counters(fail)) as env:
        env.reset()
        with pytest.raises(OwnError):
            env.env_method("reset", options={"do": 1}, indices=[2])
        assert len(env.step([0] * 4)) == 4


@pytest.mark.quick(1)
@pytest.mark.parametrize("how", ["exit", "kill"])
def test_a_worker_that_dies_is_named(how: str) -> None:
    trouble = {"exit": lambda: os._exit(3), "kill": lambda: os.kill(os.getpid(), signal.SIGKILL)}
    with made(counters(trouble[how])) as env:
        env.reset()
        env.step([0] * 4)
        env.step([0] * 4)
        reason = "exit code 3" if how == "exit" else "SIGKILL"
        with pytest.raises(WorkerError, match=rf"environment 2.*{reason}") as caught:
            env.step([0] * 4)
        assert caught.value.env_ids == (2, 3)
        observations, _, dones, infos = caught.value.batch
        assert observations[:2, 0].tolist() == [3, 3] and not dones.any() and len(infos) == 4
        # from now on every call raises, and none hangs
        for call in (
            lambda: env.step([0] * 4),
            env.reset,
            lambda: (env.set_options([{"a": i} for i in range(4)]), env.reset()),
            env.reset,
            lambda: env.get_attr("steps"),
        ):
            with pytest.raises((StateError, WorkerError)):
                call()


@pytest.mark.slow
def test_an_environment_that_hangs_is_killed() -> None:
    # enough for the steps before, also on a busy machine
    with made(counters(lambda: time.sleep(1e6)), timeout=5.0) as env:
        env.reset()
        with pytest.raises(WorkerError, match=r"environment 2 took longer than timeout=5\.0"):
            for _ in range(3):
                env.step([0] * 4)


def check_restart(env: PoolVecEnv, result: Any, last: Any, restarted: list[int]) -> None:
    """Checks a step's results of environments that were made again."""
    observations, rewards, dones, infos = result
    for i in range(4):
        assert dones[i] == (i in restarted)
        if i not in restarted:
            steps = last[i, 0] + 1
            assert (observations[i, 0], rewards[i]) == (steps, 1)
            assert infos[i] == {"steps": steps, "TimeLimit.truncated": False}
            continue
        seed = infos[i]["restart_seed"]
        assert list(infos[i])[:2] == ["TimeLimit.truncated", "terminal_observation"]
        assert infos[i]["TimeLimit.truncated"] is True and infos[i]["worker_restarted"] is True
        assert_same(infos[i]["terminal_observation"], last[i], f"last of {i}")
        assert rewards[i] == 0
        # an environment made with this seed shows the same
        again, reset_info = Counting().reset(seed=seed)
        assert_same(observations[i], again, f"first of {i}")
        assert env.reset_infos[i]["reset"] == reset_info["reset"]


@pytest.mark.slow
def test_environments_of_a_killed_worker_are_made_again() -> None:
    with made(counters(), on_error="restart") as env:
        env.reset()
        for _ in range(3):
            last = env.step([0] * 4)[0]
            pid = process_ids(env)[3]
            os.kill(pid, signal.SIGKILL)
            wait_for(partial(has_ended, pid))
            check_restart(env, env.step([0] * 4), last, [2, 3])
            # later steps are normal
            observations, rewards, dones, infos = env.step([0] * 4)
            assert observations[2:, 0].tolist() == [1, 1] and rewards.tolist() == [1] * 4
            assert not dones.any() and "worker_restarted" not in infos[2]


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("trouble", "restarted"), [(lambda: os._exit(1), [2, 3]), (fail, [2])], ids=["dies", "raises"]
)
def test_environments_that_fail_in_a_step_are_made_again(
    trouble: Callable[[], Any], restarted: list[int]
) -> None:
    """At every third step: all environments of a dead worker, but only the one that raises."""
    with made(counters(trouble), on_error="restart") as env:
        last = env.reset()
        for step in range(1, 12):
            result = env.step([0] * 4)
            check_restart(env, result, last, restarted if step % 3 == 0 else [])
            last = result[0]


def test_an_environment_that_fails_in_a_reset_is_made_again() -> None:
    """It is reset again, and only the infos of the reset show the restart."""
    calls: list[int] = []

    def fail_once() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OwnError

    with made(counters(fail_once), on_error="restart") as env:
        env.set_options({"do": 1})
        env.seed(7)
        assert env.reset()[:, 0].tolist() == [0] * 4
        seeds = [info.get("restart_seed") for info in env.reset_infos]
        assert seeds == [None, None, 9, None]


@pytest.mark.slow
def test_a_restart_returns_the_last_observation_of_a_space_without_fixed_size() -> None:
    with made(tellers(2, of=SPACES["text"]), on_error="restart") as env:
        last = env.reset()[1]
        pid = process_ids(env)[1]
        os.kill(pid, signal.SIGKILL)
        wait_for(partial(has_ended, pid))
        _, _, dones, infos = env.step([0, 0])
        assert dones.tolist() == [False, True]
        assert infos[1]["terminal_observation"] == last


@pytest.mark.slow
def test_an_interrupt_loses_nothing_and_ends_nothing() -> None:
    """Ctrl-C while workers step: step_wait returns the step, or reset drops it."""

    here, there = os.pipe()
    with made(counters(lambda: os.read(here, 1))) as env:
        env.reset()
        env.step([0] * 4)
        env.step([0] * 4)
        with pytest.raises(KeyboardInterrupt):
            env.step_async([0] * 4)
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            env.step_wait()
        os.write(there, b"go on")
        with pytest.raises(StateError, match="in flight"):
            env.step([0] * 4)
        assert env.step_wait()[0][:, 0].tolist() == [3] * 4
        env.step_async([0] * 4)
        assert env.reset()[:, 0].tolist() == [0] * 4
    os.close(here)
    os.close(there)
