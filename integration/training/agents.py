"""The Stable-Baselines3 agents of the training tests, and how to measure what they learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

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

# Training steps, of all environments together.
BUDGETS = {"PPO": 14_000, "A2C": 24_000, "DQN": 12_000}

# An agent is rated by the mean return of this many consecutive episodes.
WINDOW = 40

# An agent has learned CartPole if its best mean return reaches this. A new agent has about 20.
# `python -m integration.training.learning` measures the distance of 20 seeds from it, on either
# side.
LEARNED_RETURN = 60.0


class Returns(BaseCallback):
    """Records the returns of all episodes, in the order in which they end."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[float] = []

    def _on_step(self) -> bool:
        infos: list[dict[str, Any]] = self.locals["infos"]
        self.all += [float(info["episode"]["r"]) for info in infos if "episode" in info]
        return True


def train_cartpole(name: str, seed: int) -> list[float]:
    """Trains on a pool for the algorithm's budget; returns the returns of all episodes."""
    env = VecMonitor(PoolVecEnv("CartPole-v1", NUM_ENVS))
    returns = Returns()
    ALGORITHMS[name](env, seed).learn(BUDGETS[name], callback=returns)
    env.close()
    return returns.all


def best(returns: Sequence[float]) -> float:
    """Returns the highest mean of WINDOW consecutive episodes.

    An agent may forget what it learned (DQN does, with some seeds), so the last episodes don't show
    whether it ever learned.
    """
    sums = np.cumsum([0.0, *returns])
    return float((sums[WINDOW:] - sums[:-WINDOW]).max() / WINDOW)
