"""ProcessVectorEnv: environments that fail, workers that die, and closing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import (
    AlreadyPendingCallError,
    NoAsyncCallError,
    ResetNeeded,
)
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool.errors import EnvError, StateError, WorkerError
from tests.support.process_vector_env_cases import (
    ACTIONS,
    FOREVER,
    Barrier,
    Doer,
    OwnError,
    doers,
    interrupted,
    made,
    nap,
    pids,
)
from tests.support.timeouts import has_ended, wait_for


@pytest.fixture
def barrier() -> Iterator[Barrier]:
    with closing(Barrier()) as made:
        yield made


# -------------------------------------------------------------------------------------- failures --


def raise_key(env: Doer) -> None:
    raise KeyError("lost", env.count)


def test_an_exception_is_raised_unchanged() -> None:
    """Its cause has the environment's index and the worker's traceback."""
    with made(raise_key) as env:
        env.reset()
        env.step(ACTIONS)
        with pytest.raises(KeyError) as raised:
            env.step([1] * 4)
        assert raised.value.args == ("lost", 2)
        cause = raised.value.__cause__
        assert isinstance(cause, EnvError)
        assert cause.env_ids == (1,)
        assert "environment 1 failed" in str(cause)
        assert "in raise_key" in str(cause)
        # the one that failed begins a new episode, all others continue
        observations, rewards, *_ = env.step(ACTIONS)
        assert observations.tolist() == [[0, 3], [1, 0], [2, 3], [3, 3]]
        assert rewards.tolist() == [3, 0, 3, 3]
        assert env.reset()[0].tolist() == [[i, 0] for i in range(4)]
        assert env.step(ACTIONS)[1].tolist() == [1] * 4


@pytest.mark.slow
def test_step_wait_raises_an_exception_too() -> None:
    with made(raise_key) as env:
        env.reset()
        env.step_async([1] * 4)
        with pytest.raises(KeyError):
            env.step_wait()
        with pytest.raises(NoAsyncCallError):
            env.step_wait()
        assert env.step(ACTIONS)[1].tolist() == [2, 0, 2, 2]


def test_a_failed_environment_must_be_reset_with_disabled_autoreset() -> None:
    with made(raise_key, autoreset_mode=AutoresetMode.DISABLED) as env:
        env.reset()
        with pytest.raises(KeyError):
            env.step([1] * 4)
        for error in (AssertionError, ResetNeeded, StateError):
            with pytest.raises(error, match="environment 1 has ended its episode or failed"):
                env.step(ACTIONS)
        with pytest.raises(AssertionError):
            env.step_async(ACTIONS)
        # nothing was sent
        assert env.get_attr("total") == (1,) * 4
        mask = np.array([False, True, False, False])
        observations, _ = env.reset(options={"reset_mask": mask})
        assert observations.tolist() == [[0, 1], [1, 0], [2, 1], [3, 1]]
        assert env.step(ACTIONS)[1].tolist() == [2, 1, 2, 2]


def test_ended_episodes_are_refused_before_anything_is_sent() -> None:
    env_fns = [partial(Doer, 0, 2), partial(Doer, 1, 3)]
    theirs = SyncVectorEnv(env_fns, autoreset_mode=AutoresetMode.DISABLED)
    ours = ProcessVectorEnv(
        env_fns, context="fork", num_workers=2, autoreset_mode=AutoresetMode.DISABLED
    )
    for env in (theirs, ours):
        env.reset()
        env.step([0, 0])
        assert env.step([0, 0])[2].tolist() == [True, False]
        with pytest.raises(AssertionError):
            env.step([0, 0])
        # a reset of another environment: the first still needs one
        env.reset(options={"reset_mask": np.array([False, True])})
        with pytest.raises(AssertionError):
            env.step([0, 0])
    # SyncVectorEnv, too, steps nothing while an environment needs a reset
    assert ours.get_attr("total") == theirs.get_attr("total") == (2, 2)
    ours.reset()
    assert ours.step([0, 0])[1].tolist() == [1, 1]
    ours.close()


def divide(env: Any) -> None:
    if env.index == 2:
        raise ZeroDivisionError("by none")


def test_a_reset_that_fails_can_be_tried_again() -> None:
    with made(autoreset_mode=AutoresetMode.DISABLED) as env:
        with pytest.raises(ZeroDivisionError, match="by none") as raised:
            env.reset(options={"do": divide})
        assert isinstance(raised.value.__cause__, EnvError)
        assert raised.value.__cause__.env_ids == (2,)
        with pytest.raises(ResetNeeded, match="environment 2"):
            env.step(ACTIONS)
        env.reset()
        env.step(ACTIONS)
        mask = np.array([False, False, True, True])
        with pytest.raises(ZeroDivisionError):
            env.reset(options={"reset_mask": mask, "do": divide})
        with pytest.raises(ResetNeeded, match="environment 2"):
            env.step(ACTIONS)
        mask = np.array([False, False, True, False])
        observations, _ = env.reset(options={"reset_mask": mask})
        assert observations.tolist() == [[0, 1], [1, 1], [2, 0], [3, 0]]
        assert env.step(ACTIONS)[1].tolist() == [2, 2, 1, 1]


@pytest.mark.slow
def test_a_masked_reset_is_refused_if_another_environment_was_never_reset() -> None:
    with made() as env:
        with pytest.raises(ResetNeeded, match="environment 1 was never reset"):
            env.reset(options={"reset_mask": np.array([True, False, True, True])})
        env.reset(options={"reset_mask": np.ones(4, np.bool_)})
        env.reset(options={"reset_mask": np.array([True, False, True, True])})


def test_a_call_that_fails_leaves_all_usable() -> None:
    with made() as env:
        env.reset()
        with pytest.raises(LookupError, match="gone") as raised:
            env.call("fail", LookupError("gone"))
        assert "in fail" in str(raised.value.__cause__)
        with pytest.raises(AttributeError, match="no_such_thing"):
            env.get_attr("no_such_thing")
        assert env.get_attr("index") == (0, 1, 2, 3)
        assert env.step(ACTIONS)[1].tolist() == [1] * 4


@pytest.mark.parametrize("position", [0, 3])
def test_an_environment_that_can_not_be_made_is_named(position: int) -> None:
    def make() -> Any:
        raise FileNotFoundError("no model")

    env_fns: list[Any] = [Doer] * 4
    env_fns[position] = make
    with pytest.raises(FileNotFoundError, match="no model") as raised:
        ProcessVectorEnv(env_fns, context="fork", num_workers=2)
    assert f"environment {position} " in str(raised.value.__cause__)


@pytest.mark.slow
def test_an_exception_that_can_not_be_pickled_is_described() -> None:
    def do(env: Doer) -> None:
        raise OwnError("one ", "other")

    with made(do) as env:
        env.reset()
        with pytest.raises(EnvError, match="OwnError: one other") as raised:
            env.step([1] * 4)
        assert raised.value.env_ids == (1,)
        env.step(ACTIONS)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "shown",
    [
        np.zeros(3, np.float32),
        np.zeros(1, np.float32),
        np.zeros((1, 2), np.float32),
        np.zeros(2, np.complex128),
        "text",
        {"a": 1},
    ],
    ids=str,
)
def test_an_observation_of_another_shape_or_dtype_is_an_error(shown: Any) -> None:
    with made(lambda env: shown) as env:
        env.reset()
        with pytest.raises((TypeError, ValueError), match="observation") as raised:
            env.step([1] * 4)
        assert isinstance(raised.value.__cause__, EnvError)
        assert raised.value.__cause__.env_ids == (1,)
        env.reset()
        assert env.step(ACTIONS)[1].tolist() == [1] * 4


def test_a_worker_that_dies_is_named() -> None:
    with made(lambda env: os._exit(3)) as env:
        env.reset()
        with pytest.raises(WorkerError, match="exit code 3") as raised:
            env.step([1] * 4)
        assert "environment 1" in str(raised.value)
        assert 1 in raised.value.env_ids
        assert raised.value.batch[1].tolist()[2:] == [1, 1]
        for call in (lambda: env.step(ACTIONS), env.reset, lambda: env.get_attr("count")):
            with pytest.raises(StateError, match="worker process"):
                call()


def test_a_killed_worker_is_restarted() -> None:
    with made(lambda env: os.kill(os.getpid(), signal.SIGKILL), on_error="restart") as env:
        env.reset()
        env.step(ACTIONS)
        observations, rewards, terminated, truncated, infos = env.step([1] * 4)
        assert observations.tolist() == [[0, 1], [1, 1], [2, 2], [3, 2]]
        assert rewards.tolist() == [0, 0, 2, 2]
        assert terminated.tolist() == [False] * 4
        assert truncated.tolist() == [True, True, False, False]
        assert infos["worker_restarted"].tolist() == [True, True, False, False]
        assert infos["_restart_seed"].tolist() == [True, True, False, False]
        observations, *_, infos = env.step(ACTIONS)
        assert observations.tolist() == [[0, 0], [1, 0], [2, 3], [3, 3]]
        assert infos == {}
        assert env.step(ACTIONS)[1].tolist() == [1, 1, 4, 4]


class Speaker(gymnasium.Env[Any, Any]):
    """Observes texts, which have no fixed size; every other step raises."""

    observation_space = gymnasium.spaces.Text(9)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.count = 0
        return "begin", {}

    def step(self, action: Any) -> Any:
        self.count += 1
        if self.count == 2:
            raise ValueError("as asked")
        return f"at{self.count}", 1.0, False, False, {}


@pytest.mark.slow
def test_restarted_environments_repeat_observations_that_are_objects() -> None:
    """Also if all do so again, whose infos are then read as a whole."""
    with closing(ProcessVectorEnv([Speaker] * 2, num_workers=1, on_error="restart")) as env:
        env.reset()
        seen = [env.step([0, 0]) for _ in range(12)]
    # a step, one that fails, and the reset of the environment that was made again
    assert [each[0] for each in seen] == [("at1",) * 2, ("at1",) * 2, ("begin",) * 2] * 4
    assert sum("worker_restarted" in each[4] for each in seen) == 4


@pytest.mark.slow
def test_an_environment_that_sleeps_for_ever_is_killed() -> None:
    # enough for a reset, also on a busy machine
    with made(nap(1e6), timeout=5.0) as env:
        env.reset()
        with pytest.raises(WorkerError, match=r"environment 1 took longer than timeout=5\.0 s"):
            env.step([1] * 4)


# --------------------------------------------------------------------------------------- the end --


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [{"timeout": 0.1}, {"terminate": True}], ids=str)
def test_close_ends_workers_that_step(arguments: dict[str, Any]) -> None:
    with made(nap(FOREVER)) as env:
        env.reset()
        ids = pids(env)
        env.step_async([1] * 4)
        env.close(**arguments)
        wait_for(lambda: all(map(has_ended, ids)))
        env.close()


@pytest.mark.slow
def test_close_ends_workers_in_a_call() -> None:
    with made() as env:
        ids = pids(env)
        env.call_async("sleep", FOREVER)
        env.close(terminate=True)
        wait_for(lambda: all(map(has_ended, ids)))


def test_a_dropped_vector_env_ends_its_workers() -> None:
    """At once, without the garbage collector."""
    env = ProcessVectorEnv(doers(), context="fork", num_workers=2)
    env.reset()
    env.step(ACTIONS)
    ids = pids(env)
    assert not any(map(has_ended, ids))
    del env
    wait_for(lambda: all(map(has_ended, ids)))


@pytest.mark.slow
def test_an_interrupted_step_can_be_waited_for(barrier: Barrier) -> None:
    with made(barrier.hold) as env:
        env.reset()
        with interrupted(barrier):
            env.step([1] * 4)
        with pytest.raises(AlreadyPendingCallError, match="or reset"):
            env.step(ACTIONS)
        barrier.open()
        assert env.step_wait()[1].tolist() == [1] * 4
        assert env.step(ACTIONS)[1].tolist() == [2] * 4


@pytest.mark.slow
def test_a_reset_drops_an_interrupted_call(barrier: Barrier) -> None:
    with made(barrier.hold) as env:
        env.reset()
        with interrupted(barrier):
            env.step([1] * 4)
        barrier.open()
        env.reset()
        assert env.step(ACTIONS)[1].tolist() == [1] * 4
        with interrupted(barrier):
            env.call("hold", barrier)
        barrier.open(4)
        env.reset()
        assert env.step(ACTIONS)[1].tolist() == [1] * 4
