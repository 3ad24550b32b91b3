"""Classic control equals Gymnasium's, array by array and bit by bit, through every reset."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool.errors import EnvError
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc/envs/classic_control")

Array = npt.NDArray[Any]

IDS = [
    "CartPole-v0",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "Acrobot-v1",
]


@dataclass(frozen=True)
class Case:
    """What to run: constructor and reset options, and how long.

    With `pump` a mountain car is pushed in the direction in which it rolls, so that it reaches its
    goal.
    """

    id: str
    options: Mapping[str, Any] = field(default_factory=dict)
    reset: Mapping[str, Any] | None = None
    pump: bool = False
    steps: int = 250
    num_envs: int = 4

    def __str__(self) -> str:
        parts = [self.id, *(f"{k}={v}" for k, v in {**self.options, **(self.reset or {})}.items())]
        return "-".join([*parts, *(["pump"] if self.pump else [])])


CASES = [
    *(Case(id, steps=1120, num_envs=9) for id in IDS),
    Case("MountainCar-v0", pump=True, steps=800),
    Case("MountainCarContinuous-v0", pump=True, steps=800),
    # constructor options
    Case("CartPole-v0", {"sutton_barto_reward": True}),
    Case("CartPole-v1", {"sutton_barto_reward": True}, {"low": -1.0, "high": 1.0}),
    Case("CartPole-v1", {"sutton_barto_reward": False}),
    Case("MountainCar-v0", {"goal_velocity": 0.03}, pump=True),
    Case("MountainCar-v0", {"goal_velocity": math.inf}, {"low": 0.3, "high": 0.6}, pump=True),
    Case("MountainCarContinuous-v0", {"goal_velocity": 0.04}, pump=True),
    # the goal's velocity is compared in float32, unless the car's was clipped
    *(
        Case("MountainCarContinuous-v0", {"goal_velocity": goal}, {"low": 0.2, "high": 0.44}, True)
        for goal in (0.05, -0.07, 0.07, math.nextafter(0.07, 1), float(np.float32(0.07)))
    ),
    Case("Pendulum-v1", {"g": 9.81}),
    Case("Pendulum-v1", {"g": 3}, {"y_init": 8.0}),
    Case("Pendulum-v1", {"g": -5.5}, {"x_init": 1.0, "y_init": 300.0}),
    # reset options, alone and together, inside the bounds and far outside
    Case("CartPole-v1", reset={"low": -0.2}),
    Case("CartPole-v0", reset={"high": 0.2}),
    Case("CartPole-v1", reset={"low": 0.1, "high": 0.1}),
    Case("CartPole-v1", reset={"low": -1e5, "high": 1e5}),
    Case("MountainCar-v0", reset={"low": -1.2, "high": 0.6}, pump=True),
    Case("MountainCar-v0", reset={"low": -9.0, "high": 9.0}),
    Case("MountainCarContinuous-v0", reset={"low": -1.2, "high": 0.6}, pump=True),
    Case("MountainCarContinuous-v0", reset={"low": -12.0, "high": 9.0}),
    Case("Pendulum-v1", reset={"x_init": 100.0, "y_init": 0.0}),
    Case("Pendulum-v1", reset={"x_init": 9990.0}),
    Case("Pendulum-v1", reset={"x_init": 1e9}),
    Case("Acrobot-v1", reset={"low": -3.0, "high": 3.0}),
    Case("Acrobot-v1", reset={"low": -0.01}),
    Case("Acrobot-v1", reset={"high": 0.5}),
    Case("Acrobot-v1", reset={"low": 2, "high": 12}),
    Case("Acrobot-v1", reset={"low": -90000.0, "high": 0.1}, steps=0),
]

WRONG_RESETS = [
    *(
        (id, wrong)
        for id in IDS
        if id != "Pendulum-v1"
        for wrong in (
            {"low": 0.2, "high": 0.1},
            {"low": 1.0},
            {"high": -1.0},
            {"low": math.nan},
            {"high": math.inf},
            {"low": -math.inf},
            {"low": -1.5e308, "high": 1.5e308},
        )
    ),
    *(
        ("Pendulum-v1", wrong)
        for wrong in (
            {"x_init": -0.1},
            {"y_init": -1.0},
            {"x_init": math.nan},
            {"y_init": math.inf},
            {"x_init": 1e308},
        )
    ),
]


@contextmanager
def pair(
    id: str, num_envs: int, options: Mapping[str, Any], **pool_options: Any
) -> Iterator[tuple[gymnasium.vector.VectorEnv[Any, Any, Any], Pool]]:
    """Yields Gymnasium's environments and a pool of ours."""
    with warnings.catch_warnings():
        # Gymnasium warns about v0 ids, which are out of date, and states outside the space
        warnings.simplefilter("ignore")
        reference = gymnasium.make_vec(id, num_envs, vectorization_mode="sync", **options)
        pool = Pool(id, num_envs, reward_dtype="float64", options=options, **pool_options)
        try:
            yield reference, pool
        finally:
            pool.close()
            reference.close()


def assert_same(name: str, actual: Array, expected: Array) -> None:
    assert actual.dtype == expected.dtype, name
    assert actual.shape == expected.shape, name
    if actual.tobytes() != expected.tobytes():
        np.testing.assert_array_equal(actual, expected, name)
        raise AssertionError(f"{name}: signs of zero or nan differ: {actual} {expected}")


def columns(pool: Pool, batch: tuple[Array, ...]) -> dict[str, Array]:
    return {column.name: array for column, array in zip(pool.columns, batch, strict=True)}


class Actor:
    """Chooses actions for all environments; some Box actions are beyond their bounds."""

    def __init__(self, space: gymnasium.Space[Any], num_envs: int, pump: bool) -> None:
        self.space, self.num_envs, self.pump = space, num_envs, pump
        self.rng = np.random.default_rng(4)

    def act(self, observation: Array) -> Array:
        forward = observation[:, 1] >= 0
        if isinstance(self.space, gymnasium.spaces.Discrete):
            if self.pump:
                return np.where(forward, 2, 0)
            return self.rng.integers(self.space.n, size=self.num_envs)
        assert isinstance(self.space, gymnasium.spaces.Box)
        if self.pump:
            force = self.rng.uniform(0.5, 1.5, self.num_envs)
            return np.where(forward, force, -force)[:, None].astype(np.float32)
        limit = float(self.space.high[0])
        action = self.rng.normal(0, limit, (self.num_envs, 1)).astype(np.float32)
        # also the bounds themselves, and zero
        special = self.rng.choice(np.array([limit, -limit, 0.0], np.float32), action.shape)
        return np.where(self.rng.random(action.shape) < 0.1, special, action)


def assert_same_episodes(
    reference: gymnasium.vector.VectorEnv[Any, Any, Any], pool: Pool, actor: Actor, steps: int
) -> None:
    observation: Array = np.zeros((pool.num_envs, 2))
    for step in range(steps):
        actions = actor.act(observation)
        observation, reward, terminated, truncated, _ = reference.step(actions)
        ours = columns(pool, pool.step(actions))
        for name, expected in {
            "obs": observation,
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
        }.items():
            assert_same(f"{name} at step {step}", ours[name], expected)


@pytest.mark.quick(3, sanitizers=6)
@pytest.mark.parametrize("case", thinned(CASES, 3), ids=str)
def test_same_bits(case: Case) -> None:
    with pair(case.id, case.num_envs, case.options) as (reference, pool):
        reset = dict(case.reset) if case.reset is not None else None
        actor = Actor(reference.single_action_space, case.num_envs, case.pump)
        # the second round continues with the generators as the first one left them
        for seed in (17, None):
            expected, _ = reference.reset(seed=seed, options=reset)
            assert_same(
                "reset", columns(pool, pool.reset(seed=seed, options=reset))["obs"], expected
            )
            assert_same_episodes(reference, pool, actor, case.steps // 2)


@pytest.mark.parametrize("id", IDS)
def test_seeds(id: str) -> None:
    """Small, large and repeated seeds; None does not change an environment's generator."""
    rounds: list[Any] = [0, [5, 5, 0, 2**32], [2**128 + 3, None, 7**150, 1], None, 2**64 - 1]
    with pair(id, 4, {}) as (reference, pool):
        actor = Actor(reference.single_action_space, 4, False)
        for seed in rounds:
            expected, _ = reference.reset(seed=seed)
            assert_same(f"seed {seed}", columns(pool, pool.reset(seed=seed))["obs"], expected)
            assert_same_episodes(reference, pool, actor, 30)


@pytest.mark.parametrize("id", IDS)
def test_one_by_one_equals_runs(id: str) -> None:
    """In order, all environments are stepped as a run; in reverse order, one by one."""
    count = 150
    with Pool(id, count, num_threads=1) as run, Pool(id, count, num_threads=2) as single:
        actor = Actor(run.spec.action_space(), count, False)
        backwards = np.arange(count - 1, -1, -1, dtype=np.int32)
        together = run.reset(seed=3)
        apart = single.reset(backwards, seed=[3 + int(i) for i in backwards])
        for step in range(60):
            for column, ours, theirs in zip(run.columns, together, apart, strict=True):
                assert_same(f"{column.name} at step {step}", ours, theirs[::-1].copy())
            actions = actor.act(columns(run, together)["obs"])
            together = run.step(actions)
            apart = single.step(actions[::-1].copy(), backwards)


@pytest.mark.parametrize("id", IDS)
def test_definition(id: str) -> None:
    """Spaces, limit and threshold are those that Gymnasium registers."""
    definition = registry.find(id)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = gymnasium.make(id)
    assert reference.spec is not None
    spec = definition.configure({})
    assert spec.observation_space() == reference.observation_space
    assert spec.observation_space().dtype == reference.observation_space.dtype
    assert spec.action_space() == reference.action_space
    assert definition.max_episode_steps == reference.spec.max_episode_steps
    assert definition.reward_threshold == reference.spec.reward_threshold
    reference.close()


@pytest.mark.quick(24)
@pytest.mark.parametrize(("id", "wrong"), WRONG_RESETS, ids=str)
def test_wrong_reset_options(id: str, wrong: dict[str, float]) -> None:
    """Our pool refuses what Gymnasium refuses, before anything has changed."""
    with pair(id, 2, {}) as (reference, pool):
        actor = Actor(reference.single_action_space, 2, False)
        expected, _ = reference.reset(seed=1)
        assert_same("reset", columns(pool, pool.reset(seed=1))["obs"], expected)
        with pytest.raises((ValueError, OverflowError)):
            gymnasium.make(id).reset(options=wrong)
        with pytest.raises(ValueError):
            pool.reset(seed=9, options=wrong)
        assert_same_episodes(reference, pool, actor, 5)


def test_acrobot_out_of_bounds() -> None:
    """Angles from which Gymnasium's loop would not return are an error, not a hang."""
    with Pool("Acrobot-v1", 1, seed=0) as pool:
        pool.reset(options={"low": 1e6, "high": 1e6})
        with pytest.raises(EnvError, match="smaller bounds"):
            for _ in range(3):
                pool.step([1])
