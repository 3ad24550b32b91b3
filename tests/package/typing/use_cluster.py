"""Environments on a Ray cluster, and workers that act by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_type

import numpy as np

from parallel_pool.cluster import (
    Adaptive,
    Batch,
    ClusterVectorEnv,
    Every,
    Policy,
    Rollouts,
    Stats,
)

Array = np.ndarray[Any, np.dtype[Any]]

envs = ClusterVectorEnv("CartPole-v1", 4, num_workers=2, batch_workers=1)
assert_type(envs, ClusterVectorEnv)
assert_type(envs.reset(seed=1), tuple[Array | Any, dict[str, Any]])
assert_type(envs.recv(), tuple[Array | Any, Array, Array, Array, dict[str, Any]])
assert_type(envs.workers, list[dict[str, Any]])
assert_type(envs.get_state(), list[bytes])


class Constant:
    """A policy may say that it takes arrays."""

    def act(self, observations: Array) -> tuple[Array, Array, dict[str, Array]]:
        return np.zeros(len(observations)), np.zeros(len(observations)), {}

    def log_prob(self, observations: Array, actions: Array) -> Array:
        return np.zeros(len(actions))

    def state(self) -> Mapping[str, Array]:
        return {}

    def load(self, state: Mapping[str, Array]) -> None:
        pass


policy: Policy = Constant()
with Rollouts("CartPole-v1", Constant, num_envs=4, sync=Every(2)) as rollouts:
    assert_type(rollouts.publish(policy), int)
    rollouts.wait()
    for batch in rollouts:
        assert_type(batch, Batch)
        assert_type(batch.rewards, Array)
        assert_type(batch.returns, list[float])
    assert_type(rollouts.stats, Stats)
Rollouts("CartPole-v1", Constant, sync=Adaptive(threshold=0.1))
