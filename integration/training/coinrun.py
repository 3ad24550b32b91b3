"""Trains one agent on 200 levels of Procgen's CoinRun, and tests it on all levels.

    python -m integration.training.coinrun [--seeds N] [--minutes M]

Levels are easy ones, and an episode's return is 1 if the agent reaches the coin. After each rollout
the agent also plays levels that it never trains on; the difference of both returns is what it has
learned by heart. Settings are those that are usual for Procgen, but for the network: `ppo.py`'s
encoder, which two cores can train in half an hour. Coins are rare at first, so rewards are scaled.

This writes coinrun.json and coinrun.png; comparison.py says how. Seconds are those of training
alone. ProcgenGym3Env, Procgen's own vectoriser, and ours give the same bits, so their agents are
equal after each rollout. EnvPool has the same levels, but other rows at the ends of episodes.
EnvPool 1.2.5 draws with the system's Qt 5, and is left out where that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.vector import TransformReward

import parallel_pool
from integration.training import ppo
from integration.training.comparison import OURS, Comparison, Env, Player, Task
from integration.training.vectorisers import envpools

OWN = "ProcgenGym3Env"
NUM_ENVS, ROLLOUT = 64, 256
# of the test: all environments together play a quarter of what a rollout has
TEST_STEPS = ROLLOUT // 4
WINDOW = 256
TRAINED = {"num_levels": 200, "start_level": 0}
ALL = {"num_levels": 0, "start_level": 0}


def coins(env: Env) -> Env:
    """Counts a coin as 1, where Procgen gives 10."""
    return TransformReward(env, lambda rewards: rewards / 10)


def pool(levels: Mapping[str, int]) -> Env:
    """Returns our environments, which equal those of one ProcgenGym3Env."""
    return parallel_pool.make_vec(
        "procgen-coinrun-v0",
        NUM_ENVS,
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        distribution_mode="easy",
        channel_first=True,
        vector_seeds=True,
        **levels,
    )


def ours(task: Task, seed: int) -> Env:
    return pool(TRAINED)


class Gym3Env(VectorEnv[Any, Any, Any]):
    """ProcgenGym3Env as a `VectorEnv`, with the first axis for colors."""

    def __init__(self, num_envs: int, seed: int) -> None:
        # it imports gym and gym3, which only the process that trains on it has
        import procgen

        self._env = procgen.ProcgenGym3Env(
            num=num_envs,
            env_name="coinrun",
            rand_seed=seed,
            distribution_mode="easy",
            **TRAINED,
        )
        self.num_envs = num_envs
        self.single_observation_space = Box(0, 255, (3, 64, 64), np.uint8)
        self.single_action_space = Discrete(15)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self._observe()[1], {}

    def step(self, actions: Any) -> Any:
        self._env.act(actions)
        rewards, observations, ended = self._observe()
        return observations, rewards, ended, np.zeros_like(ended), {}

    def _observe(self) -> tuple[Any, Any, Any]:
        rewards, observations, first = self._env.observe()
        return rewards, observations["rgb"].transpose(0, 3, 1, 2), first

    def close_extras(self, **kwargs: Any) -> None:
        self._env.close()


def own(task: Task, seed: int) -> Env:
    return Gym3Env(task.num_envs, seed)


class AllLevels:
    """Plays an agent on all levels, a part of a rollout at a time.

    Attributes:
        actions: the space of one environment's actions.
    """

    def __init__(self, seed: int) -> None:
        self._player = ppo.VectorPlayer(coins(pool(ALL)), seed)
        self.actions = self._player.actions
        self._rollout = ppo.Rollout(TEST_STEPS, self._player.observations, self.actions)
        self._returns: list[float] = []

    def play(self, agent: ppo.Agent) -> float | None:
        """Returns the mean return of the last WINDOW episodes; None before one has ended."""
        played = ppo.Training(agent)
        # training goes on as if there were no test
        with torch.random.fork_rng():
            self._player.fill(self._rollout, played)
        self._returns = [*self._returns, *played.returns][-WINDOW:]
        return float(np.mean(self._returns)) if self._returns else None

    def close(self) -> None:
        self._player.envs.close()


TASKS = (
    Task(
        task_id="procgen-coinrun-v0",
        num_envs=NUM_ENVS,
        target=None,
        window=WINDOW,
        settings=ppo.Settings(
            total_steps=1_000_000,
            rollout_steps=ROLLOUT,
            epochs=3,
            minibatches=8,
            learning_rate=5e-4,
            gamma=0.999,
            gae_lambda=0.95,
            entropy_weight=0.01,
            scales_rewards=True,
        ),
        wrap=coins,
        envpool_id="CoinrunEasy-v0",
        envpool_options=TRAINED,
        evaluate=AllLevels,
        score="share of coins",
    ),
)


def players(task: Task) -> Mapping[str, Player]:
    return {OURS: ours, **envpools("procgen:ProcgenEnvSpec"), OWN: own}


COMPARISON = Comparison(
    *("coinrun", __doc__, "coinrun", TASKS, players),
    equal=(OURS, OWN),
    folders={OWN: "procgen-reference"},
    torch_threads=2,
)

if __name__ == "__main__":
    COMPARISON.main()
