"""PettingZoo's APIs: dicts by agent, stacked arrays, and one game."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

from parallel_pool import PoolParallelEnv
from parallel_pool.compat.pettingzoo import (
    AgentArrays,
    AgentGroup,
    AgentVectorEnv,
    env,
    parallel_env,
)

Array = np.ndarray[Any, np.dtype[Any]]
ByAgent = dict[Any, Array]

with PoolParallelEnv("mpe/simple_spread_v3", 2) as envs:
    assert_type(envs, PoolParallelEnv)
    assert_type(envs.reset(seed=1), tuple[dict[Any, Any], dict[Any, Any]])
    step = envs.step({"agent_0": [0, 1]})
    assert_type(step, tuple[dict[Any, Any], ByAgent, ByAgent, ByAgent, dict[Any, Any]])
    assert_type(envs.num_envs, int)
    assert_type(envs.live, ByAgent)
    assert_type(envs.state(), Array)
    assert_type(envs.groups, tuple[AgentGroup, ...])

arrays = envs.step_arrays([np.zeros((2, 3), np.int64)])
assert_type(arrays, AgentArrays)
assert_type(arrays.rewards, Array)
assert_type(arrays.live, Array)

rows = envs.as_vector_env()
assert_type(rows, AgentVectorEnv)
assert_type(
    rows.step(np.zeros(6, np.int64)), tuple[Array | Any, Array, Array, Array, dict[str, Any]]
)

game = parallel_env("mpe/simple_spread_v3", max_cycles=5)
observations, infos = game.reset(seed=1)
print(observations["agent_0"], infos["agent_0"])
env("mpe/simple_spread_v3").step(0)
