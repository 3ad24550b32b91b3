"""LunarLander equals Gymnasium's, array by array and bit by bit, with all options and resets."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from tests.support.same import assert_same, leaves
from tests.support.sampling import paired, thinned

pytestmark = pytest.mark.proven("csrc/envs/box2d")

Array = npt.NDArray[Any]

MODES = list(AutoresetMode)
IDS = ["LunarLander-v3", "LunarLanderContinuous-v3"]
WIND: Mapping[str, Any] = {"enable_wind": True}


@dataclass(frozen=True)
class Case:
    """What to make and how to play it.

    A skilled pilot lands softly, so that bodies come to rest. A random one crashes.
    """

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    skilled: bool = False
    steps: int = 250
    num_envs: int = 3

    def __str__(self) -> str:
        parts = [f"{name}={value}" for name, value in self.kwargs.items()]
        return "-".join([self.id, *parts, *(["skilled"] if self.skilled else [])])


PLAIN = [
    *(Case(id, skilled=skilled) for id in IDS for skilled in (True, False)),
    *(Case(id, {"max_episode_steps": limit}, steps=30) for id in IDS for limit in (1, 7)),
]
# with another physics, which autoreset does not know
PHYSICS = [
    *(Case(id, {**WIND, "wind_power": 9.5, "turbulence_power": 0.7}) for id in IDS),
    Case("LunarLander-v3", {"gravity": -3.7}, skilled=True, steps=400),
    Case("LunarLander-v3", {"gravity": -11.9999}),
    Case("LunarLander-v3", {"gravity": -1e-300}, steps=100),
    Case("LunarLander-v3", {"continuous": True, "gravity": -8}, skilled=True),
    Case("LunarLanderContinuous-v3", {"continuous": False}),
    Case("LunarLander-v3", WIND, skilled=True, steps=400),
    # negative, and beyond what Gymnasium recommends, with a warning
    Case("LunarLander-v3", {**WIND, "wind_power": -30.0, "turbulence_power": 9}),
    Case("LunarLander-v3", {**WIND, "wind_power": 0.0, "turbulence_power": 1e18}),
    *(
        Case(id, {**WIND, name: value}, steps=15, num_envs=2)
        for id in IDS
        for name in ("wind_power", "turbulence_power")
        for value in (math.inf, -math.inf, math.nan, 1e30, 3e38)
    ),
]


def steer(obs: Array, continuous: bool) -> Array:
    """Returns actions that land softly, of the dtype of the action space.

    Args:
        obs: of all environments, (n, 8).
        continuous: whether actions are throttles.
    """
    x, y, vx, vy, angle, spin, left, right = obs.astype(np.float64).T
    touches = (left + right) > 0
    turn = (np.clip(0.5 * x + vx, -0.4, 0.4) - angle) * 0.5 - spin
    hover = (0.55 * np.abs(x) - y) * 0.5 - vy * 0.5
    turn, hover = np.where(touches, 0, turn), np.where(touches, -vy * 0.5, hover)
    if continuous:
        throttle = np.stack([hover * 20 - 1, -turn * 20], axis=1)
        return np.clip(throttle, -1, 1).astype(np.float32)
    engine = np.where(turn < -0.05, 3, np.where(turn > 0.05, 1, 0))
    return np.where((hover > np.abs(turn)) & (hover > 0.05), 2, engine)


@pytest.mark.quick(1, sanitizers=2)
@pytest.mark.parametrize(
    ("case", "mode"),
    thinned(paired(PLAIN, PHYSICS, MODES), 7),
    ids=lambda value: value.name if isinstance(value, AutoresetMode) else str(value),
)
def test_run_is_the_same(case: Case, mode: AutoresetMode) -> None:
    check(case, mode)


def check(case: Case, mode: AutoresetMode) -> Array:
    """Compares a run. Returns how many episodes crashed, landed, and were cut off."""
    ends = np.zeros(3, int)
    vector_kwargs = {"autoreset_mode": mode}
    with pair(case.id, case.num_envs, vector_kwargs=vector_kwargs, **case.kwargs) as (theirs, ours):
        theirs.action_space.seed(7)
        expected: Any = theirs.reset(seed=11)
        actual: Any = ours.reset(seed=11)
        drop_signs_of_nan(expected)
        drop_signs_of_nan(actual)
        assert_same(actual, expected, "reset")
        obs = expected[0]
        continuous = theirs.single_action_space.shape == (2,)
        for step in range(case.steps):
            action = theirs.action_space.sample()
            if case.skilled:
                action = steer(obs, continuous)
            elif continuous:
                # some beyond the bounds
                action *= np.float32(1.2)
            expected = theirs.step(action)
            actual = ours.step(action)
            drop_signs_of_nan(expected)
            drop_signs_of_nan(actual)
            assert_same(actual, expected, f"step {step}")
            obs, reward, terminated, truncated, _ = expected
            ends += np.array([(reward == -100).sum(), (reward == 100).sum(), truncated.sum()])
            ended = terminated | truncated
            if mode is AutoresetMode.DISABLED and ended.any():
                again = theirs.reset(options={"reset_mask": ended.copy()})
                assert_same(ours.reset(options={"reset_mask": ended.copy()}), again, "reset")
                obs = again[0]
    return ends


def drop_signs_of_nan(result: Any) -> None:
    """A NaN's sign depends on the order of operands, which compilers choose."""
    for array in leaves(result):
        if array.dtype.kind == "f":
            array[np.isnan(array)] = np.nan


@pytest.mark.slow
@pytest.mark.parametrize("skilled", [True, False])
@pytest.mark.parametrize("id", IDS)
def test_long_runs_are_the_same(id: str, skilled: bool) -> None:
    """Through hundreds of episodes, on the same objects."""
    ends = check(Case(id, skilled=skilled, steps=1500, num_envs=16), AutoresetMode.NEXT_STEP)
    assert ends[1 if skilled else 0] >= 40


@pytest.mark.parametrize("mode", thinned(MODES, 2), ids=lambda mode: mode.name)
def test_partial_resets_are_the_same(mode: AutoresetMode) -> None:
    vector_kwargs = {"autoreset_mode": mode}
    kwargs = {"max_episode_steps": 9, **WIND}
    with pair(IDS[0], 4, vector_kwargs=vector_kwargs, **kwargs) as (theirs, ours):
        check_partial_resets(theirs, ours, 60, lambda step: ({}, {}))


@pytest.mark.parametrize("id", IDS)
def test_surface_is_the_same(id: str) -> None:
    with pair(id, 2, **WIND) as (theirs, ours):
        for name in (
            *("num_envs", "single_observation_space", "observation_space"),
            *("single_action_space", "action_space", "metadata", "render_mode"),
        ):
            assert getattr(ours, name) == getattr(theirs, name), name
        low = ours.single_observation_space.low
        assert np.signbit(low).tolist() == np.signbit(theirs.single_observation_space.low).tolist()


# the values of one action, as programs give them; NaN stops an engine
THROTTLES: list[Any] = [
    np.array([[0.3, -0.7]] * 2, np.float16),
    np.array([[0.1, 0.51]] * 2, np.float32),
    np.array([[0.1, 0.51]] * 2, np.float64),
    np.array([[1, -1], [0, 1]], np.int64),
    np.array([[True, False]] * 2),
    np.array([[math.nan, 0.9], [0.9, math.nan]]),
    np.array([[math.inf, -math.inf], [-math.inf, math.inf]], np.float32),
    np.array([[0.5, 0.5], [-0.0, -0.5]]),
    [[0.2, -0.9], [1e300, -1e300]],
]


@pytest.mark.parametrize("case", range(len(THROTTLES)))
def test_throttles_of_any_dtype_are_the_same(case: int) -> None:
    with pair(IDS[1], 2) as (theirs, ours):
        theirs.reset(seed=3), ours.reset(seed=3)
        for step in range(12):
            # a list is an array of float64 in each environment
            action = THROTTLES[case]
            expected = theirs.step(np.asarray(action))
            assert_same(ours.step(action), expected, f"step {step}")


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize("num_threads", [1, 4])
def test_worlds_in_several_threads_are_independent(num_threads: int) -> None:
    """Box2D's static variables are counters, and tables that are complete after the first world."""
    steps, count = 120, 24
    actions = np.random.default_rng(5).integers(0, 4, (steps, count))

    def play(threads: int, results: list[bytes]) -> None:
        with Pool(IDS[0], count, num_threads=threads, seed=9, options=WIND) as pool:
            pool.reset()
            rows = [pool.step(action) for action in actions]
            results.append(b"".join(row.obs.tobytes() + row.reward.tobytes() for row in rows))

    expected: list[bytes] = []
    play(1, expected)
    found: list[bytes] = []
    # two pools at the same time
    players = [threading.Thread(target=play, args=(num_threads, found)) for _ in range(2)]
    for each in players:
        each.start()
    for each in players:
        each.join()
    assert found == expected * 2


def test_a_snapshot_holds_the_whole_episode() -> None:
    """Also in another pool, and of an episode that outgrew the first room for its record."""
    options = {"continuous": True, "gravity": -0.001, **WIND, "wind_power": 0.01}
    with (
        Pool(IDS[0], 1, seed=2, options=options) as first,
        Pool(IDS[0], 1, options=options) as other,
    ):
        first.reset()
        for _ in range(150):
            first.step(np.array([[-1.0, 0.6]]))
        assert not first.needs_reset(0)
        other.set_state(first.get_state())
        np.testing.assert_array_equal(other.observe().obs, first.observe().obs)
        for _ in range(20):
            rows = [pool.step(np.array([[0.1, -0.8]])) for pool in (first, other)]
            for name in ("obs", "reward", "terminated", "elapsed_step"):
                np.testing.assert_array_equal(getattr(rows[0], name), getattr(rows[1], name))


# ---------------------------------------------------------------------------------- pictures --


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_pictures_are_the_same(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fire of the engines, whose particles age with each picture."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    kinds = set()
    with pair(id, 2, render_mode="rgb_array", **WIND) as (theirs, ours):
        theirs.action_space.seed(3)
        assert_same(ours.reset(seed=4), theirs.reset(seed=4), "reset")
        assert ours.metadata == theirs.metadata
        for step in range(150):
            # as often as not, so that particles gather
            if step % 10 in (0, 1, 2, 5):
                expected, pictures = theirs.render(), ours.render()
                assert isinstance(pictures, tuple) and isinstance(expected, tuple)
                for ours_of, theirs_of in zip(pictures, expected, strict=True):
                    np.testing.assert_array_equal(ours_of, theirs_of, f"step {step}")
                    assert (ours_of.shape, ours_of.dtype) == ((400, 600, 3), np.uint8)
                    kinds.add(ours_of.tobytes())
            action = theirs.action_space.sample()
            assert_same(ours.step(action), theirs.step(action), f"step {step}")
    assert len(kinds) > 50


@pytest.mark.parametrize("mode", [None, "rgb_array"])
def test_attributes_of_particles(mode: str | None) -> None:
    """Steps change them if pictures are drawn, so they are never a constant."""
    ours = parallel_pool.make_vec(IDS[0], 2, render_mode=mode)
    with pytest.raises(AttributeError, match='backend="process"'):
        ours.get_attr("particles")
    ours.close()


def test_a_restored_snapshot_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with Pool(IDS[0], 1, seed=8) as pool:
        pool.reset()
        start, first = pool.get_state(), pool.render([0])[0]
        for _ in range(20):
            pool.step([2])
        later = pool.render([0])[0]
        assert (later != first).any()
        pool.set_state(start)
        np.testing.assert_array_equal(pool.render([0])[0], first)
        # other actions from the same beginning
        for _ in range(20):
            pool.step([0])
        assert (pool.render([0])[0] != later).any()


def test_it_runs_in_envpools_api() -> None:
    env = parallel_pool.make(IDS[0], env_type="gymnasium", num_envs=3, seed=5)
    theirs = [gymnasium.make(IDS[0]) for _ in range(3)]
    obs, _ = env.reset()
    for i, each in enumerate(theirs):
        np.testing.assert_array_equal(obs[i], each.reset(seed=5 + i)[0])
    obs, *_ = env.step(np.array([2, 1, 0]))
    for i, each in enumerate(theirs):
        np.testing.assert_array_equal(obs[i], each.step(2 - i)[0])
    env.close()
