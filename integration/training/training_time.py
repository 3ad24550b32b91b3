"""Trains one agent on each vectoriser, and draws how long each takes to reach a given return.

    python -m integration.training.training_time [ID ...] [--seeds N] [--minutes M]

This writes training.json and training.png; comparison.py says how. All trainings take hours, so
`--minutes` says when the last one may begin.

Gymnasium's vector environments and ours give the same bits, so their agents are equal after each
rollout and only the time differs. For the same seed, episodes of EnvPool and of ale-py's
AtariVectorEnv differ, so the agents differ too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import ale_py  # noqa: F401   registers its games
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation
from gymnasium.wrappers.vector import NormalizeObservation, TransformObservation

from integration.training import ppo
from integration.training.comparison import (
    ASYNC,
    ENVPOOL,
    OURS,
    SYNC,
    Comparison,
    Env,
    Player,
    Task,
)
from integration.training.vectorisers import ale, envpool, mode

ALE = "ale-py AtariVectorEnv"


def normalized(env: Env) -> Env:
    """Normalises observations to mean 0 and variance 1, as is usual for MuJoCo."""
    return NormalizeObservation(env)


def moving(env: Env) -> Env:
    """Shows what moved on Pong's field between the last two frames, at half the resolution."""

    def movement(frames: Any) -> Any:
        field = frames[:, 2:, 14:78:2, ::2].astype(np.float32)
        return ((field[:, 1] - field[:, 0]) / 128).reshape(len(frames), -1)

    space = Box(-2.0, 2.0, (32 * 42,), np.float32)
    return TransformObservation(env, movement, single_observation_space=space)


TASKS = (
    Task(
        task_id="CartPole-v1",
        num_envs=64,
        target=400,
        window=64,
        settings=ppo.Settings(total_steps=1_000_000, rollout_steps=32),
        envpool_id="CartPole-v1",
    ),
    Task(
        task_id="HalfCheetah-v5",
        num_envs=64,
        target=1000,
        window=64,
        settings=ppo.Settings(
            total_steps=2_000_000,
            rollout_steps=64,
            epochs=5,
            minibatches=8,
            learning_rate=5e-4,
            gamma=0.98,
            gae_lambda=0.92,
            entropy_weight=0.0,
        ),
        wrap=normalized,
        envpool_id="HalfCheetah-v5",
    ),
    Task(
        task_id="ALE/Pong-v5",
        num_envs=32,
        target=18,
        window=64,
        settings=ppo.Settings(
            total_steps=2_457_600,
            rollout_steps=128,
            epochs=3,
            gamma=0.99,
            gae_lambda=0.95,
            entropy_weight=0.01,
        ),
        wrap=moving,
        options={
            "frameskip": 1,
            "repeat_action_probability": 0.0,
            "wrappers": (AtariPreprocessing, partial(FrameStackObservation, stack_size=4)),
        },
        envpool_id="Pong-v5",
        ale_game="pong",
    ),
)


def players(task: Task) -> Mapping[str, Player]:
    """Returns those that have the task's environments."""
    has_envpool = task.envpool_id and find_spec("envpool")
    return {
        OURS: mode("parallel_pool"),
        **({ENVPOOL: envpool} if has_envpool else {}),
        **({ALE: ale} if task.ale_game else {}),
        SYNC: mode("sync"),
        ASYNC: mode("async"),
    }


COMPARISON = Comparison("training_time", __doc__, "training", TASKS, players)

if __name__ == "__main__":
    COMPARISON.main()
