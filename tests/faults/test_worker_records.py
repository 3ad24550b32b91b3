"""Shared records that a worker has overwritten: all calls fail from then on, and none hangs."""

from __future__ import annotations

import functools
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._engine.buffers import Array
from parallel_pool._native import lib
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.compat.sb3 import PoolVecEnv
from parallel_pool.errors import BrokenPoolError, PoolTimeoutError
from tests.faults.failing_envs import Counting, WaitFor, until_stepping
from tests.timeouts import wait_for

pytestmark = pytest.mark.usefixtures("alarm")

# number of environments, in one worker; no other record in the shared memory has this value
MANY = 61


class Waiting(Counting):
    """Waits for a file in its second step."""

    def __init__(self, path: Path) -> None:
        super().__init__(WaitFor(path), 2)


def _is_counted(before: Array, words: Array) -> bool:
    return bool(((before == 0) & (words == MANY)).any())


def miscount(pool: ProcessPool, path: Path, count: int) -> None:
    """Lets the running step end, then overwrites its count of completed rows."""
    until_stepping(pool, 0)
    fd = lib.pp_pool_memory_fd(pool._handle)
    with mmap.mmap(fd, os.fstat(fd).st_size) as memory:
        words = np.frombuffer(memory, np.int32)
        before = words.copy()
        path.write_text("go on")

        wait_for(functools.partial(_is_counted, before, words))
        words[(before == 0) & (words == MANY)] = count
        del words


def functions(path: Path) -> list[Any]:
    return [lambda: Waiting(path), *[Counting] * (MANY - 1)]


@pytest.mark.parametrize("count", [0, 1, MANY - 1, MANY + 16])
def test_a_wrong_count_ends_the_wait(count: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with ProcessPool(functions(path), num_workers=1, start_method="fork") as pool:
        actions = np.zeros(MANY, np.int64)
        pool.reset(seed=0)
        pool.step(actions)
        pool.send(actions)
        miscount(pool, path, count)
        with pytest.raises(BrokenPoolError, match=r"written over .* make a new one"):
            pool.recv()
        for call in (
            pool.recv,
            pool.reset,
            lambda: pool.step(actions),
            lambda: pool.send(actions),
            lambda: pool.call("close"),
        ):
            with pytest.raises(BrokenPoolError, match="make a new one"):
                call()
        assert pool.in_flight == MANY


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_wrong_count_ends_waits_of_the_vector_environment(
    is_interrupted: bool, tmp_path: Path
) -> None:
    """reset() discards the results of an interrupted step, and raises when none can come."""
    path = tmp_path / "file"
    env = ProcessVectorEnv(functions(path), num_workers=1, context="fork")
    actions = np.zeros(MANY, np.int64)
    env.reset(seed=0)
    env.step(actions)
    env.step_async(actions)
    miscount(env.pool, path, MANY - 1)
    env._is_interrupted = is_interrupted
    if not is_interrupted:
        with pytest.raises(BrokenPoolError, match="make a new one"):
            env.step_wait()
    for call in (env.reset, env.reset):
        with pytest.raises(BrokenPoolError, match="make a new one"):
            call()
    env.close()


def test_a_wrong_count_ends_waits_of_stable_baselines(tmp_path: Path) -> None:
    path = tmp_path / "file"
    env = PoolVecEnv(functions(path), num_workers=1, start_method="fork")
    actions = np.zeros(MANY, np.int64)
    env.reset()
    env.step(actions)
    env.step_async(actions)
    miscount(env.pool, path, 7)
    for call in (env.step_wait, env.reset, env.reset):
        with pytest.raises(BrokenPoolError, match="make a new one"):
            call()
    env.close()


@pytest.mark.slow
def test_a_slow_environment_is_not_a_wrong_count(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with ProcessPool(functions(path), num_workers=2, start_method="fork") as pool:
        actions = np.zeros(MANY, np.int64)
        pool.reset(seed=0)
        pool.step(actions)
        with pytest.raises(PoolTimeoutError):
            pool.step(actions, timeout=1.0)
        path.write_text("go on")
        assert len(pool.recv()[0]) == MANY
