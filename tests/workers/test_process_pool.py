"""ProcessPool: the engine's own columns, for environments in worker processes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool._engine.pool import Pool
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.errors import BusyError, StateError
from tests.contract.small_envs import Gate, Walker
from tests.faults.failing_envs import Counting, kill

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


@pytest.mark.quick(1)
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


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", MODES)
def test_after_a_restart_elapsed_steps_begin_at_0(autoreset: str) -> None:
    fns = [Counting] * 2
    options: dict[str, Any] = {"num_workers": 1, "start_method": "fork", "autoreset": autoreset}
    with ProcessPool(fns, on_error="restart", **options) as pool:
        pool.reset(seed=0)
        for _ in range(2):
            pool.step([0, 0])
        kill(pool, 0)
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


def test_a_call_that_one_worker_can_not_take_is_sent_to_none(tmp_path: Path) -> None:
    """One of two workers is busy with another call; the other one must not do half of it."""
    gate = Gate(tmp_path)
    with ProcessPool([partial(Walker, gate)] * 2, num_workers=2, start_method="fork") as pool:
        pool.reset(seed=1)
        with gate.held() as wait_until_held:
            busy = pool.send_call("reset", env_ids=[1])
            wait_until_held()
            for refused in (
                lambda: pool.set_attr("knob", [5, 5]),
                lambda: pool.call("reset"),
                lambda: pool.apply(len),
            ):
                with pytest.raises(BusyError, match="worker process 1 has a request already"):
                    refused()
            assert pool.get_attr("knob", [0]) == [0]
        assert len(pool.recv_call(busy, timeout=60)) == 1
        assert pool.get_attr("knob") == [0, 0]


def test_a_refused_reset_leaves_no_seed_for_a_later_turn(tmp_path: Path) -> None:
    """The seed of environment 0 must not come with its next autoreset."""
    gate = Gate(tmp_path)
    rows = []
    for is_refused in (True, False):
        with ProcessPool([partial(Walker, gate)] * 2, num_workers=0) as pool:
            pool.reset(seed=1)
            for _ in range(4):
                pool.step([0, 0])
            pool.send([0], [1])
            if is_refused:
                with pytest.raises(StateError, match="environment 1 is already in flight"):
                    pool.send_reset(seed=9)
            pool.recv()
            # an autoreset
            rows.append(pool.step([0], [0]).obs)
    assert np.array_equal(*rows)
