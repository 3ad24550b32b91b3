"""PoolVecEnv over Python environments returns what DummyVecEnv returns."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    SubprocVecEnv,
)

from parallel_pool.compat.sb3 import PoolVecEnv
from tests.parity.test_process_parity import INFOS, Teller
from tests.support.same import assert_same, leaves
from tests.support.sampling import thinned
from tests.support.sb3_process_cases import (
    KINDS,
    SPACES,
    Maker,
    compare,
    compare_reset,
    compare_step,
    made,
    pair,
    run_both,
    tellers,
)

pytestmark = pytest.mark.usefixtures("alarm")


# ---------------------------------------------------------------------------------------- parity --


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", thinned(KINDS, 2))
def test_observations_of_every_kind_are_the_same(kind: str) -> None:
    with pair(tellers(5, of=SPACES[kind])) as (theirs, ours):
        assert ours.observation_space == theirs.observation_space
        run_both(theirs, ours, 24)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dict", "text"])
def test_observations_that_dummy_vec_env_refuses_are_those_of_the_environments(kind: str) -> None:
    """A Dict in a Dict, and spaces without a fixed size."""
    env_fns = tellers(3, of=SPACES[kind])
    alone = [make() for make in env_fns]
    with made(env_fns) as env:
        env.seed(4)
        found = env.reset()
        expected = [each.reset(seed=4 + i)[0] for i, each in enumerate(alone)]
        for step in range(12):
            for i, one in enumerate(expected):
                assert_same(row(found, i), one, f"environment {i} before step {step}")
            found, _, dones, infos = env.step([0] * 3)
            for i, each in enumerate(alone):
                expected[i], _, terminated, truncated, _ = each.step(0)
                assert dones[i] == (terminated or truncated)
                if dones[i]:
                    assert_same(infos[i]["terminal_observation"], expected[i], f"end of {i}")
                    expected[i] = each.reset()[0]


def row(observations: Any, i: int) -> Any:
    if isinstance(observations, dict):
        return {key: row(each, i) for key, each in observations.items()}
    return observations[i]


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(INFOS, 2))
def test_infos_of_every_kind_are_the_same(name: str) -> None:
    with pair(tellers(6, tell=INFOS[name])) as (theirs, ours):
        run_both(theirs, ours, 24)


ODD_INFOS: dict[str, Callable[[Teller], dict[str, Any]]] = {
    "added names": lambda t: {"terminal_observation": 1, "TimeLimit.truncated": "?", "x": 2},
    "one added name": lambda t: {"a": 1, "TimeLimit.truncated": None, "b": 2},
    "a kind of dict": lambda t: OrderedDict(z=1, a=t.count),
    "keys of any type": lambda t: {1: 2, (3, 4): 5, None: t.count},
    "names of a restart": lambda t: {"worker_restarted": False, "restart_seed": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD_INFOS)
def test_infos_of_odd_kinds_are_the_same(name: str) -> None:
    def tell(teller: Teller) -> dict[str, Any]:
        return ODD_INFOS[name](teller)

    with pair(tellers(5, tell=tell)) as (theirs, ours):
        run_both(theirs, ours, 24)


def tell_anything(teller: Teller) -> dict[str, Any]:
    """Returns an info of another kind at every step."""
    known = list(INFOS.values())
    return known[(teller.count + 3 * teller.episodes) % len(known)](teller)


@pytest.mark.slow
def test_a_thousand_steps_are_the_same() -> None:
    env_fns = tellers(7, of=SPACES["flat dict"], tell=tell_anything)
    with pair(env_fns, num_workers=3) as (theirs, ours):
        run_both(theirs, ours, 1000)


@pytest.mark.slow
def test_a_thousand_steps_of_cartpole_are_the_same() -> None:
    """Episodes end in few environments, in many, and in all at once."""
    env_fns: list[Maker] = [lambda: gymnasium.make("CartPole-v1", max_episode_steps=20)] * 5
    with pair(env_fns) as (theirs, ours):
        run_both(theirs, ours, 1000)


@pytest.mark.slow
def test_an_episode_that_ends_both_ways_at_once_is_the_same() -> None:
    """It is terminated at the step of its time limit."""

    class Both(Teller):
        def step(self, action: Any) -> Any:
            observation, reward, terminated, truncated, info = super().step(action)
            ends = terminated or truncated
            return observation, reward, ends, ends and self.episodes % 3 == 0, info

    with pair([partial(Both, length=2 + i) for i in range(3)]) as (theirs, ours):
        for env in (theirs, ours):
            env.seed(1)
        compare_reset(ours, theirs, "reset")
        for step in range(20):
            compare_step(ours, theirs, np.zeros(3, int), f"step {step}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "as_shown"),
    [
        ("box", lambda sample: sample.astype(np.float64)),
        ("box", lambda sample: [float(x) for x in sample]),
        ("discrete", int),
        ("number", float),
        ("flat dict", lambda sample: {**sample, "more": 1}),
        ("flat dict", lambda sample: dict(reversed(list(sample.items())))),
    ],
)
def test_observations_are_cast_as_by_dummy_vec_env(
    kind: str, as_shown: Callable[[Any], Any]
) -> None:
    """`terminal_observation` is the environment's own, before the cast."""
    with pair(tellers(5, of=SPACES[kind], as_shown=as_shown)) as (theirs, ours):
        run_both(theirs, ours, 12)


def tell_action(teller: Teller) -> dict[str, Any]:
    action = teller.last_action
    return {"action": [action], "kind": type(action), "dtype": getattr(action, "dtype", None)}


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["box", "discrete", "discrete from -3", "multi discrete"])
def test_actions_arrive_the_same(kind: str) -> None:
    with pair(tellers(5, acts=SPACES[kind], tell=tell_action)) as (theirs, ours):
        run_both(theirs, ours, 12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["flat dict", "flat tuple", "text"])
def test_actions_of_many_parts_come_as_a_list(kind: str) -> None:
    """One action for each environment: no array can hold them."""
    with pair(tellers(5, acts=SPACES[kind], tell=tell_action)) as (theirs, ours):
        run_both(theirs, ours, 12, list)


def test_rewards_are_float32() -> None:
    class Payer(Teller):
        def step(self, action: Any) -> Any:
            return *super().step(action)[:1], 0.1, False, False, {}

    with made([Payer] * 2) as env:
        env.reset()
        assert_same(env.step([0, 0])[1], np.full(2, 0.1, np.float32), "rewards")


@pytest.mark.slow
@pytest.mark.parametrize("start_method", ["fork", "spawn", "forkserver"])
def test_it_takes_the_arguments_of_subproc_vec_env(start_method: str) -> None:
    """By position, and with functions that no other process can import."""

    class Local(Teller):
        pass

    env_fns: list[Maker] = [lambda: Local(tell=INFOS["nested"]) for _ in range(2)]
    theirs = DummyVecEnv(env_fns)
    ours = PoolVecEnv(env_fns, start_method)
    run_both(theirs, ours, 16)
    ours.close()


@pytest.mark.slow
def test_it_stacks_as_subproc_vec_env_does() -> None:
    """DummyVecEnv returns an OrderedDict here."""
    env_fns = tellers(2, of=SPACES["flat dict"])
    theirs = SubprocVecEnv(env_fns, "fork")
    with made(env_fns) as ours:
        for env in (theirs, ours):
            env.seed(1)
        compare(ours.reset(), theirs.reset(), "reset")
        for step in range(9):
            found, expected = ours.step([0, 0]), theirs.step(np.zeros(2, int))
            compare(found[0], expected[0], f"step {step}")
            compare(found[3], list(expected[3]), f"infos of step {step}")
    theirs.close()


# ---------------------------------------------------------------------------------------- arrays --


@pytest.mark.slow
@pytest.mark.parametrize("kind", thinned(["box", "flat dict", "flat tuple", "dict with text"], 2))
def test_results_are_the_callers_own(kind: str) -> None:
    """Results that are kept do not change, and writing to them changes no later result."""
    env_fns = tellers(4, of=SPACES[kind], tell=INFOS["arrays"])
    with made(env_fns) as env, made(env_fns) as twin:
        for each in (env, twin):
            each.seed(2)
        kept: list[Any] = [(env.reset(), copy.deepcopy(env.reset_infos))]
        wanted: list[Any] = [(twin.reset(), copy.deepcopy(twin.reset_infos))]
        for _ in range(30):
            kept.append(env.step([0] * 4))
            wanted.append(copy.deepcopy(twin.step([0] * 4)))
        for i, (found, expected) in enumerate(zip(kept, wanted, strict=True)):
            compare(found, expected, f"result {i}")
        arrays = [array for array in leaves(kept) if array.size]
        assert any(info.get("terminal_observation") is not None for info in kept[2][3])
        for i, one in enumerate(arrays):
            assert one.flags.writeable
            assert not any(np.shares_memory(one, other) for other in arrays[i + 1 : i + 60])
        for array in arrays:
            array[...] = 1
        for _ in range(20):
            compare(env.step([0] * 4), twin.step([0] * 4), "after writing")


@pytest.mark.slow
def test_actions_may_be_changed_while_a_step_is_in_flight() -> None:
    with made(tellers(3, acts=SPACES["box"], tell=tell_action)) as env:
        env.reset()
        actions = np.ones((3, 3), np.float32)
        env.step_async(actions)
        actions[:] = -1
        for info in env.step_wait()[3]:
            assert info["action"][0].tolist() == [1, 1, 1]


def test_infos_of_one_step_are_not_carried_over() -> None:
    """The environment always returns the same dict; DummyVecEnv would write to it."""

    class Same(Teller):
        def __init__(self) -> None:
            super().__init__()
            self.dict = {"a": 1}
            self.tell = lambda teller: self.dict

    with made([Same]) as env:
        env.reset()
        for _ in range(3):
            for ended in (False, False, True):
                assert ("terminal_observation" in env.step([0])[3][0]) == ended
