"""BipedalWalker equals Gymnasium's, bit by bit, through many episodes in the same worlds."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.envs.box2d.bipedal_walker import BipedalWalkerHeuristics
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool._engine.pool import Pool
from tests.support.pairs import pair
from tests.support.partial_resets import check_partial_resets
from tests.support.same import assert_same
from tests.support.sampling import sampled, thinned

pytestmark = pytest.mark.proven("csrc/envs/box2d")

Array = npt.NDArray[Any]

MODES = list(AutoresetMode)
IDS = ["BipedalWalker-v3", "BipedalWalkerHardcore-v3"]


class Walking:
    """Gymnasium's walking policy for several environments, with noise.

    It walks for hundreds of steps. Without noise all environments would walk alike on even ground.
    """

    def __init__(self, num_envs: int, noise: float, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._noise = noise
        self._policies = [BipedalWalkerHeuristics() for _ in range(num_envs)]

    def choose(self, obs: Array) -> Array:
        """Returns actions, float32 (n, 4)."""
        pairs = zip(self._policies, obs, strict=True)
        actions = np.array([policy.step_heuristic(row) for policy, row in pairs])
        return (actions + self._rng.normal(0, self._noise, actions.shape)).astype(np.float32)

    def restart(self, ended: Array) -> None:
        """Begins anew in the environments whose episode has ended."""
        for i in np.flatnonzero(ended):
            self._policies[i] = BipedalWalkerHeuristics()


class Flailing:
    """Random actions, some beyond the bounds. It falls within a hundred steps."""

    def __init__(self, num_envs: int, noise: float, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._shape = (num_envs, 4)

    def choose(self, obs: Array) -> Array:
        return self._rng.uniform(-1.2, 1.2, self._shape).astype(np.float32)

    def restart(self, ended: Array) -> None:
        pass


@dataclass(frozen=True)
class Case:
    """What to make and how to play it."""

    id: str
    policy: Callable[[int, float, int], Walking | Flailing]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    noise: float = 0.1
    steps: int = 250
    num_envs: int = 2
    seed: int = 11

    def __str__(self) -> str:
        parts = [f"{name}={value}" for name, value in self.kwargs.items()]
        return "-".join([self.id, self.policy.__name__.lower(), *parts])


CASES = [
    Case(IDS[0], Walking, {"hardcore": True}),
    Case(IDS[0], Flailing),
    Case(IDS[1], Flailing),
    Case(IDS[0], Walking, noise=0),
    Case(IDS[1], Walking, {"hardcore": False}),
    *(Case(IDS[0], Walking, {"max_episode_steps": limit}, steps=60) for limit in (1, 7, 40)),
]
QUICK = {str(case) for case in CASES[:3]}


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", sampled(MODES, {MODES[0]}), ids=lambda mode: mode.name)
@pytest.mark.parametrize(
    "case",
    [case if str(case) in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in CASES],
    ids=str,
)
def test_run_is_the_same(case: Case, mode: AutoresetMode) -> None:
    check(case, mode)


def check(case: Case, mode: AutoresetMode) -> int:
    """Compares a run. Returns how many episodes ended."""
    ends = 0
    vector_kwargs = {"autoreset_mode": mode}
    with pair(case.id, case.num_envs, vector_kwargs=vector_kwargs, **case.kwargs) as (theirs, ours):
        policy = case.policy(case.num_envs, case.noise, case.seed)
        obs: Array = theirs.reset(seed=case.seed)[0]
        np.testing.assert_array_equal(ours.reset(seed=case.seed)[0], obs)
        for step in range(case.steps):
            action = policy.choose(obs)
            expected: Any = theirs.step(action)
            assert_same(ours.step(action), expected, f"step {step}")
            obs, _, terminated, truncated, _ = expected
            ended = terminated | truncated
            ends += int(ended.sum())
            policy.restart(ended)
            if mode is AutoresetMode.DISABLED and ended.any():
                again: Any = theirs.reset(options={"reset_mask": ended.copy()})
                assert_same(ours.reset(options={"reset_mask": ended.copy()}), again, "reset")
                obs = again[0]
    return ends


@pytest.mark.slow
@pytest.mark.parametrize("policy", [Walking, Flailing])
@pytest.mark.parametrize("id", IDS)
def test_long_runs_are_the_same(id: str, policy: type[Walking | Flailing]) -> None:
    """Many episodes in each of the worlds; steps are beyond the time limits of 1600 and 2000."""
    case = Case(id, policy, steps=3000, num_envs=4, noise=0.05, seed=1)
    assert check(case, AutoresetMode.NEXT_STEP) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("id", sampled(IDS, {IDS[1]}))
def test_forced_resets_in_the_middle_of_episodes_are_the_same(id: str) -> None:
    rng = np.random.default_rng(3)
    with pair(id, 2) as (theirs, ours):
        obs: Array = theirs.reset(seed=5)[0]
        ours.reset(seed=5)
        policy = Walking(2, 0.1, 4)
        for step in range(240):
            if rng.random() < 0.06:
                seed = None if rng.random() < 0.5 else int(rng.integers(99))
                again: Any = theirs.reset(seed=seed)
                assert_same(ours.reset(seed=seed), again, f"reset before step {step}")
                obs = again[0]
                policy.restart(np.ones(2, bool))
            action = policy.choose(obs)
            expected: Any = theirs.step(action)
            assert_same(ours.step(action), expected, f"step {step}")
            obs = expected[0]


@pytest.mark.slow
@pytest.mark.parametrize("mode", thinned(MODES, 2), ids=lambda mode: mode.name)
def test_partial_resets_are_the_same(mode: AutoresetMode) -> None:
    vector_kwargs = {"autoreset_mode": mode}
    with pair(IDS[1], 3, vector_kwargs=vector_kwargs, max_episode_steps=9) as (theirs, ours):
        check_partial_resets(theirs, ours, 60, lambda step: ({}, {}), shape=(4,))


@pytest.mark.parametrize("id", IDS)
def test_surface_is_the_same(id: str) -> None:
    with pair(id, 2) as (theirs, ours):
        for name in (
            *("num_envs", "single_observation_space", "observation_space"),
            *("single_action_space", "action_space", "metadata", "render_mode"),
        ):
            assert getattr(ours, name) == getattr(theirs, name), name
        low = ours.single_observation_space.low
        assert np.signbit(low).tolist() == np.signbit(theirs.single_observation_space.low).tolist()


# ----------------------------------------------------------------------------------- actions --

HALF = np.array([[0.1, -0.7, 1e-7, -2], [0.3, 0.01, -0.9, 0]])
# actions as programs give them; the reward is computed in their dtype
ACTIONS: list[Any] = [
    HALF.astype(np.float16),
    HALF.astype(np.float32),
    HALF,
    *(np.array([[1, -1, 0, 1], [0, 5, 1, 1]]).astype(dtype) for dtype in (np.int8, np.int64)),
    np.array([[1, 2, 0, 255], [0, 5, 1, 1]], np.uint8),
    *(np.array([[np.iinfo(t).min] * 4, [0, 1, 2, -3]], t) for t in (np.int8, np.int16, np.int32)),
    np.array([[math.inf, -math.inf, 0, -0.0], [5e-324, -5e-324, 1e300, -1e300]]),
    np.array([[math.inf, -math.inf, 0, -0.0], [1e-45, -1e-45, 3e38, -3e38]], np.float32),
    np.array([[math.inf, -math.inf, 0, -0.0], [6e-8, -6e-8, 65504, 1]], np.float16),
    [[0.2, -0.9, 1, 0], [0.1, 0.3, -1, -5]],
]


@pytest.mark.quick(3, sanitizers=8)
@pytest.mark.parametrize("case", range(len(ACTIONS)))
def test_actions_of_any_dtype_are_the_same(case: int) -> None:
    with pair(IDS[0], 2) as (theirs, ours):
        theirs.reset(seed=3), ours.reset(seed=3)
        for step in range(12):
            # a list is an array of float64 in each environment
            expected = theirs.step(np.asarray(ACTIONS[case]))
            assert_same(ours.step(ACTIONS[case]), expected, f"step {step}")


@pytest.mark.quick(0, sanitizers=1)
@pytest.mark.parametrize("num_threads", [1, 4])
def test_worlds_in_several_threads_are_independent(num_threads: int) -> None:
    steps, count = 90, 12
    actions = np.random.default_rng(5).uniform(-1, 1, (steps, count, 4)).astype(np.float32)

    def play(threads: int, results: list[bytes]) -> None:
        with Pool(IDS[1], count, num_threads=threads, seed=9) as pool:
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


# --------------------------------------------------------------------------------- snapshots --


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_a_snapshot_holds_what_earlier_episodes_left_in_the_world(id: str) -> None:
    """Another pool, whose worlds had other episodes, goes on alike through further resets."""
    rng = np.random.default_rng(8)
    with Pool(id, 2, seed=2) as first, Pool(id, 2, seed=77) as other:
        for pool, steps in ((first, 130), (other, 60)):
            pool.reset()
            for _ in range(steps):
                pool.step(rng.uniform(-1, 1, (2, 4)).astype(np.float32))
        for _ in range(2):
            other.set_state(first.get_state())
            np.testing.assert_array_equal(other.observe().obs, first.observe().obs)
            walking = Walking(2, 0.1, 1)
            for _ in range(220):
                actions = walking.choose(first.observe().obs)
                rows = [pool.step(actions) for pool in (first, other)]
                for name in ("obs", "reward", "terminated", "elapsed_step"):
                    np.testing.assert_array_equal(getattr(rows[0], name), getattr(rows[1], name))
                walking.restart(rows[0].terminated)


def test_worlds_with_other_pasts_differ() -> None:
    """Otherwise the test above would show nothing."""
    obs = []
    for past in (0, 1):
        with Pool(IDS[0], 1, seed=1) as pool:
            pool.reset()
            for _ in range(150 * past):
                pool.step(np.ones((1, 4), np.float32))
            walking = Walking(1, 0, 1)
            row = pool.reset(seed=1).obs
            for _ in range(170):
                row = pool.step(walking.choose(row)).obs
            obs.append(row)
    assert (obs[0] != obs[1]).any()


# ---------------------------------------------------------------------------------- pictures --


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_pictures_are_the_same(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rays, of which each picture shows another one."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    kinds = set()
    policy = Walking(2, 0.2, 2)
    with pair(id, 2, render_mode="rgb_array") as (theirs, ours):
        obs: Array = theirs.reset(seed=4)[0]
        ours.reset(seed=4)
        assert ours.metadata == theirs.metadata
        for step in range(150):
            if step % 10 in (0, 1, 5):
                expected, pictures = theirs.render(), ours.render()
                assert isinstance(pictures, tuple) and isinstance(expected, tuple)
                for ours_of, theirs_of in zip(pictures, expected, strict=True):
                    np.testing.assert_array_equal(ours_of, theirs_of, f"step {step}")
                    assert (ours_of.shape, ours_of.dtype) == ((400, 600, 3), np.uint8)
                    kinds.add(ours_of.tobytes())
            action = policy.choose(obs)
            result: Any = theirs.step(action)
            assert_same(ours.step(action), result, f"step {step}")
            obs = result[0]
            policy.restart(result[2] | result[3])
    assert len(kinds) > 50


def test_a_restored_snapshot_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with Pool(IDS[0], 1, seed=8) as pool:
        pool.reset()
        start, first = pool.get_state(), pool.render([0])[0]
        for _ in range(20):
            pool.step(np.ones((1, 4), np.float32))
        assert (pool.render([0])[0] != first).any()
        pool.set_state(start)
        np.testing.assert_array_equal(pool.render([0])[0], first)


def test_it_runs_in_envpools_api() -> None:
    env = parallel_pool.make(IDS[0], env_type="gymnasium", num_envs=2, seed=5)
    theirs = [gymnasium.make(IDS[0]) for _ in range(2)]
    obs, _ = env.reset()
    for i, each in enumerate(theirs):
        np.testing.assert_array_equal(obs[i], each.reset(seed=5 + i)[0])
    action = np.full((2, 4), 0.5, np.float32)
    obs, *_ = env.step(action)
    for i, each in enumerate(theirs):
        np.testing.assert_array_equal(obs[i], each.step(action[i])[0])
    env.close()
