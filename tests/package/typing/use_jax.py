"""JAX: functions of jitted programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import parallel_pool
from parallel_pool.compat.jax import EnvParams, Functions, GymnaxEnv, make_gymnax, xla

functions = xla(parallel_pool.Pool("CartPole-v1", 2))
assert_type(functions, Functions)
assert_type(functions.step, Callable[..., Any])
handle, recv, send, step, reset, async_reset = functions
handle, batch = step(handle, [0, 1])

env, params = make_gymnax("CartPole-v1", num_envs=2)
assert_type(env, GymnaxEnv)
assert_type(params, EnvParams)
assert_type(params.max_steps_in_episode, int)
assert_type(params.replace(max_steps_in_episode=5), EnvParams)
