"""PoolVecEnv over Python environments: seeds, options and methods are DummyVecEnv's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.compat.sb3 import PoolVecEnv
from tests.parity.test_process_parity import Teller
from tests.support.same import assert_same
from tests.support.sampling import thinned
from tests.support.sb3_process_cases import (
    Maker,
    compare,
    compare_reset,
    compare_step,
    made,
    pair,
    tellers,
)

pytestmark = pytest.mark.usefixtures("alarm")


# ----------------------------------------------------------------------------- seeds and options --


def test_each_environment_gets_its_own_seed_and_options() -> None:
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
    # make_vec_env seeds again, with entropy
    ours.seed(5)
    compare_reset(ours, theirs, "reset")
    assert_same(ours.action_space.sample(), theirs.action_space.sample(), "action")
    ours.close()


def test_options_that_can_not_be_pickled_leave_nothing_in_flight() -> None:
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


# ------------------------------------------------------------------------ attributes and methods --


@pytest.mark.slow
def test_make_vec_env_accepts_it() -> None:
    """With its arguments, and the wrappers that it adds to each environment."""
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
            # a duration
            info.get("episode", {}).pop("t", None)
        compare(found, expected, f"step {step}")
    assert episodes > 8
    assert ours.env_is_wrapped(Monitor) == [True] * 4
    assert ours.env_method("get_total_steps") == theirs.env_method("get_total_steps")
    ours.close()


class Shell(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A wrapper with an attribute and a method."""

    colour = "red"

    def draw(self, *colours: str, **more: str) -> Any:
        return self.colour, colours, more, type(self).__name__


class Hard(Shell):
    """A class derived from the other."""


@contextmanager
def shells() -> Iterator[tuple[DummyVecEnv, PoolVecEnv]]:
    """A vector environment of each kind, of wrapped environments from Gymnasium."""

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
    "has": lambda env: [env.has_attr(name) for name in ("colour", "gravity", "none", "draw")],
    "unpicklable": lambda env: env.has_attr("__reduce__"),
    "method": lambda env: env.env_method("draw", "a", "b", more="c"),
    "method of some": lambda env: env.env_method("draw", indices=[2, 1]),
    "method of one": lambda env: env.env_method("draw", indices=-1),
    "has_wrapper_attr": lambda env: env.env_method("has_wrapper_attr", "gravity"),
    "set": lambda env: (env.set_attr("colour", "blue", 1), env.get_attr("colour")),
    "set a new one": lambda env: (env.set_attr("gravity", 3), env.get_attr("gravity")),
    "set one that hides another": lambda env: (
        env.set_attr("length", 3, [0]),
        [env.get_attr("unwrapped", 0)[0].length],
    ),
    "wrapped": lambda env: env.env_is_wrapped(Hard),
    "wrapped as derived": lambda env: env.env_is_wrapped(Shell),
    "wrapped at all": lambda env: env.env_is_wrapped(gymnasium.Wrapper, range(1, 3)),
    "wrapped by Gymnasium": lambda env: env.env_is_wrapped(gymnasium.wrappers.TimeLimit, 0),
    "not wrapped": lambda env: env.env_is_wrapped(Monitor),
    "no indices": lambda env: [
        env.get_attr("spec", []),
        env.env_method("draw", indices=[]),
        env.env_is_wrapped(Hard, []),
        env.set_attr("colour", "none", []),
    ],
    "images": lambda env: (env.seed(2), env.reset(), env.get_images())[1:],
    "picture": lambda env: (env.seed(2), env.reset(), env.render(), env.render("rgb_array"))[1:],
    "by method": lambda env: (env.seed(2), env.reset(), env.env_method("render"))[1:],
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", thinned(QUESTIONS, 4))
def test_attributes_and_methods_are_the_same(name: str) -> None:
    with shells() as (theirs, ours):
        compare(QUESTIONS[name](ours), QUESTIONS[name](theirs), name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        lambda env: env.get_attr("none"),
        lambda env: env.env_method("none", 1),
        lambda env: env.get_attr("spec", 3),
        lambda env: env.get_attr("spec", [0, -4]),
        lambda env: env.env_method("draw", indices=9),
        lambda env: env.env_method("set_wrapper_attr"),
        lambda env: env.env_is_wrapped("Monitor"),
    ],
)
def test_wrong_calls_raise_the_same(question: Question) -> None:
    with shells() as (theirs, ours):
        with pytest.raises(Exception) as expected:
            question(theirs)
        with pytest.raises(expected.type):
            question(ours)
        # nothing is lost
        assert len(ours.reset()) == 3


@pytest.mark.slow
def test_without_a_render_mode_there_are_warnings() -> None:
    with made(tellers(2)) as env:
        env.reset()
        with pytest.warns(UserWarning, match="render_mode=None"):
            assert env.get_images() == [None] * 2
        with pytest.warns(UserWarning, match="no `render_mode`"):
            assert env.render() is None


@pytest.mark.slow
def test_render_modes_must_be_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers end without the garbage collector."""
    closed = []
    close = ProcessPool.close
    monkeypatch.setattr(ProcessPool, "close", lambda pool, timeout: closed.append(close(pool)))
    env_fns = [partial(gymnasium.make, "CartPole-v1", render_mode=m) for m in (None, "rgb_array")]
    with pytest.raises(AssertionError, match="render_mode"):
        PoolVecEnv(env_fns, "fork")
    assert closed


WRAPPERS: dict[str, Callable[[VecEnv], VecEnv]] = {
    "VecMonitor": VecMonitor,
    "VecNormalize": VecNormalize,
    "all": lambda env: VecNormalize(VecFrameStack(VecMonitor(env), 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_return_the_same_as_around_dummy_vec_env(name: str) -> None:
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


@pytest.mark.slow
def test_evaluate_policy_accepts_it() -> None:
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
