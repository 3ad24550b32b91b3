"""PoolRolloutBuffer: PPO trains to the same weights as with Stable-Baselines3's own buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import Wrapper
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.vec_env import VecNormalize

from parallel_pool.compat.sb3 import PoolRolloutBuffer, PoolVecEnv

STEPS, NUM_ENVS = 16, 4


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


def weights(kind: Any, task_id: str, is_ours: bool, wrap: Any, **options: Any) -> dict[str, Any]:
    """Returns the weights after some rollouts."""
    envs = wrap(PoolVecEnv(task_id, NUM_ENVS, seed=1, **options))
    if is_ours:
        chosen = {
            "rollout_buffer_class": PoolRolloutBuffer,
            "rollout_buffer_kwargs": {"env": envs},
        }
    else:
        chosen = {}
    if kind is PPO:
        chosen |= {"batch_size": 16, "n_epochs": 3}
    model = kind("MlpPolicy", envs, n_steps=STEPS, seed=3, device="cpu", **chosen)
    model.learn(STEPS * NUM_ENVS * 4)
    # a second time: from another state of the buffer
    model.learn(STEPS * NUM_ENVS * 2, reset_num_timesteps=False)
    envs.close()
    return {name: each.numpy() for name, each in model.policy.state_dict().items()}


def same(envs: Any) -> Any:
    return envs


# what trains first in a process loads parts of torch for three seconds
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "task_id", "wrap", "options"),
    [
        (PPO, "CartPole-v1", same, {"max_episode_steps": 9}),
        (A2C, "CartPole-v1", same, {}),
        (PPO, "Pendulum-v1", same, {"max_episode_steps": 9}),
        # other observations and rewards than those that the pool writes
        (PPO, "Pendulum-v1", VecNormalize, {}),
        (PPO, "CartPole-v1", same, {"backend": "process", "num_workers": 1}),
    ],
    ids=["array", "a2c", "box", "normalized", "process"],
)
def test_same_weights(kind: Any, task_id: str, wrap: Any, options: dict[str, Any]) -> None:
    ours = weights(kind, task_id, True, wrap, **options)
    theirs = weights(kind, task_id, False, wrap, **options)
    for name, each in theirs.items():
        np.testing.assert_array_equal(ours[name], each, name)


def test_steps_lie_in_the_buffer() -> None:
    envs = PoolVecEnv("CartPole-v1", NUM_ENVS, seed=1)
    spaces = envs.observation_space, envs.action_space
    buffer = PoolRolloutBuffer(3, *spaces, "cpu", n_envs=NUM_ENVS, env=envs)
    last = envs.reset()
    one = torch.zeros(NUM_ENVS)
    kept = []
    for _ in range(4):
        buffer.reset()
        for at in range(3):
            following, rewards, dones, _ = envs.step(np.zeros(NUM_ENVS, np.int64))
            buffer.add(last, np.zeros(NUM_ENVS), rewards, dones, one, one)
            np.testing.assert_array_equal(buffer.observations[at], last)
            assert np.shares_memory(buffer.rewards[at], rewards)
            assert at == 2 or np.shares_memory(buffer.observations[at + 1], following)
            kept.append((last, last.copy()))
            last = following
    for one_kept, copy in kept:
        np.testing.assert_array_equal(one_kept, copy)
    # and steps that nobody adds do no harm
    buffer.reset()
    for _ in range(7):
        last = envs.step(np.zeros(NUM_ENVS, np.int64))[0]
    with pytest.raises(ValueError, match="0 of 3"):
        next(buffer.get())
    envs.close()


def test_refusals() -> None:
    envs = PoolVecEnv("CartPole-v1", NUM_ENVS)
    spaces = envs.observation_space, envs.action_space
    with pytest.raises(TypeError, match="give a PoolVecEnv"):
        PoolRolloutBuffer(3, *spaces, env=Wrapper)
    envs.close()
    # closed environments
    PoolRolloutBuffer(3, *spaces, n_envs=NUM_ENVS, env=envs).reset()
