"""The Python environments: the same steps and the same work for every player."""

from __future__ import annotations

import os
import pickle
import time
from dataclasses import replace

import pytest

from parallel_pool._bench import python_envs, rivals


def at_no_cost(name: str, done: list[int]) -> python_envs.Cost:
    """Returns the cost of an environment that records its work instead of doing it."""
    return replace(python_envs.COSTS[name], work=done.append)


def played(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[object], list[int]]:
    """Returns what an environment shows in 40 steps, and the work of each."""
    burnt: list[int] = []
    monkeypatch.setitem(python_envs.COSTS, name, at_no_cost(name, burnt))
    env = python_envs.make(name, 500, seed)
    obs, _ = env.reset(seed=3)
    shown = [obs.tobytes()]
    for i in range(40):
        obs, *rest = env.step(i % 2)
        assert env.observation_space.contains(obs)
        shown.append((obs.tobytes(), *rest))
    return shown, burnt


@pytest.mark.parametrize("name", python_envs.COSTS)
def test_python_environments_are_deterministic(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, again = (played(name, 5, monkeypatch) for _ in range(2))
    assert first == again
    assert first != played(name, 6, monkeypatch)
    assert len(first[1]) == 40


def test_a_step_is_always_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(played(python_envs.IMAGE, 0, monkeypatch)[1]) == {500}
    burnt: list[int] = []
    name = python_envs.EXPONENTIAL
    monkeypatch.setitem(python_envs.COSTS, name, at_no_cost(name, burnt))
    env = python_envs.make(name, 500, 0)
    for seed in (1, 2):
        # independent of the seed that a vectoriser passes
        env.reset(seed=seed)
        ends = [env.step(0)[3] for _ in range(python_envs.EPISODE)]
        assert ends == [False] * (len(ends) - 1) + [True]
    one, two = burnt[: len(ends)], burnt[len(ends) :]
    assert one == two
    # mean and deviation of an exponential distribution are equal
    assert rivals.np.mean(one) == pytest.approx(500, rel=0.1)
    assert rivals.np.std(one) == pytest.approx(500, rel=0.15)


def test_time_is_spent_on_the_processor() -> None:
    before = time.thread_time()
    python_envs.spend(2e-3)
    assert time.thread_time() - before >= 2e-3
    assert python_envs.factories(python_envs.IMAGE, 1)[0].args == (python_envs.IMAGE, 50e-6, 0)


def test_pictures_are_copies() -> None:
    env = python_envs.make(python_envs.IMAGE, 0, 0)
    first, _ = env.reset()
    first[:] = 0
    assert env.reset()[0].any()


def test_processes_inherit_how_much_work_a_microsecond_is(monkeypatch: pytest.MonkeyPatch) -> None:
    python_envs.turns_per_us.cache_clear()
    monkeypatch.delenv(python_envs.TURNS_PER_US, raising=False)
    found = python_envs.turns_per_us()
    assert 1 < found < 10_000
    assert float(os.environ[python_envs.TURNS_PER_US]) == found
    name = python_envs.IMAGE_TURNS
    make = pickle.loads(pickle.dumps(python_envs.factories(name, 2)[1]))
    monkeypatch.setenv(python_envs.TURNS_PER_US, "7")
    assert make.args == (name, round(50 * found), 1)
    python_envs.turns_per_us.cache_clear()
    assert python_envs.turns_per_us() == 7
    python_envs.turns_per_us.cache_clear()


def test_cart_pole_has_the_wrappers_of_gymnasium_make() -> None:
    env = python_envs.factories(python_envs.CART_POLE, 1)[0]()
    names = []
    while env is not env.unwrapped:
        names.append(type(env).__name__)
        env = env.env
    assert names == ["TimeLimit", "OrderEnforcing", "PassiveEnvChecker"]
