"""Stable-Baselines3's PPO, A2C and DQN learn CartPole on PoolVecEnv as they do on DummyVecEnv.

On every processor, an agent must be the same, bit by bit, on both. How good it becomes is compared
with a threshold that is far from the result of every seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor, VecNormalize

from integration.training.agents import (
    ALGORITHMS,
    LEARNED_RETURN,
    NUM_ENVS,
    WINDOW,
    Returns,
    best,
    train_cartpole,
)
from parallel_pool.compat.sb3 import PoolVecEnv


@pytest.mark.parametrize(("seed", "threads"), [(1, 1), (2, 2)])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_cartpole_is_learned(
    name: str, seed: int, threads: int, torch_threads: Callable[[int], None]
) -> None:
    """The threshold was measured: see test_learning.py."""
    torch_threads(threads)
    returns = train_cartpole(name, seed)
    assert np.mean(returns[:WINDOW]) < LEARNED_RETURN <= best(returns)


FUNCTIONS: list[Callable[[], Any]] = [lambda: gymnasium.make("CartPole-v1")] * NUM_ENVS

# Native environments, and Python environments in worker processes.
POOLS: dict[str, Callable[[], VecEnv]] = {
    "id": lambda: PoolVecEnv("CartPole-v1", NUM_ENVS),
    "functions": lambda: PoolVecEnv(FUNCTIONS, num_workers=2),
}


@pytest.mark.parametrize(("seed", "threads"), [(5, 1), (6, 2)])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_agents_equal_those_trained_on_dummy_vec_env(
    name: str, seed: int, threads: int, torch_threads: Callable[[int], None]
) -> None:
    """With the same seed, no weight differs after some hundred steps."""
    torch_threads(threads)

    def train(env: VecEnv) -> tuple[dict[str, Any], list[float]]:
        env = VecNormalize(VecMonitor(env), norm_reward=False)
        returns = Returns()
        model = ALGORITHMS[name](env, seed).learn(1600, callback=returns)
        env.close()
        return model.policy.state_dict(), returns.all

    expected, wanted = train(DummyVecEnv(FUNCTIONS))
    assert len(wanted) > NUM_ENVS
    for pool, make in POOLS.items():
        found, returns = train(make())
        assert returns == wanted, pool
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[key], expected[key]) for key in expected), pool
