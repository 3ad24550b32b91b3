"""Minari: recorded environments, of one agent and of several."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import parallel_pool
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.minari import AgentDataCollector, VectorDataCollector

Array = np.ndarray[Any, np.dtype[Any]]

envs = VectorDataCollector(
    PoolVectorEnv("CartPole-v1", 8), "cart/random-v0", record_infos=["lives"], author="me"
)
assert_type(envs.dataset_id, str)
observations, infos = envs.reset(seed=1, options={})
assert_type(infos, dict[str, Any])
step = envs.step([0] * 8)
assert_type(step[1], Array)
assert_type(step[4], dict[str, Any])
envs.finish()
envs.close()

agents = AgentDataCollector(
    parallel_pool.PoolParallelEnv("mpe/simple_spread_v3", 4), "spread/random-v0", write_every=100
)
assert_type(agents.dataset_ids, dict[Any, str])
assert_type(agents.reset(seed=[1, None, 2, 3]), tuple[dict[Any, Any], dict[Any, Any]])
assert_type(agents.step({"agent_0": [0] * 4})[1], dict[Any, Array])
agents.finish()
agents.close(timeout=1)
