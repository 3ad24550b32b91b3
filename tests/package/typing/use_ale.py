"""ale-py's vector API."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import parallel_pool
from parallel_pool.compat.ale import ActionError, AtariVectorEnv

Array = np.ndarray[Any, np.dtype[Any]]

envs = AtariVectorEnv("pong", 4, batch_size=2, episodic_life=True)
assert_type(envs.reset(seed=1), tuple[Array, dict[str, Array]])
try:
    step = envs.step(np.zeros(4, np.int64))
except ActionError as error:
    value: ValueError = error
    raise
assert_type(step, tuple[Array, Array, Array, Array, dict[str, Array]])
envs.send(np.zeros(4, np.int64))
assert_type(envs.recv(), tuple[Array, Array, Array, Array, dict[str, Array]])
assert_type(envs.pool, parallel_pool.Pool)
assert_type(envs.num_envs, int)
