"""CarRacing equals Gymnasium's: the pictures pixel by pixel, and all else bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool._engine.pool import Pool
from tests.support.pairs import pair
from tests.support.partial_resets import check_partial_resets
from tests.support.same import assert_same

pytestmark = pytest.mark.proven("csrc/envs/box2d")

Array = npt.NDArray[Any]

ID = "CarRacing-v3"
MODES = list(AutoresetMode)
KEYS: Mapping[str, Any] = {"continuous": False}
COLORS: Mapping[str, Any] = {"domain_randomize": True}


class Driver:
    """Follows the road of Gymnasium's environments, which are beside ours, with noise."""

    def __init__(self, envs: Any, noise: float = 0.05, most_speed: float = 45) -> None:
        self._envs, self._most_speed = envs, most_speed
        self._noise = np.random.default_rng(3).normal(0, noise, (1 << 16)).tolist()

    def choose(self) -> Array:
        """Returns actions, float32 (n, 3)."""
        return np.array([self._drive(each.unwrapped) for each in self._envs.envs], np.float32)

    def _drive(self, env: Any) -> list[float]:
        hull = env.car.hull
        (x, y), angle = hull.position, hull.angle
        points = np.array(env.track)[:, 2:]
        nearest = int(np.argmin(((points - (x, y)) ** 2).sum(1)))
        dx, dy = points[(nearest + 4) % len(points)] - (x, y)
        aside = np.cos(angle) * dx + np.sin(angle) * dy
        ahead = np.cos(angle) * dy - np.sin(angle) * dx
        speed = np.hypot(*hull.linearVelocity)
        steer = np.clip(2 * np.arctan2(aside, ahead) + self._noise.pop(), -1, 1)
        return [steer, 0.7 * (speed < self._most_speed), 0.3 * (speed > self._most_speed + 15)]


class Reckless:
    """Full speed ahead, off the road and at last out of the field."""

    def __init__(self, envs: Any) -> None:
        self._rng, self._shape = np.random.default_rng(5), (envs.num_envs, 1)

    def choose(self) -> Array:
        steer = self._rng.normal(0, 0.02, self._shape)
        return np.concatenate([steer, np.ones_like(steer), 0 * steer], 1).astype(np.float32)


class Random:
    """Random actions, some beyond the bounds."""

    def __init__(self, envs: Any) -> None:
        self._envs, self._rng = envs, np.random.default_rng(6)

    def choose(self) -> Array:
        shape = self._envs.action_space.shape
        if len(shape) == 1:
            return self._rng.choice([0, 1, 2, 3, 3, 3, 4], shape)
        return self._rng.uniform([-1.2, -0.2, -0.4], 1.2, shape).astype(np.float32)


class DrawSwitch:
    """Makes Gymnasium's environments draw only when they are told to.

    A picture takes them 30 times as long as the physics of a step, of which it changes nothing.
    """

    def __init__(self, envs: Any) -> None:
        self.draws = True
        self._blank = np.zeros((96, 96, 3), np.uint8)
        for each in envs.envs:
            env = each.unwrapped
            env._render = partial(self._draw, env._render)

    def _draw(self, draw: Callable[[str], Any], mode: str) -> Any:
        return draw(mode) if self.draws else self._blank

    def seen(self, result: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the part of a step's result that has been computed on both sides."""
        if self.draws:
            return result
        return (*result[1:-1], {k: v for k, v in result[-1].items() if "final_obs" not in k})


@dataclass(frozen=True)
class Case:
    """What to make and how to play it."""

    policy: Any = Driver
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 60
    num_envs: int = 1
    seed: int = 11

    def __str__(self) -> str:
        parts = [f"{name}={value}" for name, value in self.kwargs.items()]
        return "-".join([self.policy.__name__.lower(), *parts])


CASES = [
    Case(kwargs={"max_episode_steps": 25}),
    Case(Random, {**KEYS, **COLORS, "max_episode_steps": 20}),
    # it slides over grass
    Case(Reckless, steps=160),
]
# through laps, and out of the field
LONG = [
    Case(steps=2200, num_envs=2),
    Case(kwargs={"lap_complete_percent": 0.3}, steps=2000, num_envs=2, seed=2),
    Case(Reckless, steps=900, num_envs=2),
    Case(Random, COLORS, steps=1100, num_envs=2),
    Case(Random, KEYS, steps=1100, num_envs=2),
]


@pytest.mark.quick(0, sanitizers=1)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_run_is_the_same(case: Case, mode: AutoresetMode) -> None:
    check(case, mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name)
@pytest.mark.parametrize("case", LONG, ids=str)
def test_long_runs_are_the_same(case: Case, mode: AutoresetMode) -> None:
    assert check(case, mode, rest=15)


def check(case: Case, mode: AutoresetMode, rest: int = 0) -> int:
    """Compares a run. Returns how many episodes ended.

    Args:
        case, mode: what to play.
        rest: steps without pictures between two with them; steps that end episodes, and those that
            follow, have some in any case.
    """
    ends, has_ended = 0, False
    with pair(ID, case.num_envs, vector_kwargs={"autoreset_mode": mode}, **case.kwargs) as (
        theirs,
        ours,
    ):
        policy, switch = case.policy(theirs), DrawSwitch(theirs)
        assert_same(ours.reset(seed=case.seed), theirs.reset(seed=case.seed), "reset")
        for step in range(case.steps):
            action = policy.choose()
            actual: Any = ours.step(action)
            ended = actual[2] | actual[3]
            switch.draws = has_ended or bool(ended.any()) or step % (rest + 1) == 0
            has_ended = bool(ended.any())
            expected: Any = theirs.step(action)
            assert_same(switch.seen(actual), switch.seen(expected), f"step {step}")
            ends += int(ended.sum())
            if mode is AutoresetMode.DISABLED and ended.any():
                again: Any = theirs.reset(options={"reset_mask": ended.copy()})
                assert_same(ours.reset(options={"reset_mask": ended.copy()}), again, "reset")
    return ends


@pytest.mark.slow
def test_a_lap_can_be_finished() -> None:
    """A lap ends when the first tile is reached again, or nearly: Gymnasium's rule. The info is in
    no other step."""
    kwargs = {"lap_complete_percent": 0.001}
    with pair(ID, 2, **kwargs) as (theirs, ours):
        assert_same(ours.reset(seed=4), theirs.reset(seed=4), "reset")
        found = []
        for step in range(60):
            # backwards is not possible, so a sharp turn leads back to the start
            action = np.array([[1, 0.6, 0]] * 2, np.float32)
            expected: Any = theirs.step(action)
            assert_same(ours.step(action), expected, f"step {step}")
            found.append("lap_finished" in expected[4])
    assert any(found) and not all(found)


@pytest.mark.sanitizers
def test_colors_change_when_asked_for() -> None:
    with pair(ID, 2, **COLORS) as (theirs, ours):
        for seed, options in ((7, None), (8, {"randomize": False}), (None, {"randomize": True})):
            again: Any = theirs.reset(seed=seed, options=options)
            assert_same(ours.reset(seed=seed, options=options), again, f"{options}")


@pytest.mark.sanitizers
def test_partial_resets_are_the_same() -> None:
    with pair(ID, 2, max_episode_steps=7) as (theirs, ours):
        check_partial_resets(theirs, ours, 14, lambda step: ({}, {}), shape=(3,))


@pytest.mark.sanitizers
def test_surface_is_the_same() -> None:
    for kwargs in ({}, KEYS):
        with pair(ID, 2, **kwargs) as (theirs, ours):
            for name in (
                *("num_envs", "single_observation_space", "observation_space"),
                *("single_action_space", "action_space", "metadata", "render_mode"),
            ):
                assert getattr(ours, name) == getattr(theirs, name), name


# the values of actions as programs give them
ACTIONS: list[Any] = [
    np.array([[0.3, 0.7, 0.1], [-0.3, 0.9, 0]], np.float16),
    np.array([[0.3, 0.7, 0.1], [-0.3, 0.9, 0]]),
    np.array([[1, 1, 0], [-1, 0, 1]]),
    np.array([[1, 1, 0], [255, 2, 1]], np.uint8),
    np.array([[np.inf, np.inf, 0], [-np.inf, -np.inf, -np.inf]]),
    [[0.2, 0.9, 0], [0.1, 1, 0]],
]


@pytest.mark.sanitizers
@pytest.mark.parametrize("case", range(len(ACTIONS)))
def test_actions_of_any_dtype_are_the_same(case: int) -> None:
    with pair(ID, 2) as (theirs, ours):
        theirs.reset(seed=3), ours.reset(seed=3)
        for step in range(6):
            # a list is an array of float64 in each environment
            expected = theirs.step(np.asarray(ACTIONS[case]))
            assert_same(ours.step(ACTIONS[case]), expected, f"step {step}")


def test_actions_with_nan_are_refused() -> None:
    with Pool(ID, 1, seed=1) as pool:
        pool.reset()
        with pytest.raises(ValueError, match="NaN"):
            pool.step(np.full((1, 3), np.nan, np.float32))


# --------------------------------------------------------------------------------- snapshots --


@pytest.mark.sanitizers
def test_a_snapshot_holds_the_episode_and_what_came_before() -> None:
    """Another pool, whose worlds had other episodes, goes on alike through a further reset."""
    rng = np.random.default_rng(8)
    options = {"domain_randomize": True}
    with (
        Pool(ID, 2, seed=2, options=options) as first,
        Pool(ID, 2, seed=7, options=options) as other,
    ):
        for pool, steps in ((first, 40), (other, 10)):
            for _ in range(2):
                pool.reset(options={"randomize": False})
                for _ in range(steps):
                    pool.step(rng.uniform(-1, 1, (2, 3)).astype(np.float32))
        other.set_state(first.get_state())
        np.testing.assert_array_equal(other.observe().obs, first.observe().obs)
        for step in range(60):
            action = rng.uniform(-0.3, 1, (2, 3)).astype(np.float32)
            if step == 30:
                rows = [pool.reset() for pool in (first, other)]
            else:
                rows = [pool.step(action) for pool in (first, other)]
            for name in ("obs", "reward", "terminated", "elapsed_step"):
                np.testing.assert_array_equal(getattr(rows[0], name), getattr(rows[1], name))


@pytest.mark.sanitizers
@pytest.mark.parametrize("num_threads", [1, 3])
def test_environments_in_several_threads_are_independent(num_threads: int) -> None:
    rng = np.random.default_rng(5)
    actions = rng.uniform(-0.3, 1, (30, 6, 3)).astype(np.float32)
    found = []
    for threads in (1, num_threads):
        with Pool(ID, 6, num_threads=threads, seed=9) as pool:
            pool.reset()
            rows = [pool.step(action) for action in actions]
            found.append(b"".join(row.obs.tobytes() + row.reward.tobytes() for row in rows))
    assert found[0] == found[1]


# ---------------------------------------------------------------------------------- pictures --


@pytest.mark.sanitizers
@pytest.mark.parametrize("backend", [pytest.param("GENERIC", marks=pytest.mark.sanitizers), None])
def test_pictures_follow_the_backend_of_smoothscale(backend: str | None) -> None:
    import pygame

    usual = pygame.transform.get_smoothscale_backend()
    try:
        pygame.transform.set_smoothscale_backend(backend or usual)
        check(Case(kwargs=COLORS, steps=15), AutoresetMode.NEXT_STEP)
    finally:
        pygame.transform.set_smoothscale_backend(usual)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["rgb_array", "state_pixels"])
def test_rendered_pictures_are_the_same(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the traces of sliding wheels."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    kinds = set()
    with pair(ID, 2, render_mode=mode, **COLORS) as (theirs, ours):
        policy = Reckless(theirs)
        assert_same(ours.reset(seed=4), theirs.reset(seed=4), "reset")
        assert ours.metadata == theirs.metadata
        for step in range(120):
            if step % 12 == 0:
                expected, pictures = theirs.render(), ours.render()
                assert isinstance(pictures, tuple) and isinstance(expected, tuple)
                for ours_of, theirs_of in zip(pictures, expected, strict=True):
                    np.testing.assert_array_equal(ours_of, theirs_of, f"step {step}")
                    kinds.add(ours_of.tobytes())
            action = policy.choose()
            action[:, 0] = np.sin(step / 8)
            assert_same(ours.step(action), theirs.step(action), f"step {step}")
        assert all(len(each.unwrapped.car.particles) for each in theirs.envs)  # type: ignore[attr-defined]
    assert len(kinds) > 10


def test_it_runs_in_envpools_api() -> None:
    env = parallel_pool.make(ID, env_type="gymnasium", num_envs=2, seed=5)
    theirs = [gymnasium.make(ID) for _ in range(2)]
    obs, _ = env.reset()
    for i, each in enumerate(theirs):
        np.testing.assert_array_equal(obs[i], each.reset(seed=5 + i)[0])
    action = np.array([[0.5, 1, 0], [-0.5, 1, 0]], np.float32)
    obs, *_ = env.step(action)
    for i, each in enumerate(theirs):
        np.testing.assert_array_equal(obs[i], each.step(action[i])[0])
    env.close()
