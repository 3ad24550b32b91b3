"""PoolVecEnv over Python environments equals DummyVecEnv, whatever they show, say and do."""

from __future__ import annotations

import copy
import os
import signal
import threading
import time
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    SubprocVecEnv,
    VecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

from parallel_pool.compat.sb3 import PoolVecEnv
from parallel_pool.errors import ClosedError, EnvError, StateError, WorkerError
from parallel_pool.workers.process_pool import ProcessPool
from tests.parity.test_process_parity import INFOS, SPACES, Teller
from tests.patience import has_ended, wait_for
from tests.same import assert_same, leaves

pytestmark = pytest.mark.usefixtures("alarm")


# those that Stable-Baselines3 knows
KINDS = [
    *("box", "number", "byte", "picture", "discrete", "discrete from -3", "multi discrete"),
    *("multi binary", "flat dict", "flat tuple"),
]
SPACES = {
    **SPACES,
    "flat dict": lambda: spaces.Dict(
        OrderedDict(b=spaces.Box(-1, 1, (2,)), a=spaces.Discrete(3), c=spaces.MultiBinary(2))
    ),
    "flat tuple": lambda: spaces.Tuple(
        [spaces.Discrete(3), spaces.Box(0, 255, (2, 2), np.uint8), spaces.MultiDiscrete([2, 3])]
    ),
}

Maker = Callable[[], Any]


@contextmanager
def made(env_fns: list[Maker], **kwargs: Any) -> Iterator[PoolVecEnv]:
    """Ours, in two workers."""
    num_workers = min(2, len(env_fns))
    env = PoolVecEnv(env_fns, **{"start_method": "fork", "num_workers": num_workers, **kwargs})
    try:
        yield env
    finally:
        env.close()


@contextmanager
def pair(env_fns: list[Maker], **kwargs: Any) -> Iterator[tuple[DummyVecEnv, PoolVecEnv]]:
    """Stable-Baselines3's and ours over the same environments."""
    theirs = DummyVecEnv(env_fns)
    with made(env_fns, **kwargs) as ours:
        yield theirs, ours
    theirs.close()


def tellers(count: int, **kwargs: Any) -> list[Maker]:
    """Environments whose episodes end at different times, by themselves or cut off."""
    return [partial(Teller, length=2 + i % 4, **kwargs) for i in range(count)]


def plain(observation: Any) -> Any:
    """DummyVecEnv has an OrderedDict where SubprocVecEnv has a dict, as we do."""
    return dict(observation) if isinstance(observation, OrderedDict) else observation


def order_of(value: Any) -> Any:
    """Keys in their order, at any depth."""
    if isinstance(value, dict):
        return [(key, order_of(each)) for key, each in value.items()]
    return [order_of(each) for each in value] if isinstance(value, list | tuple) else None


def compare(ours: Any, theirs: Any, where: str) -> None:
    assert_same(ours, theirs, where)
    assert order_of(ours) == order_of(theirs), where


def compare_reset(ours: VecEnv, theirs: VecEnv, where: str) -> None:
    compare(ours.reset(), plain(theirs.reset()), where)
    compare(list(ours.reset_infos), list(theirs.reset_infos), f"{where}: infos")


def compare_step(ours: VecEnv, theirs: VecEnv, actions: Any, where: str) -> Any:
    observations, *others = theirs.step(copy.deepcopy(actions))
    found = ours.step(actions)
    compare(found, (plain(observations), *others), where)
    compare(list(ours.reset_infos), list(theirs.reset_infos), f"{where}: infos of resets")
    return found


def run_both(theirs: VecEnv, ours: VecEnv, steps: int, actions: Any = None) -> None:
    """The same seeds and actions; a reset of all in between."""
    for env in (theirs, ours):
        env.seed(5)
    compare_reset(ours, theirs, "reset")
    theirs.action_space.seed(3)
    ways = set()
    for step in range(steps):
        drawn = [theirs.action_space.sample() for _ in range(theirs.num_envs)]
        taken = np.stack(drawn) if actions is None else actions(drawn)
        _, _, dones, infos = compare_step(ours, theirs, taken, f"step {step}")
        ways |= {infos[i]["TimeLimit.truncated"] for i in np.flatnonzero(dones)}
        if step == steps // 2:
            compare_reset(ours, theirs, "reset without a seed")
    assert ways == {True, False}


# ------------------------------------------------------------------------------------ parity --


@pytest.mark.parametrize("kind", KINDS)
def test_observations_of_every_kind(kind: str) -> None:
    with pair(tellers(5, of=SPACES[kind])) as (theirs, ours):
        assert ours.observation_space == theirs.observation_space
        run_both(theirs, ours, 24)


@pytest.mark.parametrize("kind", ["dict", "text"])
def test_observations_of_kinds_that_dummy_has_not(kind: str) -> None:
    """A Dict in a Dict, and what has no fixed size: as each environment by itself shows them."""
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


@pytest.mark.parametrize("name", INFOS)
def test_infos_of_every_kind(name: str) -> None:
    with pair(tellers(6, tell=INFOS[name])) as (theirs, ours):
        run_both(theirs, ours, 24)


ODD_INFOS: dict[str, Callable[[Teller], dict[str, Any]]] = {
    "names of ours": lambda t: {"terminal_observation": 1, "TimeLimit.truncated": "?", "x": 2},
    "one of ours": lambda t: {"a": 1, "TimeLimit.truncated": None, "b": 2},
    "a kind of dict": lambda t: OrderedDict(z=1, a=t.count),
    "keys of any type": lambda t: {1: 2, (3, 4): 5, None: t.count},
    "what says restarted": lambda t: {"worker_restarted": False, "restart_seed": 0},
}


@pytest.mark.parametrize("name", ODD_INFOS)
def test_infos_of_odd_kinds(name: str) -> None:
    def tell(teller: Teller) -> dict[str, Any]:
        return ODD_INFOS[name](teller)

    with pair(tellers(5, tell=tell)) as (theirs, ours):
        run_both(theirs, ours, 24)


def tell_anything(teller: Teller) -> dict[str, Any]:
    """Something else at every step."""
    known = list(INFOS.values())
    return known[(teller.count + 3 * teller.episodes) % len(known)](teller)


def test_a_thousand_steps() -> None:
    env_fns = tellers(7, of=SPACES["flat dict"], tell=tell_anything)
    with pair(env_fns, num_workers=3) as (theirs, ours):
        run_both(theirs, ours, 1000)


def test_a_thousand_steps_of_gymnasiums() -> None:
    """The end of an episode in few environments, in many, in all at once."""
    env_fns: list[Maker] = [lambda: gymnasium.make("CartPole-v1", max_episode_steps=20)] * 5
    with pair(env_fns) as (theirs, ours):
        run_both(theirs, ours, 1000)


def test_an_episode_that_ends_both_ways_at_once() -> None:
    """By itself, just when it would have been cut off."""

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
def test_observations_that_are_cast(kind: str, as_shown: Callable[[Any], Any]) -> None:
    """`terminal_observation` is what the environment returned, before that."""
    with pair(tellers(5, of=SPACES[kind], as_shown=as_shown)) as (theirs, ours):
        run_both(theirs, ours, 12)


def tell_action(teller: Teller) -> dict[str, Any]:
    action = teller.last_action
    return {"action": [action], "kind": type(action), "dtype": getattr(action, "dtype", None)}


@pytest.mark.parametrize("kind", ["box", "discrete", "discrete from -3", "multi discrete"])
def test_actions_arrive_the_same(kind: str) -> None:
    with pair(tellers(5, acts=SPACES[kind], tell=tell_action)) as (theirs, ours):
        run_both(theirs, ours, 12)


@pytest.mark.parametrize("kind", ["flat dict", "flat tuple", "text"])
def test_actions_of_many_parts_come_as_a_list(kind: str) -> None:
    """One for each environment, as no array holds them."""
    with pair(tellers(5, acts=SPACES[kind], tell=tell_action)) as (theirs, ours):
        run_both(theirs, ours, 12, list)


def test_rewards_are_float32() -> None:
    class Payer(Teller):
        def step(self, action: Any) -> Any:
            return *super().step(action)[:1], 0.1, False, False, {}

    with made([Payer] * 2) as env:
        env.reset()
        assert_same(env.step([0, 0])[1], np.full(2, 0.1, np.float32), "rewards")


@pytest.mark.parametrize("start_method", ["fork", "spawn", "forkserver"])
def test_it_takes_what_subproc_takes(start_method: str) -> None:
    """By position; and what tests define, no other process can import."""

    class Local(Teller):
        pass

    env_fns: list[Maker] = [lambda: Local(tell=INFOS["nested"]) for _ in range(2)]
    theirs = DummyVecEnv(env_fns)
    ours = PoolVecEnv(env_fns, start_method)
    run_both(theirs, ours, 16)
    ours.close()


def test_it_stacks_as_subproc_does() -> None:
    """Where DummyVecEnv has an OrderedDict."""
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


# ------------------------------------------------------------------------- seeds and options --


def test_seeds_and_options_of_each() -> None:
    def tell(teller: Teller) -> dict[str, Any]:
        return {"options": teller.options, "seed": teller.np_random_seed}

    with pair(tellers(4, tell=tell)) as (theirs, ours):
        own = [{"low": 1}, {}, {"high": [2]}, {"low": 1}]
        for round, options in enumerate([{}, {"all": 3}, own, [{"of one": 0}] * 4, None, own]):
            for env in (theirs, ours):
                assert env.seed(10 * round) == [10 * round + i for i in range(4)]
                env.set_options(options)
            compare_reset(ours, theirs, f"reset {round}")
            compare_step(ours, theirs, np.zeros(4, int), f"step {round}")
            compare_reset(ours, theirs, f"reset {round} without")
        for env in (theirs, ours):
            np.random.seed(4)  # noqa: NPY002 (VecEnv.seed draws from it where it is given None)
            env.seed()
        compare_reset(ours, theirs, "seeds of entropy")


def test_the_constructors_seed_is_that_of_make_vec_env() -> None:
    theirs = make_vec_env("Pendulum-v1", 3, seed=5)
    ours = make_vec_env(
        "Pendulum-v1", 3, vec_env_cls=PoolVecEnv, vec_env_kwargs={"start_method": "fork", "seed": 5}
    )
    # who makes it seeds once more, with entropy
    ours.seed(5)
    compare_reset(ours, theirs, "reset")
    assert_same(ours.action_space.sample(), theirs.action_space.sample(), "action")
    ours.close()


def test_wrong_options_and_seeds_reset_nothing() -> None:
    with made(tellers(3)) as env:
        env.reset()
        with pytest.raises(ValueError, match="options for 1 of 3 environments"):
            env.set_options([{}])
        with pytest.raises(ValueError, match="seed=-1"):
            env.seed(-1)
        assert len(env.reset()) == 3


def test_options_that_do_not_travel_leave_nothing_in_flight() -> None:
    class Fixed:
        def __deepcopy__(self, memo: Any) -> Fixed:
            return self

        def __reduce__(self) -> Any:
            raise TypeError("stays here")

    with made(tellers(3)) as env:
        for _ in range(2):
            env.set_options([{"a": 1}, {"b": Fixed()}, {}])
            with pytest.raises(TypeError, match="stays here"):
                env.reset()
        env.set_options()
        assert len(env.reset()) == 3 and env.pool.in_flight == 0


# ----------------------------------------------------------------------------------- surface --


def test_make_vec_env_takes_it() -> None:
    """With the wrappers that it puts around each, and its arguments."""
    kwargs: dict[str, Any] = {
        "n_envs": 4,
        "seed": 3,
        "env_kwargs": {"max_episode_steps": 30},
        "wrapper_class": gymnasium.wrappers.ClipReward,
        "wrapper_kwargs": {"min_reward": 0.0, "max_reward": 0.5},
    }
    theirs = make_vec_env("CartPole-v1", **kwargs)
    options = {"start_method": "fork", "num_workers": 3}
    ours = make_vec_env("CartPole-v1", vec_env_cls=PoolVecEnv, vec_env_kwargs=options, **kwargs)
    assert isinstance(ours, PoolVecEnv) and isinstance(ours.pool, ProcessPool)
    assert ours.pool.num_workers == 3
    compare_reset(ours, theirs, "reset")
    theirs.action_space.seed(1)
    episodes = 0
    for step in range(120):
        actions = np.array([theirs.action_space.sample() for _ in range(4)])
        expected, found = theirs.step(actions), ours.step(actions)
        for info in (*expected[3], *found[3]):
            episodes += "episode" in info
            # how long it took
            info.get("episode", {}).pop("t", None)
        compare(found, expected, f"step {step}")
    assert episodes > 8
    assert ours.env_is_wrapped(Monitor) == [True] * 4
    assert ours.env_method("get_total_steps") == theirs.env_method("get_total_steps")
    ours.close()


class Shell(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A wrapper of the tests' own, with an attribute and a method."""

    colour = "red"

    def paint(self, *colours: str, **more: str) -> Any:
        return self.colour, colours, more, type(self).__name__


class Hard(Shell):
    """Derived from the other."""


@contextmanager
def shells() -> Iterator[tuple[DummyVecEnv, PoolVecEnv]]:
    """One of each kind, around environments of Gymnasium's."""

    def make(kind: Any) -> Any:
        return kind(gymnasium.make("CartPole-v1", render_mode="rgb_array"))

    with pair([partial(make, kind) for kind in (Shell, Hard, Shell)]) as both:
        yield both


Question = Callable[[VecEnv], Any]

QUESTIONS: dict[str, Question] = {
    "num_envs": lambda env: env.num_envs,
    "observation_space": lambda env: env.observation_space,
    "action_space": lambda env: env.action_space,
    "metadata": lambda env: env.metadata,
    "render_mode": lambda env: env.render_mode,
    "spec": lambda env: env.get_attr("spec"),
    "attribute": lambda env: env.get_attr("_max_episode_steps"),
    "of the outermost": lambda env: env.get_attr("colour"),
    "of the innermost": lambda env: env.get_attr("gravity", [0, 2]),
    "has": lambda env: [env.has_attr(name) for name in ("colour", "gravity", "none", "paint")],
    "unpicklable": lambda env: env.has_attr("__reduce__"),
    "method": lambda env: env.env_method("paint", "a", "b", more="c"),
    "method of some": lambda env: env.env_method("paint", indices=[2, 1]),
    "method of one": lambda env: env.env_method("paint", indices=-1),
    "has_wrapper_attr": lambda env: env.env_method("has_wrapper_attr", "gravity"),
    "set": lambda env: (env.set_attr("colour", "blue", 1), env.get_attr("colour")),
    "set a new one": lambda env: (env.set_attr("gravity", 3), env.get_attr("gravity")),
    "which hides": lambda env: (
        env.set_attr("length", 3, [0]),
        [env.get_attr("unwrapped", 0)[0].length],
    ),
    "wrapped": lambda env: env.env_is_wrapped(Hard),
    "wrapped as derived": lambda env: env.env_is_wrapped(Shell),
    "wrapped at all": lambda env: env.env_is_wrapped(gymnasium.Wrapper, range(1, 3)),
    "wrapped by Gymnasium": lambda env: env.env_is_wrapped(gymnasium.wrappers.TimeLimit, 0),
    "wrapped by nobody": lambda env: env.env_is_wrapped(Monitor),
    "nobody asked": lambda env: [
        env.get_attr("spec", []),
        env.env_method("paint", indices=[]),
        env.env_is_wrapped(Hard, []),
        env.set_attr("colour", "none", []),
    ],
    "images": lambda env: (env.seed(2), env.reset(), env.get_images())[1:],
    "picture": lambda env: (env.seed(2), env.reset(), env.render(), env.render("rgb_array"))[1:],
    "by method": lambda env: (env.seed(2), env.reset(), env.env_method("render"))[1:],
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_surface_is_the_same(name: str) -> None:
    with shells() as (theirs, ours):
        compare(QUESTIONS[name](ours), QUESTIONS[name](theirs), name)


@pytest.mark.parametrize(
    "question",
    [
        lambda env: env.get_attr("none"),
        lambda env: env.env_method("none", 1),
        lambda env: env.get_attr("spec", 3),
        lambda env: env.get_attr("spec", [0, -4]),
        lambda env: env.env_method("paint", indices=9),
        lambda env: env.env_method("set_wrapper_attr"),
        lambda env: env.env_is_wrapped("Monitor"),
    ],
)
def test_wrong_questions_raise_the_same(question: Question) -> None:
    with shells() as (theirs, ours):
        with pytest.raises(Exception) as expected:
            question(theirs)
        with pytest.raises(expected.type):
            question(ours)
        # nothing is lost by it
        assert len(ours.reset()) == 3


def test_without_a_render_mode_there_are_warnings() -> None:
    with made(tellers(2)) as env:
        env.reset()
        with pytest.warns(UserWarning, match="render_mode=None"):
            assert env.get_images() == [None] * 2
        with pytest.warns(UserWarning, match="no `render_mode`"):
            assert env.render() is None


def test_render_modes_must_be_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nobody waits for the garbage collector to end the workers."""
    closed = []
    close = ProcessPool.close
    monkeypatch.setattr(ProcessPool, "close", lambda pool: closed.append(close(pool)))
    env_fns = [partial(gymnasium.make, "CartPole-v1", render_mode=m) for m in (None, "rgb_array")]
    with pytest.raises(AssertionError, match="render_mode"):
        PoolVecEnv(env_fns, "fork")
    assert closed


WRAPPERS: dict[str, Callable[[VecEnv], VecEnv]] = {
    "VecMonitor": VecMonitor,
    "VecNormalize": VecNormalize,
    "all": lambda env: VecNormalize(VecFrameStack(VecMonitor(env), 2)),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_give_what_they_give_over_dummy(name: str) -> None:
    env_fns: list[Maker] = [lambda: gymnasium.make("Pendulum-v1", max_episode_steps=15)] * 3
    with pair(env_fns) as both:
        theirs, ours = (WRAPPERS[name](env) for env in both)
        for env in (theirs, ours):
            env.seed(1)
        compare_reset(ours, theirs, "reset")
        for step in range(40):
            actions = np.full((3, 1), step % 5 - 2, np.float32)
            expected, found = theirs.step(actions), ours.step(actions)
            for info in (*expected[3], *found[3]):
                info.get("episode", {}).pop("t", None)
            compare(found, expected, f"step {step}")


def test_evaluate_policy_takes_it() -> None:
    class Left:
        def predict(self, observations: Any, **kwargs: Any) -> tuple[Any, None]:
            return np.zeros(len(observations), int), None

    env_fns: list[Maker] = [lambda: Monitor(gymnasium.make("CartPole-v1"))] * 2
    with pair(env_fns) as both:
        results = []
        for env in both:
            env.seed(3)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                results.append(evaluate_policy(Left(), env, 6, return_episode_rewards=True))
        assert results[0] == results[1]


# ------------------------------------------------------------------------------------ arrays --


@pytest.mark.parametrize("kind", ["box", "flat dict", "flat tuple", "dict with text"])
def test_results_are_the_callers_own(kind: str) -> None:
    """Whatever is kept stays as it was, and nothing that is written comes back."""
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


def test_arrays_outlive_the_environments() -> None:
    with made(tellers(2)) as env:
        env.seed(1)
        first = env.reset()
        expected = first.copy()
    del env
    assert_same(first, expected, "kept")


def test_actions_may_be_changed_while_a_step_is_in_flight() -> None:
    with made(tellers(3, acts=SPACES["box"], tell=tell_action)) as env:
        env.reset()
        actions = np.ones((3, 3), np.float32)
        env.step_async(actions)
        actions[:] = -1
        for info in env.step_wait()[3]:
            assert info["action"][0].tolist() == [1, 1, 1]


def test_infos_of_one_step_are_not_carried_over() -> None:
    """By an environment that always shows the same dict; DummyVecEnv would write into it."""

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


# ----------------------------------------------------------------------------------- turns --


def test_steps_out_of_turn() -> None:
    with made(tellers(3)) as env:
        env.reset()
        with pytest.raises(StateError):
            env.step_wait()
        env.step_async([0] * 3)
        for wrong in (
            lambda: env.step_async([0] * 3),
            lambda: env.get_attr("spec"),
            lambda: env.set_attr("x", 1),
            lambda: env.env_method("render"),
        ):
            with pytest.raises(StateError, match="in flight"):
                wrong()
        with pytest.raises(StateError) as caught:
            env.step([0] * 3)
        assert "call step_wait()" in caught.value.__notes__[0]
        assert len(env.step_wait()) == 4
        assert len(env.step([0] * 3)) == 4


def test_reset_drops_a_step_in_flight() -> None:
    with pair(tellers(3)) as (theirs, ours):
        for env in (theirs, ours):
            env.seed(6)
        compare_reset(ours, theirs, "reset")
        theirs.step(np.zeros(3, int))
        ours.step_async(np.zeros(3, int))
        compare_reset(ours, theirs, "reset in flight")
        compare_step(ours, theirs, np.ones(3, int), "after it")


@pytest.mark.parametrize("actions", [[0, 1], [0, 1, 2, 0], {0, 1, 2}, "012", None, 7])
def test_wrong_actions_step_nothing(actions: Any) -> None:
    with made(tellers(3)) as env:
        env.reset()
        with pytest.raises((TypeError, ValueError), match="action"):
            env.step(actions)
        assert env.pool.in_flight == 0
        assert env.get_attr("count") == [0, 0, 0]


@pytest.mark.parametrize("actions", [[(0, 1)], [(0,)] * 4, {0, 1, 2}, 7], ids=str)
def test_wrong_actions_of_many_parts_step_nothing(actions: Any) -> None:
    with made(tellers(3, acts=SPACES["flat tuple"])) as env:
        env.reset()
        with pytest.raises((TypeError, ValueError), match="action"):
            env.step(actions)
        assert env.get_attr("count") == [0, 0, 0]


class Echo(gymnasium.Env[Any, Any]):
    """Tells what it was given."""

    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return 0, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return 0, 0.0, False, False, {"given": f"{type(action).__name__} {action!r}"}


@pytest.mark.parametrize(
    "actions",
    [[0.5, 0, 1], [[0], [1], (2,)], ["a"] * 3, [None] * 3, np.array([[0.5], [1], [2]])],
    ids=str,
)
def test_actions_of_other_kinds_reach_environments_as_dummy_vec_env_has_them(actions: Any) -> None:
    with pair([Echo] * 3) as (theirs, ours):
        theirs.reset()
        ours.reset()
        infos = ours.step(actions)[3]
        assert [info["given"] for info in infos] == [
            info["given"] for info in theirs.step(actions)[3]
        ]


@pytest.mark.parametrize("in_flight", [False, True])
def test_closed(in_flight: bool) -> None:
    with made(tellers(3)) as env:
        env.reset()
        if in_flight:
            env.step_async([0] * 3)
        pids = process_ids(env) if not in_flight else []
        env.close()
        env.close()
        for call in (lambda: env.step([0] * 3), env.reset):
            with pytest.raises(ClosedError) as caught:
                call()
            assert not hasattr(caught.value, "__notes__")
        with pytest.raises(StateError):
            env.get_attr("spec")
        assert all(map(has_ended, pids))


def process_ids(env: PoolVecEnv) -> list[int]:
    """The worker of each environment."""
    return [int(pid) for pid in env.pool.apply(lambda env: os.getpid())]


def test_workers_of_a_dropped_one_end_at_once() -> None:
    env = PoolVecEnv(tellers(3, of=SPACES["flat dict"]), "fork")
    env.reset()
    env.step([0] * 3)
    pids, pool = process_ids(env), weakref.ref(env.pool)
    del env
    assert pool() is None
    wait_for(lambda: all(map(has_ended, pids)))


# --------------------------------------------------------------------------------- arguments --


class Stranger:
    """No environment of Gymnasium's."""

    observation_space, action_space = spaces.Discrete(2), spaces.Discrete(2)
    reset, step = Teller.reset, Teller.step


ENV = Teller()


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((), {}, TypeError, "env=None is a NoneType: give the id.*or a list of functions"),
        ((Teller,), {}, TypeError, "is a type: give the id"),
        ((ENV,), {}, TypeError, "is a Teller: give the id"),
        (([],), {}, ValueError, "env_fns is empty"),
        (([ENV],), {}, TypeError, r"env_fns\[0\]=.* is a Teller: give functions"),
        ((["CartPole-v1"],), {}, TypeError, r"env_fns\[0\]='CartPole-v1' is a str"),
        (([Teller],), {"env_fns": [Teller]}, TypeError, "give one of the two"),
        (([Teller] * 2, 2), {}, TypeError, "n_envs=2: each function makes one"),
        (([Teller],), {"n_envs": 1}, TypeError, "n_envs=1: each function makes one"),
        (([Teller], "fork"), {"start_method": "spawn"}, TypeError, "n_envs='fork'"),
        (([Teller], "forks"), {}, ValueError, "'forks'"),
        (([Teller], 3.5), {}, TypeError, "n_envs=3.5"),
        (([Teller],), {"num_workers": 2}, ValueError, "num_workers=2 > num_envs=1"),
        (([Teller],), {"num_workers": 0}, ValueError, "num_workers=0"),
        (([Teller],), {"timeout": -1}, ValueError, "timeout=-1"),
        (([Teller],), {"on_error": "shrug"}, ValueError, "on_error='shrug'"),
        (([Teller],), {"num_threads": 2}, TypeError, r"num_threads=2: num_workers=\.\.\. says"),
        (([Teller],), {"thread_affinity_offset": 0}, TypeError, "it is for threads"),
        (([Teller],), {"max_episode_steps": 9}, TypeError, "max_episode_steps=9: functions make"),
        (([Teller],), {"render_mode": "human"}, TypeError, "render_mode='human': .*gymnasium.make"),
        (([Teller],), {"g": None}, TypeError, "g=None: .*itself takes start_method, num_workers"),
        (([lambda: ENV] * 2,), {}, ValueError, r"env_fns\[0\] and env_fns\[1\] return the same"),
        (([Stranger],), {}, ValueError, r"Stranger'> returned <.* and no gymnasium.Env: return"),
        (([lambda: None],), {}, ValueError, "returned None, which is a NoneType and no"),
        (
            ([Teller, partial(Teller, SPACES["number"])],),
            {},
            ValueError,
            "environment 1 has the observation space Box.* and environment 0 Box",
        ),
        (
            ([partial(Teller, acts=SPACES[kind]) for kind in ("discrete", "text")],),
            {},
            ValueError,
            "environment 1 has the action space Text.*same shapes and dtypes",
        ),
    ],
)
def test_what_is_not_taken(args: Any, kwargs: Any, error: type[Exception], message: str) -> None:
    if args and isinstance(args[0], list):
        # quick, and all in one worker
        method = {} if len(args) > 1 else {"start_method": "fork"}
        kwargs = {"num_workers": 1, **method, **kwargs}
    with pytest.raises(error, match=message):
        PoolVecEnv(*args, **kwargs)


def test_spaces_may_have_other_bounds_and_another_order_of_keys() -> None:
    """Stable-Baselines3 goes by the first environment's."""

    def make(order: str, high: float) -> spaces.Dict:
        parts: dict[str, Any] = {"a": spaces.Box(-1, high, (2,)), "b": spaces.Discrete(int(high))}
        return spaces.Dict(OrderedDict((key, parts[key]) for key in order))

    env_fns = [partial(Teller, of=partial(make, *how)) for how in (("ab", 2), ("ba", 5))]
    with pair(env_fns) as (theirs, ours):
        run_both(theirs, ours, 16)


# ---------------------------------------------------------------------------------- failures --


class Counting(gymnasium.Env[Any, Any]):
    """Shows how many steps it has made; does what `trouble` says at step `when`, or at resets.

    Args:
        trouble: a function of nothing.
        when: at which step of an episode, 0 for resets that have the option "do".
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
    """Of no type that Python knows."""


def fail() -> None:
    raise OwnError("what %d is %s")


def counters(trouble: Callable[[], Any] | None = None) -> list[Maker]:
    """Four, of which number 2 has trouble."""
    return [Counting, Counting, partial(Counting, trouble), Counting]


def test_an_exception_comes_as_it_was_raised() -> None:
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
        # and then all is as ever
        assert env.step([0] * 4)[0][:, 0].tolist() == [5, 5, 1, 5]
        assert env.reset_infos == [{}, {}, {"reset": -1}, {}]


def test_an_exception_in_a_reset() -> None:
    with made(counters(fail)) as env:
        env.reset()
        env.step([0] * 4)
        env.set_options([{}, {}, {"do": 1}, {}])
        with pytest.raises(OwnError) as caught:
            env.reset()
        assert isinstance(caught.value.__cause__, EnvError)
        assert caught.value.__cause__.batch[:, 0].tolist() == [0] * 4
        assert env.step([0] * 4)[0][:, 0].tolist() == [1, 1, 0, 1]
        # who fails again, and is reset by hand, owes nothing
        env.set_options([{}, {}, {"do": 1}, {}])
        with pytest.raises(OwnError):
            env.reset()
        env.set_options()
        assert env.reset()[:, 0].tolist() == [0] * 4
        assert [info["steps"] for info in env.step([0] * 4)[3]] == [1] * 4
        assert env.reset_infos == [{"reset": -1}] * 4


def test_after_an_exception_infos_are_those_of_their_step() -> None:
    """Of environments that say nothing for a while."""

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
        told = [env.step([0, 0])[3][0] for _ in range(3)]
        assert told == [{"TimeLimit.truncated": False, **more} for more in ({}, {}, {"seldom": 2})]
        assert env.reset_infos == [{}, {}]


def test_an_exception_in_a_constructor() -> None:
    with pytest.raises(OwnError) as caught:
        PoolVecEnv([Counting, fail], "fork")
    assert any("environment 1 can't be made" in note for note in caught.value.__notes__)


def test_an_exception_in_a_method() -> None:
    with made(counters(fail)) as env:
        env.reset()
        with pytest.raises(OwnError):
            env.env_method("reset", options={"do": 1}, indices=[2])
        assert len(env.step([0] * 4)) == 4


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_a_worker_that_dies_is_named(how: str) -> None:
    trouble = {"exit": lambda: os._exit(3), "kill": lambda: os.kill(os.getpid(), signal.SIGKILL)}
    with made(counters(trouble[how])) as env:
        env.reset()
        env.step([0] * 4)
        env.step([0] * 4)
        said = "exit code 3" if how == "exit" else "SIGKILL"
        with pytest.raises(WorkerError, match=rf"environment 2.*{said}") as caught:
            env.step([0] * 4)
        assert caught.value.env_ids == (2, 3)
        observations, _, dones, infos = caught.value.batch
        assert observations[:2, 0].tolist() == [3, 3] and not dones.any() and len(infos) == 4
        # from now on it says that it is of no use, whatever is asked, and does not hang
        for call in (
            lambda: env.step([0] * 4),
            env.reset,
            lambda: (env.set_options([{"a": i} for i in range(4)]), env.reset()),
            env.reset,
            lambda: env.get_attr("steps"),
        ):
            with pytest.raises((StateError, WorkerError)):
                call()


def test_an_environment_that_hangs_is_killed() -> None:
    with made(counters(lambda: time.sleep(1e6)), timeout=1.5) as env:
        env.reset()
        with pytest.raises(WorkerError, match=r"environment 2 took longer than timeout=1\.5"):
            for _ in range(3):
                env.step([0] * 4)


def check_restart(env: PoolVecEnv, result: Any, last: Any, who: list[int]) -> None:
    """What a step shows of environments that were made anew."""
    observations, rewards, dones, infos = result
    for i in range(4):
        assert dones[i] == (i in who)
        if i not in who:
            steps = last[i, 0] + 1
            assert (observations[i, 0], rewards[i]) == (steps, 1)
            assert infos[i] == {"steps": steps, "TimeLimit.truncated": False}
            continue
        seed = infos[i]["restart_seed"]
        assert list(infos[i])[:2] == ["TimeLimit.truncated", "terminal_observation"]
        assert infos[i]["TimeLimit.truncated"] is True and infos[i]["worker_restarted"] is True
        assert_same(infos[i]["terminal_observation"], last[i], f"last of {i}")
        assert rewards[i] == 0
        # who is made anew and seeded so shows the same
        again, reset_info = Counting().reset(seed=seed)
        assert_same(observations[i], again, f"first of {i}")
        assert env.reset_infos[i]["reset"] == reset_info["reset"]


def test_environments_of_a_killed_worker_come_back() -> None:
    with made(counters(), on_error="restart") as env:
        env.reset()
        for _ in range(3):
            last = env.step([0] * 4)[0]
            pid = process_ids(env)[3]
            os.kill(pid, signal.SIGKILL)
            wait_for(partial(has_ended, pid))
            check_restart(env, env.step([0] * 4), last, [2, 3])
            # and all is as ever
            observations, rewards, dones, infos = env.step([0] * 4)
            assert observations[2:, 0].tolist() == [1, 1] and rewards.tolist() == [1] * 4
            assert not dones.any() and "worker_restarted" not in infos[2]


@pytest.mark.parametrize(
    ("trouble", "who"), [(lambda: os._exit(1), [2, 3]), (fail, [2])], ids=["dies", "raises"]
)
def test_environments_that_fail_in_a_step_come_back(
    trouble: Callable[[], Any], who: list[int]
) -> None:
    """Each time at their third step; all of a worker that dies, and who raises alone."""
    with made(counters(trouble), on_error="restart") as env:
        last = env.reset()
        for step in range(1, 12):
            result = env.step([0] * 4)
            check_restart(env, result, last, who if step % 3 == 0 else [])
            last = result[0]


def test_an_environment_that_fails_in_a_reset_comes_back() -> None:
    """It is reset again, and only the infos of resets can say so."""
    calls: list[int] = []

    def fail_once() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OwnError

    with made(counters(fail_once), on_error="restart") as env:
        env.set_options({"do": 1})
        env.seed(7)
        assert env.reset()[:, 0].tolist() == [0] * 4
        told = [info.get("restart_seed") for info in env.reset_infos]
        assert told == [None, None, 9, None]


def test_observations_that_are_objects_come_back() -> None:
    with made(tellers(2, of=SPACES["text"]), on_error="restart") as env:
        last = env.reset()[1]
        pid = process_ids(env)[1]
        os.kill(pid, signal.SIGKILL)
        wait_for(partial(has_ended, pid))
        _, _, dones, infos = env.step([0, 0])
        assert dones.tolist() == [False, True]
        assert infos[1]["terminal_observation"] == last


def test_an_interrupt_loses_nothing_and_ends_nothing() -> None:
    """Ctrl-C while workers step: the step is there for step_wait, or reset drops it."""

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
