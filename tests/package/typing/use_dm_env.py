"""dm_env's API: pools, single environments, and the adapter for workers."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import parallel_pool
from parallel_pool.compat.dm_env import DMEnvAdapter, DMEnvPool, SingleDMEnv

Array = np.ndarray[Any, np.dtype[Any]]

with parallel_pool.make_dm("CartPole-v1", num_envs=4) as envs:
    assert_type(envs, DMEnvPool)
    step = envs.step(np.zeros(4, np.int32))
    print(step.observation.obs, step.last())
    assert_type(envs.render(), Array)

with parallel_pool.make_dm("CartPole-v1", batched=False) as env:
    assert_type(env, SingleDMEnv)
    print(env.reset(seed=1).observation, env.step(0).reward)
    assert_type(env.info, dict[str, Any])
    assert_type(env.render(camera_id=None), Array)
    assert_type(env.pool, parallel_pool.Pool)

adapter = DMEnvAdapter(env)
assert_type(adapter.reset(seed=1), tuple[Any, dict[str, Any]])
assert_type(adapter.step(0), tuple[Any, float, bool, bool, dict[str, Any]])
