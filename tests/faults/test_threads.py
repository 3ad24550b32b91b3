"""Threads: one may send while another receives; a second receiver is refused."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parallel_pool._engine.pool import Pool
from parallel_pool.errors import ClosedError, StateError
from tests.support.receiving import wait_until_receiving
from tests.support.same import assert_same

# seconds after which a thread counts as hanging
TEST_TIMEOUT = 120


class Thread(threading.Thread):
    """A thread that starts at once; `finish` raises its exception."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.work = work
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.error = error

    def finish(self) -> None:
        self.join(TEST_TIMEOUT)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error


def counted(pool: Pool, batch: tuple[Any, ...], counts: dict[int, int]) -> list[int]:
    """Checks that each row is the next one of its environment; returns the environments."""
    names = [column.name for column in pool.columns]
    env_ids = batch[names.index("env_id")].tolist()
    for env_id, count in zip(env_ids, batch[names.index("count")].tolist(), strict=True):
        assert count == counts[env_id]
        counts[env_id] += 1
    return env_ids


@pytest.mark.quick(1)
@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_one_sends_and_one_receives(batch_size: int) -> None:
    num_envs, rounds = 8, 300
    pool = Pool("test/Fault-v0", num_envs, batch_size=batch_size, num_threads=3)
    counts = dict.fromkeys(range(num_envs), 0)
    free: queue.SimpleQueue[list[int] | None] = queue.SimpleQueue()
    sent = num_envs

    def send() -> None:
        nonlocal sent
        pool.send_reset()
        for _ in range(rounds):
            env_ids = free.get(timeout=TEST_TIMEOUT)
            if env_ids is None:
                return
            pool.send(np.ones(len(env_ids), np.int64), env_ids)
            sent += len(env_ids)

    def receive() -> None:
        try:
            for _ in range(rounds):
                batch = pool.recv(timeout=TEST_TIMEOUT)
                free.put(counted(pool, batch, counts))
        finally:
            free.put(None)

    threads = [Thread(receive), Thread(send)]
    for thread in threads:
        thread.finish()
    # the remaining rows
    while pool.in_flight >= (batch_size if pool.is_async else 1):
        counted(pool, pool.recv(), counts)
    assert pool.in_flight == sent % batch_size
    assert sum(counts.values()) + pool.in_flight == sent == num_envs + rounds * batch_size
    pool.close()


def test_rows_come_in_the_order_of_another_threads_sends() -> None:
    """Environments are sent one at a time, in any order, and batches have any size."""
    num_envs = 6
    with Pool("CartPole-v1", num_envs, num_threads=3, seed=0) as pool:
        untouched = Pool("CartPole-v1", num_envs, num_threads=1, seed=0)
        id_column = [column.name for column in pool.columns].index("env_id")
        may_send = threading.Semaphore(1)
        rng = np.random.default_rng(0)
        orders = [rng.permutation(num_envs) for _ in range(60)]

        def send() -> None:
            for order in orders:
                assert may_send.acquire(timeout=TEST_TIMEOUT)
                for env_id in order:
                    pool.send([env_id % 2], [env_id])

        thread = Thread(send)
        for order in orders:
            received: list[tuple[Any, ...]] = []
            rows = 0
            # a batch has the environments that were in flight when recv was called
            while rows < num_envs:
                received.append(pool.recv(timeout=TEST_TIMEOUT))
                rows += len(received[-1][0])
            whole = tuple(np.concatenate(column) for column in zip(*received, strict=True))
            assert whole[id_column].tolist() == order.tolist()
            assert_same(whole, tuple(untouched.step(order % 2, order)), "received")
            may_send.release()
        thread.finish()
        untouched.close()


def receive_once(pool: Pool, received: list[Any]) -> None:
    """Receives one batch. recv may be refused only while the main thread polls."""
    while not received:
        try:
            received.append(pool.recv(timeout=TEST_TIMEOUT))
        except StateError as error:
            assert type(error) is StateError and "another thread is receiving" in str(error)


@pytest.mark.parametrize("batch_size", [4, 2])
def test_a_second_thread_in_recv_is_refused(batch_size: int) -> None:
    with (
        Pool("CartPole-v1", 4, batch_size=batch_size, num_threads=2, seed=0) as pool,
        Pool("CartPole-v1", 4, num_threads=1, seed=0) as untouched,
    ):
        some = np.arange(batch_size)
        for round_ in range(20):
            received: list[Any] = []
            thread = Thread(lambda received=received: receive_once(pool, received))
            wait_until_receiving(pool)
            for call in (
                lambda: pool.recv(),
                lambda: pool.recv(timeout=0),
                lambda: pool.step(some % 2, some),
                lambda: pool.step(some % 2, some, timeout=0),
            ):
                with pytest.raises(StateError, match="another thread is receiving"):
                    call()
            # a refused step sends nothing
            assert pool.in_flight == 0
            pool.send(some % 2, some)
            thread.finish()
            order = np.argsort(received[0][[c.name for c in pool.columns].index("env_id")])
            ours = tuple(array[order] for array in received[0])
            assert_same(ours, tuple(untouched.step(some % 2, some)), f"round {round_}")


def test_each_batch_goes_to_one_of_two_receivers() -> None:
    """Two threads compete for batches, and no batch is lost."""
    num_envs, batches = 8, 400
    pool = Pool("test/Fault-v0", num_envs, batch_size=2, num_threads=2)
    stream: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
    id_column = [column.name for column in pool.columns].index("env_id")
    left = threading.Semaphore(batches)
    pool.send_reset()

    def work() -> None:
        while left.acquire(blocking=False):
            while True:
                try:
                    batch = pool.recv(timeout=TEST_TIMEOUT)
                    break
                except StateError as error:
                    assert "another thread is receiving" in str(error)
            # before the send, so that each environment's rows are recorded in order
            stream.put(batch)
            pool.send([0, 0], batch[id_column])

    threads = [Thread(work), Thread(work)]
    for thread in threads:
        thread.finish()
    while pool.in_flight:
        stream.put(pool.recv())
    counts = dict.fromkeys(range(num_envs), 0)
    while not stream.empty():
        counted(pool, stream.get(), counts)
    assert sum(counts.values()) == num_envs + 2 * batches
    pool.close()


def receive_until_closed(pool: Pool) -> None:
    """Waits in recv until the pool is closed. recv may be refused while the main thread polls."""
    while True:
        try:
            pool.recv(timeout=TEST_TIMEOUT)
        except ClosedError:
            raise
        except StateError:
            continue


def test_close_ends_a_wait() -> None:
    for batch_size in (4, 2):
        pool = Pool("CartPole-v1", 4, batch_size=batch_size, num_threads=2, seed=0)
        thread = Thread(lambda pool=pool: receive_until_closed(pool))
        wait_until_receiving(pool)
        pool.close()
        with pytest.raises(ClosedError, match="the pool is closed"):
            thread.finish()
        with pytest.raises(ClosedError, match="the pool is closed"):
            pool.recv()


def test_pools_of_different_threads_do_not_interact() -> None:
    """Each thread gets the results that its pool would return alone."""
    num_envs = 5

    def trajectory(seed: int) -> list[tuple[Any, ...]]:
        with Pool("CartPole-v1", num_envs, num_threads=2, seed=seed) as pool:
            return [pool.step((np.arange(num_envs) + i) % 2) for i in range(100)]

    results: dict[int, list[tuple[Any, ...]]] = {}

    def work(seed: int) -> None:
        results[seed] = trajectory(seed)

    threads = [Thread(lambda seed=seed: work(seed)) for seed in range(4)]
    for thread in threads:
        thread.finish()
    for seed in range(4):
        assert_same(results[seed], trajectory(seed), f"{seed=}")
