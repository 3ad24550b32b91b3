"""Fork: calls in a child are refused, and the parent's pool is unaffected."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parallel_pool._engine.pool import Pool
from parallel_pool.errors import ForkedError
from tests.support.forked import in_child
from tests.support.receiving import receiving
from tests.support.same import assert_same
from tests.support.timeouts import TEST_TIMEOUT


def assert_not_its_own(pool: Pool) -> None:
    """Fails unless every call is refused with a message that names a cure."""
    count = pool.batch_size
    actions = np.zeros(count, np.int64)
    calls: list[Callable[[], Any]] = [
        lambda: pool.step(actions, np.arange(count)),
        lambda: pool.step(actions, np.arange(count), timeout=600),
        lambda: pool.send(actions, np.arange(count)),
        lambda: pool.recv(),
        lambda: pool.recv(timeout=600),
        lambda: pool.send_reset(),
        lambda: pool.reset(seed=3),
        lambda: pool.get_state([0]),
        lambda: pool.set_state([b"x"], [0]),
        lambda: pool.observe([0]),
        lambda: pool.render([0]),
        lambda: pool.needs_reset(0),
    ]
    for call in calls * 2:
        with pytest.raises(
            ForkedError, match="belongs to the parent process: make a new one after"
        ):
            call()
    # these are allowed; close does nothing
    assert len(pool) == pool.num_envs and pool.stats()["num_threads"] == pool.num_threads
    pool.close()
    pool.close()


def trajectory(pool: Pool, rounds: int = 20) -> list[tuple[np.ndarray[Any, Any], ...]]:
    return [pool.step(np.arange(pool.num_envs) + i & 1) for i in range(rounds)]


@pytest.mark.quick(1)
@pytest.mark.parametrize("num_threads", [1, 3])
def test_a_child_is_refused_and_the_parent_goes_on(num_threads: int) -> None:
    with (
        Pool("CartPole-v1", 5, num_threads=num_threads, seed=0) as pool,
        Pool("CartPole-v1", 5, num_threads=num_threads, seed=0) as untouched,
    ):
        for _ in range(3):
            in_child(lambda: assert_not_its_own(pool))
            assert_same(trajectory(pool), trajectory(untouched), "parent")


def test_a_fork_does_not_affect_pending_results() -> None:
    with (
        Pool("CartPole-v1", 5, num_threads=3, seed=0) as pool,
        Pool("CartPole-v1", 5, seed=0) as untouched,
    ):
        pool.reset()
        untouched.reset()
        pool.send(np.ones(5, int))
        in_child(lambda: assert_not_its_own(pool))
        assert pool.in_flight == 5
        assert_same(pool.recv(), untouched.step(np.ones(5, int)), "received")
        assert_same(trajectory(pool), trajectory(untouched), "parent")


def test_a_fork_during_steps_blocks_no_call_of_the_child() -> None:
    """Whatever the pool's threads do at the fork, and whichever lock they hold."""
    with Pool("test/Fault-v0", 8, batch_size=2, num_threads=3, options={"spin": 20000}) as pool:
        names = [column.name for column in pool.columns]
        id_column, count_column = names.index("env_id"), names.index("count")
        counts = dict.fromkeys(range(8), 0)
        pool.send_reset()
        for round_ in range(60):
            if round_ % 12 == 1:
                in_child(lambda: assert_not_its_own(pool))
            batch = pool.recv()
            for env_id, count in zip(batch[id_column], batch[count_column], strict=True):
                assert count == counts[env_id]
                counts[env_id] += 1
            pool.send([0, 0], batch[id_column])


def test_a_fork_does_not_affect_a_thread_that_receives() -> None:
    with Pool("CartPole-v1", 2, num_threads=2, seed=0) as pool:
        with receiving(pool) as received:
            in_child(lambda: assert_not_its_own(pool))
            pool.send_reset()
        with Pool("CartPole-v1", 2, seed=0) as untouched:
            assert_same(received, [untouched.reset()], "received")


def test_a_child_can_make_a_pool_of_its_own() -> None:
    options: dict[str, Any] = {"num_threads": 3, "seed": 4}
    with Pool("CartPole-v1", 5, **options) as pool, Pool("CartPole-v1", 5, **options) as untouched:
        pool.reset()
        untouched.reset()
        expected = trajectory(untouched)

        def child() -> None:
            with Pool("CartPole-v1", 5, **options) as own:
                own.reset()
                assert_same(trajectory(own), expected, "child")
                # a child of the child does not own its pool either
                in_child(lambda: assert_not_its_own(own))
                trajectory(own)
            with pytest.raises(ForkedError):
                pool.step(np.zeros(5, int))

        in_child(child)
        assert_same(trajectory(pool), expected, "parent")


def test_a_child_may_delete_the_inherited_pool() -> None:
    with Pool("CartPole-v1", 5, num_threads=3, seed=0) as pool:
        held = [pool, pool.reset(), *trajectory(pool)]
        copies = [[array.copy() for array in batch] for batch in held[1:]]

        def child() -> None:
            held[1][0][:] = 9
            held.clear()
            gc.collect()

        in_child(child)
        for batch, copied in zip(held[1:], copies, strict=True):
            assert_same(list(batch), copied, "parent")
        trajectory(pool)


# a child that exits as programs do: finalizers run, and the interpreter deletes its globals
LEAVING = """
import gc, os, sys
import numpy as np
from parallel_pool._engine.pool import Pool
from tests.support.forked import wait_before_forks
pool = Pool("CartPole-v1", 6, batch_size={batch}, num_threads=3, seed=0)
pool.send_reset()
kept = [pool.recv()]
pool.send(np.ones({batch}, int), kept[0][[c.name for c in pool.columns].index("env_id")])
wait_before_forks()
child = os.fork()
if not child:
    if {drops}:
        del kept, pool
        gc.collect()
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
kept.append(pool.recv())
print("fine", len(kept[1][0]))
"""


@pytest.mark.sanitizers
@pytest.mark.parametrize("batch", [6, 2])
@pytest.mark.parametrize("drops", [True, False])
def test_a_child_exits_normally(batch: int, drops: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVING.format(batch=batch, drops=drops)],
        capture_output=True,
        text=True,
        check=False,
        timeout=TEST_TIMEOUT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"fine {batch}\n", "")
