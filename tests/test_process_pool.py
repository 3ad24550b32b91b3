"""ProcessPool: the engine's own columns, for environments in worker processes."""

from __future__ import annotations

import os
import signal
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool.pool import Pool
from parallel_pool.workers.process_pool import ProcessPool
from tests.faults.failing_envs import Counting

MODES = ("next_step", "same_step", "disabled")


def column(pool: Any, batch: Any, name: str) -> Any:
    return batch[[each.name for each in pool.columns].index(name)].tolist()


def elapsed(pool: Any, steps: int) -> list[Any]:
    """Returns the column elapsed_step over a few episodes that end at different times."""
    pool.reset(seed=0)
    found = []
    for _ in range(steps):
        batch = pool.step(np.ones(3, np.int64))
        found.append(column(pool, batch, "elapsed_step"))
        ended = np.flatnonzero(column(pool, batch, "terminated"))
        if pool.autoreset == "disabled" and len(ended):
            found.append(column(pool, pool.reset(ended), "elapsed_step"))
    return found


@pytest.mark.parametrize("autoreset", MODES)
def test_elapsed_steps_are_those_of_native_environments(autoreset: str) -> None:
    fns = [lambda: gymnasium.make("CartPole-v1")] * 3
    with ProcessPool(fns, num_workers=2, autoreset=autoreset) as pool:
        found = elapsed(pool, 25)
    with Pool("CartPole-v1", num_envs=3, autoreset=autoreset) as native:
        assert elapsed(native, 25) == found


def test_rows_that_a_masked_reset_repeats_do_not_count_as_steps() -> None:
    with ProcessPool([Counting] * 3, num_workers=1, start_method="fork") as pool:
        pool.reset(seed=0)
        for _ in range(2):
            pool.step([0, 0, 0])
        pool.send_reset(mask=np.array([True, False, True]))
        assert column(pool, pool.recv(), "elapsed_step") == [0, 2, 0]
        assert column(pool, pool.step([0, 0, 0]), "elapsed_step") == [1, 3, 1]


def test_a_worker_writes_to_the_right_rows_of_any_block() -> None:
    with ProcessPool([Counting] * 4, num_workers=2, start_method="fork") as pool:
        pool.reset(seed=0)
        counts = np.zeros(4, np.int64)
        # blocks are reused, with rows of other environments in them
        for _ in range(6):
            for env_ids in ([0, 1, 2, 3], [2, 3], [0, 1], [2, 3]):
                batch = pool.step([0] * len(env_ids), env_ids)
                counts[env_ids] += 1
                assert column(pool, batch, "env_id") == env_ids
                assert batch[0][:, 0].tolist() == counts[env_ids].tolist()


@pytest.mark.parametrize("autoreset", MODES)
def test_after_a_restart_elapsed_steps_begin_at_0(autoreset: str) -> None:
    fns = [Counting] * 2
    options: dict[str, Any] = {"num_workers": 1, "start_method": "fork", "autoreset": autoreset}
    with ProcessPool(fns, on_error="restart", **options) as pool:
        pool.reset(seed=0)
        for _ in range(2):
            pool.step([0, 0])
        (pid, _) = pool.apply(lambda env: os.getpid())
        os.kill(pid, signal.SIGKILL)
        batch = pool.step([0, 0])
        assert column(pool, batch, "truncated") == [True, True]
        assert column(pool, batch, "elapsed_step") == [2, 2]
        if autoreset == "same_step":
            expected = [1, 1]
            batch = pool.step([0, 0])
        else:
            expected = [0, 0]
            batch = pool.step([0, 0]) if autoreset == "next_step" else pool.reset()
        assert column(pool, batch, "elapsed_step") == expected
