"""The options of a reset of translated classes: the same bits as in Python, or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import cartpole, mountain_car, pendulum

import parallel_pool
from parallel_pool._contract.twins import is_same
from parallel_pool._translator import translation
from parallel_pool.errors import EnvError
from tests.translator import askers, probes

X: dict[str, Any] = {"x": 1.5}
# what is given in turn to each class
GIVEN: dict[Any, list[dict[str, Any] | None]] = {
    askers.Tests: [X, {"count": 9}, {"x": -2.0, "count": 1}, {}],
    askers.Gets: [X, {"count": 2, "is_set": True}, {"is_set": False}, {}],
    askers.Nested: [X, {"count": 2}, {"x": 0.0, "count": 9}, {}],
    askers.Filled: [X, {"count": 2}, {"is_set": True}, {"is_set": False, "x": 3.25}, {}],
    askers.Bounds: [{"low": -1.0}, {"low": 0, "high": 1}, {"high": np.float64(0.5)}, {}],
    askers.Helped: [X, {"count": 5}, {"x": 0.125, "count": 0}, {}],
    askers.Index: [{"place": 2}, {"place": -1}, {"place": np.int64(0), "factor": 0.5}, {}],
    askers.Locals: [{"one": 1}, {"two": 2}, {"three": 3.0}, {}],
    askers.Large: [{"count": 2}, {}],
    cartpole.CartPoleEnv: [{"low": -0.2, "high": 0.1}, {"low": -0.1}, {"high": 1}, {}],
    mountain_car.MountainCarEnv: [{"low": -0.7, "high": -0.5}, {"high": -0.2}, {}],
    pendulum.PendulumEnv: [{"x_init": 1.0, "y_init": 0.5}, {"y_init": 2}, {}],
}


def translated(cls: Any) -> str:
    (task_id,) = parallel_pool.compile(cls, f"asking/{cls.__name__}-v0")
    return task_id


def twins(cls: Any) -> tuple[Any, Any]:
    ours = parallel_pool.make_vec(translated(cls), 3, backend="native")
    return ours, gymnasium.vector.SyncVectorEnv([cls] * 3)


def check(one: Any, other: Any) -> None:
    assert is_same(one, other), f"{one}\nand in Python\n{other}"


@pytest.mark.slow
@pytest.mark.parametrize("cls", GIVEN, ids=lambda cls: cls.__name__)
def test_resets_with_and_without_options_give_the_same_bits(cls: Any) -> None:
    ours, theirs = twins(cls)
    theirs.action_space.seed(0)
    for seed, options in enumerate([None, *GIVEN[cls], None]):
        given = [None if options is None else dict(options) for _ in range(2)]
        check(ours.reset(seed=seed, options=given[0]), theirs.reset(seed=seed, options=given[1]))
        # through the ends of episodes, after which there are no options
        for _ in range(12):
            actions = theirs.action_space.sample()
            check(ours.step(actions), theirs.step(actions))
        mask = np.array([True, False, True])
        masked = [{**(options or {}), "reset_mask": mask.copy()} for _ in range(2)]
        check(ours.reset(options=masked[0])[0], theirs.reset(options=masked[1])[0])
        assert "reset_mask" not in masked[0]
    ours.close()
    theirs.close()


def test_single_environments_take_options() -> None:
    task_id = translated(askers.Gets)
    ours, theirs = gymnasium.make(f"parallel_pool/{task_id.replace('/', '.')}"), askers.Gets()
    for options in (None, {}, X, {"count": 4}):
        check(ours.reset(seed=2, options=options), theirs.reset(seed=2, options=options))
    ours.close()


def test_stable_baselines3_sets_options() -> None:
    from parallel_pool import PoolVecEnv

    envs = PoolVecEnv(translated(askers.Gets), 2)
    envs.set_options([{"x": 4.0}, {}])
    assert envs.reset()[:, 0].tolist() == [4.0, -0.05]
    assert envs.reset()[:, 0].tolist() == [-0.05, -0.05]
    envs.close()


def test_a_snapshot_holds_what_a_reset_made_of_options() -> None:
    with parallel_pool.Pool(translated(askers.Gets), 2, seed=0) as pool:
        pool.reset(options={"x": 8.0, "count": 20})
        states = pool.get_state()
        after = pool.step([0, 0]).obs.copy()
        pool.reset()
        pool.set_state(states)
        assert np.array_equal(pool.step([0, 0]).obs, after) and after[0, 1] == 19


def test_what_a_reset_needs_is_an_exception_of_it() -> None:
    with parallel_pool.Pool(translated(askers.Needs), 1, seed=0) as pool:
        assert pool.reset().obs[0, 0] == 0.5
        with pytest.raises(EnvError, match="KeyError: 'x'"):
            pool.reset(options={})
        assert pool.reset(options={"x": 2.5}).obs[0, 0] == 2.5


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (askers.Gets, {"y": 1.0}, "has no option y: it has count, is_set, x"),
    (askers.Gets, {"x": "far"}, "x='far' is a str: give a number"),
    (askers.Gets, {"x": [1.0]}, "is a list: give a number"),
    (askers.Gets, {"x": {"y": 1}}, "is a dict: give a number"),
    (askers.Gets, {"x": np.float32(1)}, "is a float32, .* give float"),
    (askers.Gets, {"x": 2**60}, "is an int, .* give float"),
    (askers.Gets, {"x": True}, "x=True is a bool: give a number"),
    (askers.Gets, {"count": 1.5}, r"count=1\.5 is a float: give an integer"),
    (askers.Gets, {"is_set": 1}, "is_set=1 is an int: give True or False"),
    (askers.Large, {"start": (1.0, True)}, r"option 'start', as only .*askers\.py:\d+: "),
    (askers.Large, {"name": "me"}, r"option 'name', as only numbers .*: its default is 'none'"),
]


@pytest.mark.quick(3)
@pytest.mark.parametrize("cls, options, message", WRONG)
def test_wrong_options_are_refused_and_change_nothing(
    cls: Any, options: dict[str, Any], message: str
) -> None:
    with parallel_pool.Pool(translated(cls), 1, seed=0) as pool:
        pool.reset()
        before = pool.get_state()
        with pytest.raises(TypeError, match=message):
            pool.reset(options=options)
        assert pool.get_state() == before


HEAD = """
import gymnasium
import numpy as np
from gymnasium import spaces


class NAME(gymnasium.Env):
    def __init__(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0.0
"""
TAIL = """
        return np.array([self.x]), {}

    def step(self, action):
        return np.array([self.x]), 1.0, False, False, {}
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], str]:
    def made(body: str) -> str:
        path = tmp_path / f"asks_{abs(hash(body))}.py"
        lines = "".join(f"        {line}\n" for line in body.splitlines())
        path.write_text(HEAD.replace("NAME", path.stem.title().replace("_", "")) + lines + TAIL)
        (task_id,) = parallel_pool.load_source(path)
        return task_id

    return made


MORE = [
    "for key in options or {}:\n    self.x = 1.0",
    "self.x = float(sum(list((options or {}).values())))",
    "self.options = options",
    "if options:\n    self.x = options.pop('x')",
    "if options:\n    self.x = options[str(seed)]",
    "if options:\n    self.x = float(options['x y'])",
]


@pytest.mark.slow
@pytest.mark.parametrize("body", MORE)
def test_programs_that_need_more_are_translated_without_options(
    body: str, load: Callable[[str], str]
) -> None:
    task_id = load(body)
    with parallel_pool.Pool(task_id, 1, seed=0) as pool:
        assert pool.reset().obs[0, 0] == 0.0
        with pytest.raises(TypeError, match=r"asks_\d+\.py:1[56]: "):
            pool.reset(options={"x": 1.0})


@pytest.mark.slow
def test_defaults_of_two_types_are_refused(load: Callable[[str], str]) -> None:
    task_id = load('if options:\n    self.x = options.get("x", 0.5) + options.get("x", 1)')
    with parallel_pool.Pool(task_id, 1) as pool, pytest.raises(TypeError, match="one type"):
        pool.reset(options={"x": 1.0})


def test_a_class_that_does_not_ask_has_no_options() -> None:
    text = translation.translate(probes.Random, "Random-v0").text
    assert "reset_options" not in text and "how->options" not in text
