"""Tests of gymnasium.make with the ids of native environments, "parallel_pool/CartPole-v1"."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool._apis.common.gymnasium_ids import registered_id
from parallel_pool._engine import registry
from tests.support.same import assert_same
from tests.support.sampling import sampled

pytestmark = pytest.mark.filterwarnings("ignore")

# families of Gymnasium's own environments
FAMILIES = ("classic_control", "toy_text", "box2d", "mujoco")
QUICK = {"Pendulum-v1", "Blackjack-v1", "Taxi-v4", "LunarLander-v3", "HalfCheetah-v5", "Ant-v4"}
IDS = sorted(
    task_id
    for task_id, definition in registry.builtin().items()
    if definition.family in FAMILIES and not task_id.startswith("_")
)


def compare(native_id: str, steps: int, **options: Any) -> None:
    """Compares an environment with the one of the original id, beyond the ends of episodes."""
    ours = gymnasium.make(registered_id(native_id), **options)
    theirs = gymnasium.make(native_id, **options)
    try:
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
        assert ours.metadata == theirs.metadata
        assert ours.spec.max_episode_steps == theirs.spec.max_episode_steps
        assert ours.render_mode == theirs.render_mode
        ours.action_space.seed(1)
        assert_same(ours.reset(seed=3), theirs.reset(seed=3), "reset")
        for step in range(steps):
            action = ours.action_space.sample()
            actual, expected = ours.step(action), theirs.step(action)
            assert actual[1] == expected[1], step
            assert_same(actual[0::2], expected[0::2], f"step {step}")
            assert actual[3] == expected[3], step
            if ours.render_mode is not None:
                assert_same(ours.render(), theirs.render(), f"picture {step}")
            if actual[2] or actual[3]:
                assert_same(ours.reset(), theirs.reset(), f"reset after step {step}")
    finally:
        ours.close()
        theirs.close()


@pytest.mark.sanitizers
@pytest.mark.parametrize("native_id", sampled(IDS, QUICK))
def test_an_environment_equals_that_of_the_original_id(native_id: str) -> None:
    try:
        gymnasium.spec(native_id)
    except gymnasium.error.Error:
        pytest.skip("this Gymnasium has no such environment")
    try:
        gymnasium.make(native_id).close()
    except (gymnasium.error.Error, ImportError) as error:
        pytest.skip(f"this Gymnasium can't make it: {error}")
    compare(native_id, 40)


@pytest.mark.sanitizers
def test_options_limits_and_pictures_are_those_of_the_original() -> None:
    compare("CartPole-v1", 30, render_mode="rgb_array", max_episode_steps=7)
    compare("CartPole-v1", 30, render_mode="rgb_array_list", sutton_barto_reward=True)


@pytest.mark.sanitizers
def test_an_atari_game_equals_ale() -> None:
    pytest.importorskip("ale_py")
    compare("ALE/Pong-v5", 20)


@pytest.mark.parametrize("native_id", ["mpe/simple_spread_v3", "classic/connect_four_v3"])
def test_several_players_are_refused_with_the_class_to_use(native_id: str) -> None:
    with pytest.raises(ValueError, match=r"players, and gymnasium.make is for one: use .*Parallel"):
        gymnasium.make(registered_id(native_id))


@pytest.mark.slow
def test_every_id_of_one_player_can_be_made() -> None:
    """One id of each family that no other test here makes."""
    first: dict[str, str] = {}
    for native_id, definition in registry.builtin().items():
        if not native_id.startswith("_"):
            first.setdefault(definition.family, native_id)
    made = []
    for native_id in first.values():
        try:
            env = gymnasium.make(registered_id(native_id))
        except ValueError as error:
            assert "players" in str(error)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            env.reset(seed=1)
            env.step(env.action_space.sample())
        env.close()
        made.append(native_id)
    assert len(made) >= len(FAMILIES)


def test_a_wrong_reset_does_not_reseed() -> None:
    env = gymnasium.make("parallel_pool/CartPole-v1").unwrapped
    env.reset(seed=1)
    state, generator = env.pool.get_state(), env.np_random
    with pytest.raises(TypeError):
        env.reset(seed=2, options={"no_such_option": 3})
    assert env.np_random is generator and env.pool.get_state() == state
    assert np.array_equal(env.pool.observe()[0][0], env.pool.observe().obs[0])
    env.close()
