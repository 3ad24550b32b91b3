"""Gymnasium's vector wrappers work over both APIs; Stable-Baselines3 refuses both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import stable_baselines3
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import vector as wrappers

import parallel_pool

Envs = VectorEnv[Any, Any, Any]
NUM_ENVS = 3

APIS: dict[str, Callable[[str], Envs]] = {
    "make": lambda id: parallel_pool.make(id, env_type="gymnasium", num_envs=NUM_ENVS),
    "make_vec": lambda id: gymnasium.make_vec(
        id, num_envs=NUM_ENVS, vectorization_mode="parallel_pool"
    ),
}

WRAPPERS: dict[str, Callable[[Envs], Envs]] = {
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "NormalizeObservation": wrappers.NormalizeObservation,
    "NormalizeReward": wrappers.NormalizeReward,
    "ClipReward": lambda envs: wrappers.ClipReward(envs, -0.5, 0.5),
    "TransformReward": lambda envs: wrappers.TransformReward(envs, lambda reward: 3 * reward - 1),
    "DtypeObservation": lambda envs: wrappers.DtypeObservation(envs, np.float64),
    "DictInfoToList": lambda envs: wrappers.DictInfoToList(wrappers.RecordEpisodeStatistics(envs)),
    "all that PPO needs": lambda envs: wrappers.ClipReward(
        wrappers.NormalizeReward(
            wrappers.NormalizeObservation(wrappers.RecordEpisodeStatistics(envs))
        ),
        -10,
        10,
    ),
}


def episodes(info: Any) -> list[tuple[int, float, int]]:
    """Returns environment, return and length of the episodes that ended in this step."""
    if isinstance(info, list):
        found = [(i, each["episode"]) for i, each in enumerate(info) if "episode" in each]
        return [(i, float(episode["r"]), int(episode["l"])) for i, episode in found]
    if "episode" not in info:
        return []
    episode = info["episode"]
    return [
        (int(i), float(episode["r"][i]), int(episode["l"][i]))
        for i in np.flatnonzero(info["_episode"])
    ]


# both have whole numbers as rewards, which the EnvPool API's float32 holds exactly
@pytest.mark.parametrize("id", ["CartPole-v1", "Acrobot-v1"])
@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("api", APIS)
def test_wrapper_gives_what_it_gives_over_sync(api: str, name: str, id: str) -> None:
    wrap = WRAPPERS[name]
    ours = wrap(APIS[api](id))
    theirs = wrap(gymnasium.make_vec(id, num_envs=NUM_ENVS, vectorization_mode="sync"))
    actions = np.random.default_rng(7).integers(0, 2, (600, NUM_ENVS))
    assert_equal(ours.reset(seed=2)[0], theirs.reset(seed=2)[0], "reset")
    ended = 0
    for step, action in enumerate(actions):
        found, expected = ours.step(action), theirs.step(action)
        assert_equal(found[0], expected[0], f"observations of step {step}")
        # rewards are float32 in EnvPool's API
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, err_msg=f"step {step}")
        assert_equal(found[2], expected[2], f"terminated, step {step}")
        assert_equal(found[3], expected[3], f"truncated, step {step}")
        if "Dict" in name or "Record" in name or "PPO" in name:
            assert episodes(found[4]) == episodes(expected[4]), step
        ended += int((expected[2] | expected[3]).sum())
    assert ended >= NUM_ENVS
    ours.close()
    theirs.close()


def assert_equal(found: Any, expected: Any, where: str) -> None:
    assert type(found) is type(expected), where
    assert found.dtype == expected.dtype, where
    assert (found == expected).all(), where


@pytest.mark.parametrize("api", APIS)
def test_wrappers_over_atari(api: str) -> None:
    envs = wrappers.RecordEpisodeStatistics(APIS[api]("Pong-v5"))
    envs = wrappers.ClipReward(wrappers.NormalizeObservation(envs), -1, 1)
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (NUM_ENVS, 4, 84, 84)
    actions = np.random.default_rng(0).integers(0, 6, (400, NUM_ENVS))
    rewards = np.array([envs.step(each)[1] for each in actions])
    # random play loses nearly every ball
    assert rewards.min() == -1 and rewards.sum() < -NUM_ENVS
    assert observations.any()
    envs.close()


@pytest.mark.parametrize("api", APIS)
def test_stable_baselines_refuses_a_pool_at_construction(api: str) -> None:
    envs = APIS[api]("CartPole-v1")
    with pytest.raises((TypeError, ValueError, AssertionError), match="nvironment"):
        stable_baselines3.PPO("MlpPolicy", envs)
    # the pool still works
    assert len(envs.reset(seed=0)[0]) == NUM_ENVS
    envs.close()
