"""Helpers of the tests that misuse pools.

Every wrong call must raise an exception that names a cure, and must leave the pool as it was. To
prove that the pool is unchanged, a test steps it beside one that was never misused, and compares
the two bit for bit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from parallel_pool._engine.pool import Pool
from tests.support.same import assert_same

NUM_ENVS = 3
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]

Call = Callable[[Pool], Any]


def good_actions(pool: Pool, round_: int) -> np.ndarray[Any, Any]:
    """Returns actions of the space, different in each round."""
    field = pool.spec.action
    count = np.arange(NUM_ENVS) + round_
    if field.dtype.kind == "f":
        return (np.sin(count).astype(np.float32) * 2).reshape(NUM_ENVS, *field.shape)
    return count % field.n


@contextlib.contextmanager
def twins(task_id: str, **options: Any) -> Iterator[tuple[Pool, Pool]]:
    """Makes a pool to misuse and an equal one to compare it with."""
    options = {"num_threads": 2, "seed": 7, "statistics": True, **options}
    with (
        Pool(task_id, NUM_ENVS, **options) as pool,
        Pool(task_id, NUM_ENVS, **options) as untouched,
    ):
        yield pool, untouched


def assert_goes_on(pool: Pool, untouched: Pool, rounds: int = 3) -> None:
    """Checks that the misused pool still returns the same bits as the other."""
    assert pool.in_flight == untouched.in_flight == 0
    for round_ in range(rounds):
        actions = good_actions(pool, round_)
        assert_same(pool.step(actions), untouched.step(actions), f"round {round_}")


def assert_refused(
    task_id: str, calls: list[Call], error: type[Exception], message: str, **options: Any
) -> None:
    """Makes each call twice: before the first reset, after it, and within an episode."""
    with twins(task_id, **options) as (pool, untouched):
        for moment in ("fresh", "reset", "stepped"):
            if moment == "reset":
                assert_same(pool.reset(), untouched.reset(), moment)
            for call in calls * 2:
                with pytest.raises(error, match=message) as caught:
                    call(pool)
                # not a subclass, which means something else
                assert caught.type is error
                assert pool.in_flight == 0
            if moment != "reset":
                assert_goes_on(pool, untouched)
        assert_goes_on(pool, untouched, rounds=20)


def sends(actions: Any, env_ids: Any = None) -> list[Call]:
    """Returns one call for each way of sending these actions."""
    return [
        lambda pool: pool.step(actions, env_ids),
        lambda pool: pool.step(actions, env_ids, timeout=600),
        lambda pool: pool.send(actions, env_ids),
    ]
