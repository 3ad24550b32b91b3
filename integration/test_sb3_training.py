"""Stable-Baselines3's PPO, A2C and DQN learn CartPole on PoolVecEnv, and learn the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor, VecNormalize

from parallel_pool.compat.sb3 import PoolVecEnv

NUM_ENVS = 8

ALGORITHMS: dict[str, Callable[[VecEnv, int], BaseAlgorithm]] = {
    "PPO": lambda env, seed: PPO(
        "MlpPolicy",
        env,
        n_steps=32,
        batch_size=256,
        n_epochs=20,
        gamma=0.98,
        gae_lambda=0.8,
        learning_rate=1e-3,
        seed=seed,
        device="cpu",
    ),
    "A2C": lambda env, seed: A2C("MlpPolicy", env, n_steps=8, seed=seed, device="cpu"),
    "DQN": lambda env, seed: DQN(
        "MlpPolicy",
        env,
        learning_rate=2.3e-3,
        batch_size=64,
        buffer_size=50_000,
        learning_starts=1000,
        target_update_interval=10,
        train_freq=32,
        gradient_steps=128,
        exploration_fraction=0.2,
        exploration_final_eps=0.04,
        policy_kwargs={"net_arch": [128, 128]},
        seed=seed,
        device="cpu",
    ),
}

# steps of all environments together
BUDGETS = {"PPO": 20_000, "A2C": 40_000, "DQN": 24_000}


class Returns(BaseCallback):
    """Notes the returns of all episodes in the order in which they end."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[float] = []

    def _on_step(self) -> bool:
        infos: list[dict[str, Any]] = self.locals["infos"]
        self.all += [float(info["episode"]["r"]) for info in infos if "episode" in info]
        return True


@pytest.fixture(autouse=True)
def one_torch_thread() -> Iterator[None]:
    """The networks are small, and sums in one order give one result."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_cartpole_is_learned(name: str) -> None:
    env = VecMonitor(PoolVecEnv("CartPole-v1", NUM_ENVS))
    returns = Returns()
    model = ALGORITHMS[name](env, 1).learn(BUDGETS[name], callback=returns)
    env.close()
    # a new agent balances the pole for about 20 steps
    assert np.mean(returns.all[:NUM_ENVS]) < 50
    trials = VecMonitor(PoolVecEnv("CartPole-v1", NUM_ENVS, seed=1000))
    mean, _ = evaluate_policy(model, trials, n_eval_episodes=20)
    trials.close()
    print(f"{name}: {np.mean(returns.all[-20:]):.0f} at the end of training, {mean:.0f} on trial")
    assert mean >= 80


FUNCTIONS: list[Callable[[], Any]] = [lambda: gymnasium.make("CartPole-v1")] * NUM_ENVS

# native environments, and Python environments in worker processes
POOLS: dict[str, Callable[[], VecEnv]] = {
    "id": lambda: PoolVecEnv("CartPole-v1", NUM_ENVS),
    "functions": lambda: PoolVecEnv(FUNCTIONS, num_workers=2),
}


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("pool", POOLS)
def test_agents_are_those_that_dummy_trains(pool: str, name: str) -> None:
    """Same seed, same bits: after some hundred steps of learning not one weight differs."""

    def train(env: VecEnv) -> tuple[dict[str, Any], list[float]]:
        env = VecNormalize(VecMonitor(env), norm_reward=False)
        returns = Returns()
        model = ALGORITHMS[name](env, 5).learn(1600, callback=returns)
        env.close()
        return model.policy.state_dict(), returns.all

    expected, wanted = train(DummyVecEnv(FUNCTIONS))
    found, returns = train(POOLS[pool]())
    assert returns == wanted and len(wanted) > NUM_ENVS
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[key], expected[key]) for key in expected)
