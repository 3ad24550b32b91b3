"""Stable-Baselines3's API: VecEnvs of environments, of agents, and of a cluster."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import parallel_pool
from parallel_pool.cluster import ClusterVectorEnv
from parallel_pool.compat.sb3 import AgentVecEnv, ClusterVecEnv, PoolRolloutBuffer, PoolVecEnv

Array = np.ndarray[Any, np.dtype[Any]]

envs = parallel_pool.PoolVecEnv("CartPole-v1", 2, seed=1)
assert_type(envs, PoolVecEnv)
assert_type(envs.reset(), Array | Any)
envs.step_async(np.zeros(2, np.int64))
assert_type(envs.step_wait(), tuple[Array | Any, Array, Array, list[dict[str, Any]]])
assert_type(envs.num_envs, int)
assert_type(envs.backend, str)
assert_type(envs.pool, parallel_pool.Pool | parallel_pool.ProcessPool)
assert_type(envs.env_method("render", indices=[0]), list[Any])
assert_type(envs.reset_infos, list[dict[str, Any]])

agents = AgentVecEnv("mpe/simple_spread_v3", n_envs=2)
assert_type(agents.envs, parallel_pool.PoolParallelEnv)
assert_type(ClusterVecEnv("CartPole-v1", 2).pool, ClusterVectorEnv)


def filled(space: Any) -> None:
    buffer = PoolRolloutBuffer(8, space, space, n_envs=2, env=envs)
    assert_type(buffer, PoolRolloutBuffer)
    assert_type(buffer.reset(), None)
