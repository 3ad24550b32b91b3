"""The pools themselves, and functions of `import parallel_pool`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_type

import numpy as np

import parallel_pool
from parallel_pool import NamedBatch, Pool, ProcessPool

Array = np.ndarray[Any, np.dtype[Any]]

with Pool("CartPole-v1", 8, batch_size=4, options={"gravity": 9.8}) as pool:
    assert_type(pool, Pool)
    pool.send_reset(seed=1)
    batch = pool.recv(timeout=1, min_rows=2)
    pool.send([0, 1], batch.env_id)

assert_type(batch, NamedBatch)
assert_type(batch.obs, Array)
assert_type(batch[0], Array)
assert_type(batch._fields, tuple[str, ...])  # pyright: ignore[reportPrivateUsage]
assert_type(batch.num_rows, int)
assert_type(batch.rows(), NamedBatch)
observations, *others = batch
assert_type(observations, Array)
assert_type(others, list[Array])

assert_type(pool.reset(seed=[1, 2]), NamedBatch)
assert_type(pool.step([0, 1]), NamedBatch)
assert_type(pool.observe(), NamedBatch)
assert_type(pool.get_state([0]), list[bytes])
assert_type(pool.option_values(), dict[str, Array])
assert_type(pool.option_value("gravity", 0), Any)
assert_type(pool.options_of(0), dict[str, Any])
assert_type(pool.stats(), dict[str, int])
assert_type(pool.needs_reset(0), bool)
assert_type(pool.was_interrupted, bool)
assert_type(pool.state_size, int)
assert_type(pool.num_envs, int)
assert_type(pool.is_async, bool)
assert_type(pool.step_as(lambda views: len(views), [0, 1]), int)

assert_type(pool.render(), Array)
assert_type(pool.render([0], mode="depth_array"), Array)
assert_type(pool.render(mode="rgbd_tuple", width=64), tuple[Array, Array])
assert_type(pool.render(mode="ansi"), list[str])

with pool.trace("trace.json") as trace:
    assert_type(trace.report().shares, Mapping[str, float])

process = ProcessPool([lambda: None], num_workers=1)
assert_type(process.step([0]), NamedBatch)
assert_type(process.recv(), NamedBatch)
assert_type(process.call("render"), list[Any])
assert_type(process.recv_call(process.send_call("render"), timeout=1), list[Any])
assert_type(process.apply(id, [0]), list[Any])
assert_type(process.recv_as(lambda views: views[0]()), Array)

assert_type(parallel_pool.load_source("corridor.c"), list[str])
assert_type(parallel_pool.list_all_envs(), list[str])
assert_type(parallel_pool.get_include(), str)
assert_type(parallel_pool.mosaic([np.zeros((4, 4, 3), np.uint8)], columns=1), Array)
Pool("Pendulum-v1", 2, options={"g": parallel_pool.each([9.8, 1.6])})
Pool(parallel_pool.load("maze.so", "pp_env_maze"), max_episode_steps=parallel_pool.each_reset(5, 9))
