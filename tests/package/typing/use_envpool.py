"""EnvPool's API: overloads of make by env_type, and of recv."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from gymnasium.spaces import Space

import parallel_pool
from parallel_pool.compat.dm_env import DMEnvPool, SingleDMEnv
from parallel_pool.compat.envpool import AsyncRolloutBuffer, EnvPool, EnvSpec, GymnasiumEnvPool
from parallel_pool.compat.gymnasium import Rollout, RolloutBuffer
from parallel_pool.python.envpool import EnvPoolMixin
from parallel_pool.python.protocol import ArraySpec
from parallel_pool.registration import make_gymnasium

Array = np.ndarray[Any, np.dtype[Any]]
Step = tuple[Array | Any, Array, Array, Array, dict[str, Any]]

envs = parallel_pool.make("Pong-v5", env_type="gymnasium", num_envs=4)
assert_type(envs, GymnasiumEnvPool)
assert_type(parallel_pool.make("Pong-v5", env_type="gym"), GymnasiumEnvPool)
assert_type(parallel_pool.make("Pong-v5", env_type="dm"), DMEnvPool)
assert_type(parallel_pool.make("Pong-v5", env_type="dm", batched=False), SingleDMEnv)
assert_type(parallel_pool.make_gym("Pong-v5"), GymnasiumEnvPool)
assert_type(parallel_pool.make_gymnasium("Pong-v5"), GymnasiumEnvPool)
assert_type(parallel_pool.make_dm("Pong-v5"), DMEnvPool)
assert_type(parallel_pool.make_dm("Pong-v5", batched=False), SingleDMEnv)
spec = parallel_pool.make_spec("Pong-v5")
assert_type(spec, EnvSpec)
assert_type(spec.gymnasium_action_space, Space[Any])
assert_type(spec.state_array_spec, dict[str, ArraySpec])
assert_type(spec.gymnasium_observation_space, Space[Any])

# observations alone, or with infos
assert_type(envs.reset(), Any)
assert_type(envs.step(np.zeros(4, np.int32), timeout=1), Step)
assert_type(envs.recv(min_rows=1), Step)
assert_type(envs.recv(reset=True), Any)
envs.send(np.zeros(4, np.int32), np.arange(4))
assert_type(envs.render(), Array)
assert_type(envs.get_state(), list[bytes])
assert_type(envs.all_env_ids, Array)
assert_type(envs.pool, parallel_pool.Pool)
assert_type(envs.spec, EnvSpec)
buffer = envs.rollout(8)
assert_type(buffer, RolloutBuffer)
rollout = buffer.collect(lambda observations: np.zeros(4, np.int32))
assert_type(rollout, Rollout)
assert_type(rollout.infos, list[dict[str, Any]])
asynchronous = AsyncRolloutBuffer(parallel_pool.make_gym("Pong-v5", num_envs=4, batch_size=2), 8)
assert_type(
    asynchronous.collect(lambda observations, env_ids: np.zeros(len(env_ids), np.int32)), Rollout
)
assert_type(envs.xla(), tuple[Any, Callable[..., Any], Callable[..., Any], Callable[..., Any]])
base: EnvPool = envs
mixin: EnvPoolMixin = make_gymnasium("Pong-v5")
parallel_pool.register("Lake-v0", path="lake.so", symbol="pp_env_lake", num_envs=2)
