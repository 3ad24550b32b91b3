"""Reports say which environments in Python could be compiled, and why others can't."""

from __future__ import annotations

import pickle
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec, WrapperSpec
from gymnasium.wrappers import ClipReward, TimeAwareObservation

import parallel_pool
from parallel_pool._apis.gymnasium import backends
from parallel_pool._engine.maker import Maker
from parallel_pool._tracing import compilable
from parallel_pool._tracing.compilable import Outcome, find_out
from parallel_pool._tracing.report import Report
from parallel_pool.compat.sb3 import PoolVecEnv
from tests.support.made_records import Loop
from tests.support.timeouts import TEST_TIMEOUT, limited, wait_for
from tests.translator.probes import Random


class Refused(Random):
    """Draws from a generator that reset() does not seed."""

    def __init__(self) -> None:
        super().__init__()
        self.start = random.random() + np.random.random()  # noqa: NPY002

    def step(self, action: Any) -> Any:
        found = np.zeros(self.size)
        return found, random.random(), False, False, {}


class Failing(Random):
    def __init__(self) -> None:
        raise KeyboardInterrupt


class Endless(Random):
    def __init__(self) -> None:
        while True:
            time.sleep(0.01)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives trials more time than a busy machine takes."""
    monkeypatch.setattr(find_out, "__defaults__", (TEST_TIMEOUT,))


@pytest.fixture
def task_id() -> Iterator[str]:
    """The id of a class that can be compiled."""
    gymnasium.register("TracedRandom-v0", f"{Random.__module__}:Random", max_episode_steps=9)
    yield "TracedRandom-v0"
    del gymnasium.registry["TracedRandom-v0"]


def reported(maker: Maker | None, policy_ms: float = 1) -> Report:
    """Returns the report of a loop whose calls take 4 ms."""
    made = Loop([4, 1], policy_ms, 2, in_processes=True, cores=2).record()
    return Report(replace(made, setting=replace(made.setting, maker=maker)))


# -------------------------------------------------------------------------------------- advice --


@pytest.mark.slow
def test_a_class_that_can_be_compiled() -> None:
    by_id = reported(Maker(f"{Random.__module__}:Random", "Mine-v0")).advice
    assert by_id.text == (
        "Calls take 80%, and these environments can be compiled to C, with the same results: make"
        ' the pool of Mine-v0 with backend="compiled"; the loop is expected to be up to 5 times as'
        " fast."
    )
    assert (by_id.change, by_id.gain) == ({}, pytest.approx(5))
    by_class = reported(Maker(Random)).advice
    assert ": call parallel_pool.compile(Random), and make the pool from the id" in by_class.text
    assert reported(Maker(Random), policy_ms=0).advice.gain == 50, "no loop takes no time"


def test_a_class_that_can_not_be_compiled() -> None:
    without = reported(None).advice
    found = reported(Maker(Refused)).advice
    first, second = found.text.splitlines()
    assert (first, found.change, found.gain) == (without.text, without.change, without.gain)
    line = Path(__file__).read_text().split("random.random(), False")[0].count("\n") + 1
    assert second.startswith(f"Refused can't be compiled as it is: {__file__}:{line}: ")
    assert second.endswith("use self.np_random.")


def test_nothing_is_tried_where_it_would_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilable, "find_out", None)
    assert (
        "environments are not the bottleneck" in reported(Maker(Random), policy_ms=40).advice.text
    )
    assert "can be compiled" not in reported(None).advice.text


@pytest.mark.parametrize("entry", [Failing, lambda: Random(), "no_such_module:Class", int])
def test_what_fails_otherwise_is_not_said(entry: Any) -> None:
    assert find_out(Maker(entry)) is None
    assert reported(Maker(entry)).advice == reported(None).advice


def test_a_class_that_never_ends_is_given_up() -> None:
    with limited():
        assert find_out(Maker(Endless), 0.1) is None
    wait_for(lambda: all(each.name != "pp-trial" for each in threading.enumerate()))


def test_a_trial_leaves_the_random_numbers_of_the_program() -> None:
    before = random.getstate(), np.random.get_state()[2]  # noqa: NPY002
    found = find_out(Maker(Refused))
    assert found and found.reason
    assert (random.getstate(), np.random.get_state()[2]) == before  # noqa: NPY002


# --------------------------------------------------------------------------------------- pools --


def vector(env: Any, **options: Any) -> Any:
    return parallel_pool.PoolVectorEnv(env, num_workers=0, **options)


def translation(made: Any) -> Outcome | None:
    with made.pool.trace() as trace:
        pass
    made.close()
    return trace.report().translation


@pytest.mark.slow
def test_a_pool_that_is_made_from_an_id_or_a_class(task_id: str) -> None:
    expected = Outcome(f'make the pool of {task_id} with backend="compiled"')
    assert translation(vector(task_id, num_envs=2)) == expected
    clip = partial(ClipReward, min_reward=0, max_reward=1)
    assert translation(vector(task_id, num_envs=2, wrappers=[clip])) == expected
    assert translation(PoolVecEnv(task_id, 2, num_workers=0)) == expected
    found = translation(vector([Random, Random]))
    assert found and found.cure.startswith("call parallel_pool.compile(Random)")


class Picky(Random):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kept = 1 if kind == "good" else object()

    def step(self, action: Any) -> Any:
        self.kept = self.kept
        return super().step(action)


def test_options_are_those_of_the_pool() -> None:
    spec = EnvSpec("Picky-v0", Picky, kwargs={"kind": "good"})
    for options, expected in (({}, "Picky-v0"), ({"kind": "bad"}, "self.kept is an object")):
        found = translation(vector(spec, **options))
        assert found and expected in found.cure + found.reason


def test_pools_of_which_it_is_not_known(task_id: str) -> None:
    assert translation(vector([lambda: Random()])) is None
    assert translation(vector([Random, Refused])) is None
    assert translation(vector(task_id, wrappers=[TimeAwareObservation])) is None
    assert translation(vector("CartPole-v1", backend="process")) is None, "there is a native one"
    assert translation(parallel_pool.make_vec("CartPole-v1")) is None
    own = WrapperSpec("Own", "somewhere:Own", {})
    gymnasium.registry[task_id].additional_wrappers = (own,)
    choice = backends.choose(task_id, None, {"backend": "process"})
    assert backends.env_fn_of(choice, {}, ()).maker is None


def test_another_process_knows_nothing_of_the_class(task_id: str) -> None:
    made = vector(task_id)
    with made.pool.trace() as trace:
        pass
    made.close()
    assert trace.record.setting.maker == Maker(f"{Random.__module__}:Random", task_id)
    assert pickle.loads(pickle.dumps(trace.record)).setting.maker is None
