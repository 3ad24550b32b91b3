"""PoolVectorEnv equals Gymnasium's SyncVectorEnv: arrays, dtypes and infos, through every reset."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from parallel_pool._apis.common.renderer import ReferenceRenderer
from parallel_pool._engine import registry
from parallel_pool.compat.gymnasium import PoolVectorEnv
from tests.support.pairs import pair
from tests.support.partial_resets import check_partial_resets
from tests.support.same import assert_same
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc/envs")

IDS = [id for id, found in registry.builtin().items() if found.family == "classic_control"]
MODES = list(AutoresetMode)


@dataclass(frozen=True)
class Case:
    """What to make and how to run it; `reset` are reset options."""

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    reset: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 210
    num_envs: int = 4

    def __str__(self) -> str:
        parts = {**self.kwargs, **self.reset}
        return "-".join([self.id, *(f"{name}={value}" for name, value in parts.items())])


CASES = [
    *(Case(id) for id in IDS),
    # with a short time limit episodes end in all environments at once
    *(Case(id, {"max_episode_steps": 7}, steps=60) for id in IDS),
    *(Case(id, {"max_episode_steps": 1}, steps=20) for id in IDS),
    Case("CartPole-v1", {"sutton_barto_reward": True}),
    Case("CartPole-v1", {"max_episode_steps": -1}, steps=60),
    Case("CartPole-v1", {"disable_env_checker": True}),
    Case("CartPole-v1", reset={"low": -0.2, "high": 0.1}),
    Case("CartPole-v1", num_envs=1),
    Case("MountainCar-v0", {"goal_velocity": 0.01}, {"low": 0.3, "high": 0.5}),
    Case("MountainCar-v0", {"goal_velocity": math.inf}, {"high": 0.5}),
    Case("MountainCarContinuous-v0", {"goal_velocity": 0.02}, {"low": 0.2, "high": 0.44}),
    Case("Pendulum-v1", {"g": 9.81}, {"x_init": 1.0, "y_init": 0.5}),
    Case("Acrobot-v1", reset={"low": -1.0, "high": 2.0}),
]


def make_actions(space: gymnasium.Space[Any], steps: int) -> list[Any]:
    """Returns actions drawn from the space; those of a Box may be beyond its bounds."""
    space.seed(7)
    drawn = [space.sample() for _ in range(steps)]
    if isinstance(space, gymnasium.spaces.Box):
        return [np.float32(1.5) * each for each in drawn]
    return drawn


@pytest.mark.quick(4)
@pytest.mark.parametrize("mode", thinned(MODES, 2), ids=lambda mode: mode.name)
@pytest.mark.parametrize("case", thinned(CASES, 2), ids=str)
def test_run_is_the_same(case: Case, mode: AutoresetMode) -> None:
    ends = 0
    with pair(case.id, case.num_envs, vector_kwargs={"autoreset_mode": mode}, **case.kwargs) as (
        theirs,
        ours,
    ):
        first = theirs.reset(seed=11, options={**case.reset})
        assert_same(ours.reset(seed=11, options={**case.reset}), first, "reset")
        for step, action in enumerate(make_actions(theirs.action_space, case.steps)):
            expected = theirs.step(action)
            assert_same(ours.step(action), expected, f"step {step}")
            ended = expected[2] | expected[3]
            ends += int(ended.sum())
            if mode is AutoresetMode.DISABLED and ended.any():
                options = [{**case.reset, "reset_mask": ended.copy()} for _ in range(2)]
                again = theirs.reset(options=options[0])
                assert_same(ours.reset(options=options[1]), again, f"reset at {step}")
                assert options[1].keys() == options[0].keys()
    if case.kwargs.get("max_episode_steps", 10**6) < case.steps or case.id.startswith("CartPole"):
        assert ends > case.num_envs


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_partial_resets_are_the_same(mode: AutoresetMode) -> None:
    bounds = {"low": -0.01, "high": 0.02}
    vector_kwargs = {"autoreset_mode": mode}
    with pair("CartPole-v1", 6, vector_kwargs=vector_kwargs, max_episode_steps=9) as (theirs, ours):
        check_partial_resets(theirs, ours, 300, lambda step: ({}, bounds))


@pytest.mark.parametrize("seed", [0, 123, [5, 3, 9], [None, 2, None], (1, 2, 3), 2**31, 2**40])
def test_seeds_are_the_same(seed: Any) -> None:
    with pair("CartPole-v1", 3) as (theirs, ours):
        theirs.reset(seed=8)
        ours.reset(seed=8)
        assert_same(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
        assert ours.np_random_seed == theirs.np_random_seed
        assert_same(ours.reset(), theirs.reset(), "second reset")
        assert ours.np_random_seed == theirs.np_random_seed


def test_numpy_seeds_are_accepted() -> None:
    with pair("Acrobot-v1", 3) as (theirs, ours):
        expected = theirs.reset(seed=41)
        for seed in (np.int64(41), np.uint8(41), np.array(41), np.arange(41, 44), range(41, 44)):
            assert_same(ours.reset(seed=seed), expected, repr(seed))
        huge = 2**100 + 17
        assert_same(ours.reset(seed=huge), theirs.reset(seed=huge), "huge")


@pytest.mark.parametrize("id", IDS)
def test_surface_is_the_same(id: str) -> None:
    """Spaces, metadata, render mode, and the spec except for the vectorization mode."""
    kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP}
    with pair(id, 4, vector_kwargs=kwargs, max_episode_steps=77) as (theirs, ours):
        for name in (
            "num_envs",
            "single_observation_space",
            "observation_space",
            "single_action_space",
            "action_space",
            "metadata",
            "render_mode",
            "closed",
        ):
            assert getattr(ours, name) == getattr(theirs, name), name
        for name in ("observation_space", "action_space"):
            assert getattr(ours, name).dtype == getattr(theirs, name).dtype
        assert ours.spec is not None and theirs.spec is not None
        assert ours.spec.kwargs.pop("vectorization_mode") == "parallel_pool"
        assert theirs.spec.kwargs.pop("vectorization_mode") == "sync"
        assert ours.spec == theirs.spec
        assert repr(ours) == repr(theirs).replace("Sync", "Native")


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("id", "mode"),
    [
        *((id, "rgb_array") for id in IDS if id != "CartPole-v0"),
        ("CartPole-v0", "rgb_array_list"),
        ("Pendulum-v1", "rgb_array_list"),
    ],
)
@pytest.mark.parametrize("autoreset", thinned(MODES, 3), ids=lambda mode: mode.name)
def test_pictures_are_the_same(id: str, autoreset: AutoresetMode, mode: str) -> None:
    vector_kwargs = {"autoreset_mode": autoreset}
    with pair(id, 2, vector_kwargs=vector_kwargs, render_mode=mode, max_episode_steps=2) as (
        theirs,
        ours,
    ):
        assert ours.render_mode == theirs.render_mode
        assert ours.metadata == theirs.metadata
        theirs.reset(seed=1)
        ours.reset(seed=1)
        assert_same(ours.render(), theirs.render(), "after reset")
        for step, action in enumerate(make_actions(theirs.action_space, 6)):
            ended = np.logical_or(*theirs.step(action)[2:4])
            ours.step(action)
            if autoreset is AutoresetMode.DISABLED and ended.any():
                theirs.reset(options={"reset_mask": ended})
                ours.reset(options={"reset_mask": ended})
            if mode == "rgb_array" or step % 3 == 2:
                assert_same(ours.render(), theirs.render(), f"step {step}")


@pytest.mark.parametrize("id", IDS)
def test_states_that_are_drawn_are_the_same(id: str) -> None:
    """Including their dtype: one picture in some hundreds depends on it."""
    with pair(id, 2, render_mode="rgb_array") as (theirs, ours):
        env_renderer = ReferenceRenderer(ours.pool, gymnasium.spec(id), "rgb_array")
        theirs.reset(seed=1)
        ours.reset(seed=1)
        for step, action in enumerate([None, *make_actions(theirs.action_space, 3)]):
            if action is not None:
                theirs.step(action)
                ours.step(action)
            for i, state in enumerate(theirs.get_attr("state")):
                assert_same(env_renderer.state(i), np.asarray(state), f"step {step}")


@pytest.mark.quick(4)
@pytest.mark.parametrize("id", IDS)
def test_registered_id_is_the_same(id: str) -> None:
    """The id parallel_pool/<id> in Gymnasium's own make_vec, through vector_entry_point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = gymnasium.make_vec(id, 3, vectorization_mode="sync")
        ours = gymnasium.make_vec(f"parallel_pool:parallel_pool/{id}", num_envs=3)
        assert isinstance(ours, PoolVectorEnv)
        assert_same(ours.reset(seed=2), theirs.reset(seed=2), "reset")
        for step, action in enumerate(make_actions(theirs.action_space, 250)):
            assert_same(ours.step(action), theirs.step(action), f"step {step}")
        ours.close()
        theirs.close()


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("wraps", [False, True], ids=["plain", "with statistics"])
@pytest.mark.parametrize("id", ["FrozenLake-v1", "Reacher-v5"])
def test_infos_come_in_gymnasiums_order(id: str, wraps: bool, mode: AutoresetMode) -> None:
    """Row by row: "final_obs" only comes first if the first row has it, for example."""
    wrappers = [gymnasium.wrappers.RecordEpisodeStatistics] if wraps else []
    kwargs = {"vector_kwargs": {"autoreset_mode": mode}, "wrappers": wrappers}
    orders = set()
    with pair(id, 5, max_episode_steps=9, **kwargs) as (theirs, ours):
        for actual, expected in zip(*(envs.reset(seed=3) for envs in (ours, theirs)), strict=True):
            assert_same(actual, expected, "reset")
        for step, actions in enumerate(make_actions(theirs.action_space, 60)):
            actual, expected = (envs.step(actions)[4] for envs in (ours, theirs))
            for infos in (actual, expected, *(i.get("final_info", {}) for i in (actual, expected))):
                # the time that an episode took
                infos.get("episode", {}).pop("t", None)
            assert_same(actual, expected, f"infos of step {step}")
            orders.add(tuple(expected))
    assert len(orders) > 1 or not (wraps or mode is AutoresetMode.SAME_STEP)
