"""Gymnasium's vector API: overloads by backend, and tuples of results."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import parallel_pool
from parallel_pool.cluster import ClusterVectorEnv
from parallel_pool.compat.gymnasium import (
    NativeVectorEnv,
    PoolVectorEnv,
    ProcessVectorEnv,
    ReplayBuffer,
    Rollout,
    RolloutBuffer,
    Stacks,
    Transitions,
)
from parallel_pool.compat.torch import TorchEnv

Array = np.ndarray[Any, np.dtype[Any]]
Step = tuple[Array | Any, Array, Array, Array, dict[str, Any]]
Reset = tuple[Array | Any, dict[str, Any]]

envs = parallel_pool.make_vec("CartPole-v1", 2)
assert_type(envs, NativeVectorEnv | ProcessVectorEnv)
native = parallel_pool.make_vec("CartPole-v1", 2, backend="native")
assert_type(native, NativeVectorEnv)
process = parallel_pool.make_vec("CartPole-v1", 2, backend="process", num_workers=1)
assert_type(process, ProcessVectorEnv)
assert_type(parallel_pool.make_vec("CartPole-v1", 2, backend="cluster"), ClusterVectorEnv)

assert_type(envs.reset(seed=1), Reset)
assert_type(envs.step([0, 1]), Step)
# a program knows its space, and need not narrow a union
observations, infos = envs.reset(seed=[1, None], options={"low": 0.1})
print(observations.shape, observations["image"], infos["key"])

envs.step_async([0, 1])
assert_type(envs.step_wait(timeout=1), Step)
envs.reset_async(seed=1)
assert_type(envs.reset_wait(), Reset)
assert_type(envs.call("render"), tuple[Any, ...])
assert_type(envs.get_attr("gravity"), tuple[Any, ...])
assert_type(envs.render(), tuple[Any, ...])
assert_type(envs.backend, str)
assert_type(envs.num_envs, int)
assert_type(envs.torch(), TorchEnv)
assert_type(native.pool, parallel_pool.Pool)
assert_type(process.pool, parallel_pool.ProcessPool)

assert_type(PoolVectorEnv("CartPole-v1", 2), PoolVectorEnv)
assert_type(PoolVectorEnv("CartPole-v1", 2).pool, parallel_pool.Pool | parallel_pool.ProcessPool)
assert_type(NativeVectorEnv("CartPole-v1", 2, max_episode_steps=5), NativeVectorEnv)
assert_type(ProcessVectorEnv([]), ProcessVectorEnv)

buffer = native.rollout(8)
assert_type(buffer, RolloutBuffer)
rollout = buffer.collect(lambda observations: np.zeros(len(observations), np.int64))
assert_type(rollout, Rollout)
assert_type(rollout.rewards, Array)
print(rollout.observations.shape, rollout.observations["image"], rollout.actions.shape)
assert_type(rollout.map(np.ndarray.tolist), Rollout)

replay = ReplayBuffer(native, 1000, seed=0)
assert_type(replay.sample(8), Transitions)
assert_type(len(replay), int)
print(replay.capacity, replay.nbytes)


def minibatch(stacks: Stacks) -> Array:
    return stacks.gather([1, 2], out=None)
