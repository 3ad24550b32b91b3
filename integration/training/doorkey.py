"""Trains one agent on MiniGrid-DoorKey-8x8 from the agent's view, on each vectoriser.

    python -m integration.training.doorkey [--seeds N] [--minutes M]

The agent finds a key, opens the door with it, and goes to the goal, which gives 1 less what the
steps cost: a mean return of 0.95 is some 35 steps of 640. It sees the 7 x 7 cells in front of it,
each as three one-hot vectors: kind, color and state. The same function encodes them for all
vectorisers.

This writes doorkey.json and doorkey.png; comparison.py says how. Gymnasium's vector environments
and ours give the same bits, so their agents are equal after each rollout. EnvPool has levels of its
own.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import minigrid  # noqa: F401   registers its ids
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers.vector import TransformObservation
from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX, STATE_TO_IDX
from minigrid.wrappers import ImgObsWrapper

from integration.training import ppo
from integration.training.comparison import ASYNC, OURS, SYNC, Comparison, Env, Player, Task
from integration.training.vectorisers import envpools, mode

SIZES = (len(OBJECT_TO_IDX), len(COLOR_TO_IDX), len(STATE_TO_IDX))
VIEW = 7 * 7


def one_hot(env: Env) -> Env:
    """Shows each cell as a kind, a color and a state: float32 (7 * 7 * 20,) in all."""
    one_hots = [np.eye(size, dtype=np.float32) for size in SIZES]
    vectors = np.array([np.concatenate(each) for each in product(*one_hots)])
    places = np.array([SIZES[1] * SIZES[2], SIZES[2], 1])

    def encode(observations: Any) -> Any:
        # EnvPool's are not wrapped
        images = observations["image"] if isinstance(observations, dict) else observations
        cells = images.reshape(len(images), VIEW, len(SIZES)) @ places
        return vectors[cells].reshape(len(images), -1)

    space = Box(0.0, 1.0, (VIEW * sum(SIZES),), np.float32)
    return TransformObservation(env, encode, single_observation_space=space)


TASKS = (
    Task(
        task_id="MiniGrid-DoorKey-8x8-v0",
        num_envs=64,
        target=0.95,
        window=128,
        settings=ppo.Settings(
            total_steps=2_500_000,
            rollout_steps=128,
            epochs=4,
            minibatches=8,
            learning_rate=5e-4,
            gamma=0.99,
            gae_lambda=0.95,
            entropy_weight=0.01,
        ),
        wrap=one_hot,
        options={"wrappers": (ImgObsWrapper,)},
        envpool_id="MiniGrid-DoorKey-8x8-v0",
    ),
)


def players(task: Task) -> Mapping[str, Player]:
    return {
        OURS: mode("parallel_pool"),
        **envpools("minigrid:MiniGridEnvSpec"),
        SYNC: mode("sync"),
        ASYNC: mode("async"),
    }


COMPARISON = Comparison("doorkey", __doc__, "doorkey", TASKS, players)

if __name__ == "__main__":
    COMPARISON.main()
