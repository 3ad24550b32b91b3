"""JAX: functions of jitted programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import parallel_pool
from parallel_pool.compat.jax import Functions, xla

functions = xla(parallel_pool.Pool("CartPole-v1", 2))
assert_type(functions, Functions)
assert_type(functions.step, Callable[..., Any])
handle, recv, send, step, reset, async_reset = functions
handle, batch = step(handle, [0, 1])
