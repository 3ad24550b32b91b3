"""Shared records that a worker has overwritten: all calls fail from then on, and none hangs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._engine import base_pool
from parallel_pool._engine.buffers import Array
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.compat import sb3
from parallel_pool.errors import BrokenPoolError, PoolTimeoutError
from tests.faults.failing_envs import Counting, WaitFor, until_stepping
from tests.support.timeouts import wait_for

pytestmark = pytest.mark.usefixtures("alarm")

# number of environments, in one worker; no other record in the shared memory has this value
NUM_ENVS = 61


class Waiting(Counting):
    """Waits for a file in its second step."""

    def __init__(self, path: Path) -> None:
        super().__init__(WaitFor(path), 2)


def shared_memory() -> list[Path]:
    """Returns the memory that this process's pools share with their workers, without replies."""
    files = Path("/proc/self/fd").iterdir()
    return [file for file in files if file.is_file() and is_pools(os.readlink(file))]


def is_pools(target: str) -> bool:
    return target.startswith("/memfd:parallel_pool ") and "replies" not in target


def _is_counted(before: Array, words: Array) -> bool:
    return bool(((before == 0) & (words == NUM_ENVS)).any())


def miscount(pool: ProcessPool, path: Path, count: int) -> None:
    """Lets the running step end, then overwrites its count of completed rows."""
    until_stepping(pool, 0)
    words = [np.memmap(file, np.int32) for file in shared_memory()]
    before = [each.copy() for each in words]
    path.write_text("go on")
    wait_for(lambda: any(map(_is_counted, before, words)))
    for old, new in zip(before, words, strict=True):
        new[(old == 0) & (new == NUM_ENVS)] = count


def functions(path: Path) -> list[Any]:
    return [lambda: Waiting(path), *[Counting] * (NUM_ENVS - 1)]


@pytest.mark.quick(1)
@pytest.mark.parametrize("count", [0, 1, NUM_ENVS - 1, NUM_ENVS + 16])
def test_a_wrong_count_ends_the_wait(count: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with ProcessPool(functions(path), num_workers=1, start_method="fork") as pool:
        actions = np.zeros(NUM_ENVS, np.int64)
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
        assert pool.in_flight == NUM_ENVS


@pytest.mark.quick(1)
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_wrong_count_ends_waits_of_the_vector_environment(
    is_interrupted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """reset() discards the results of an interrupted step, and raises when none can come."""
    path = tmp_path / "file"
    env = ProcessVectorEnv(functions(path), num_workers=1, context="fork")
    actions = np.zeros(NUM_ENVS, np.int64)
    env.reset(seed=0)
    env.step(actions)
    env.step_async(actions)
    if is_interrupted:

        def interrupt(*_: Any) -> Any:
            monkeypatch.undo()
            raise KeyboardInterrupt

        monkeypatch.setattr(base_pool, "receive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            env.step_wait()
    miscount(env.pool, path, NUM_ENVS - 1)
    if not is_interrupted:
        with pytest.raises(BrokenPoolError, match="make a new one"):
            env.step_wait()
    for call in (env.reset, env.reset):
        with pytest.raises(BrokenPoolError, match="make a new one"):
            call()
    env.close()


@pytest.mark.slow
def test_a_wrong_count_ends_waits_of_stable_baselines(tmp_path: Path) -> None:
    path = tmp_path / "file"
    env = sb3.PoolVecEnv(functions(path), num_workers=1, start_method="fork")
    actions = np.zeros(NUM_ENVS, np.int64)
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
        actions = np.zeros(NUM_ENVS, np.int64)
        pool.reset(seed=0)
        pool.step(actions)
        with pytest.raises(PoolTimeoutError):
            pool.step(actions, timeout=1.0)
        path.write_text("go on")
        assert len(pool.recv()[0]) == NUM_ENVS
