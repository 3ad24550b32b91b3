"""The contract of Pool and of the arrays it returns."""

from __future__ import annotations

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from parallel_pool._engine import buffers
from parallel_pool._engine.actions import ActionReader
from parallel_pool._engine.buffers import MAX_HELD_BLOCKS
from parallel_pool._engine.pool import Pool
from parallel_pool.errors import ClosedError, PoolTimeoutError, StateError
from parallel_pool.testing import inspect

# longer than any test takes on a slow machine
AGES = 300


def named(pool: Pool, batch: tuple[Any, ...]) -> dict[str, Any]:
    """Columns by name, without final ones."""
    pairs = zip(pool.columns, batch, strict=True)
    return {column.name: array for column, array in pairs if not column.is_final}


def zeros(pool: Pool) -> Any:
    return np.zeros((pool.num_envs, *ActionReader(pool.spec).shape), pool.spec.action.dtype)


# ---------------------------------------------------------------------------------- columns --


def test_a_plain_pool_has_fields_and_engine_columns() -> None:
    with Pool("test/Duel-v0", 3, seed=1) as pool:
        described = [(c.name, c.dtype.name, c.shape, c.field, c.is_final) for c in pool.columns]
        assert described == [
            ("score", "float32", (2, 2), 0, False),
            ("stake", "int64", (), 1, False),
            ("last_move", "int64", (2,), 2, False),
            ("round", "int32", (), 3, False),
            ("reward", "float32", (2,), -1, False),
            ("terminated", "bool", (), -1, False),
            ("truncated", "bool", (), -1, False),
            ("env_id", "int32", (), -1, False),
            ("elapsed_step", "int32", (), -1, False),
        ]
        for column, array in zip(pool.columns, pool.reset(), strict=True):
            assert (array.dtype, array.shape) == (column.dtype, (3, *column.shape))


def test_optional_columns_come_last() -> None:
    pool = Pool(
        "test/Duel-v0",
        3,
        seed=1,
        reward_dtype="float64",
        autoreset="same_step",
        max_episode_steps=2,
        step_type=True,
        discount=True,
        players=True,
        statistics=True,
    )
    described = [(c.name, c.dtype.name, c.shape, c.field, c.is_final) for c in pool.columns]
    assert described[4] == ("reward", "float64", (2,), -1, False)
    assert described[9:] == [
        ("step_type", "int32", (), -1, False),
        ("discount", "float32", (), -1, False),
        ("players.env_id", "int32", (2,), -1, False),
        ("episode_return", "float64", (2,), -1, False),
        ("episode_length", "int32", (), -1, False),
        ("score", "float32", (2, 2), 0, True),
        ("stake", "int64", (), 1, True),
        ("last_move", "int64", (2,), 2, True),
        ("round", "int32", (), 3, True),
    ]
    moves = np.array([[0, 2], [2, 0], [1, 1]])
    totals = np.zeros((3, 2))
    seen = named(pool, pool.reset())
    assert seen["step_type"].tolist() == [0, 0, 0] and seen["discount"].tolist() == [1, 1, 1]
    assert seen["players.env_id"].tolist() == [[0, 0], [1, 1], [2, 2]]
    for step in (1, 2):
        batch = pool.step(moves)
        seen = named(pool, batch)
        totals += seen["reward"]
        assert np.array_equal(seen["episode_return"], totals)
        assert seen["episode_length"].tolist() == [step] * 3
        assert seen["step_type"].tolist() == [step] * 3
    # at the time limit: final columns are of the old episode, the others of the new one
    assert seen["truncated"].all() and not seen["terminated"].any()
    assert seen["discount"].tolist() == [1, 1, 1]
    assert batch[-1].tolist() == [2, 2, 2] and seen["round"].tolist() == [0, 0, 0]
    assert np.array_equal(batch[-2], moves)


def test_a_termination_has_discount_zero_and_a_time_limit_one() -> None:
    pool = Pool("CartPole-v1", 4, seed=1, max_episode_steps=9, discount=True)
    kinds = set()
    pool.reset()
    for _ in range(40):
        seen = named(pool, pool.step(np.ones(4, np.int64)))
        assert np.array_equal(seen["discount"], np.where(seen["terminated"], 0.0, 1.0))
        kinds |= set(zip(seen["terminated"].tolist(), seen["truncated"].tolist(), strict=True))
    assert kinds == {(False, False), (True, False), (False, True), (True, True)}


def test_rewards_of_either_dtype_are_the_same_numbers() -> None:
    single, double = (
        Pool("Pendulum-v1", 6, seed=4, reward_dtype=dtype) for dtype in ("float32", "float64")
    )
    single.reset(), double.reset()
    for _ in range(20):
        one, two = (named(p, p.step(zeros(p)))["reward"] for p in (single, double))
        assert (one.dtype, two.dtype) == (np.float32, np.float64)
        assert one.tobytes() == two.astype(np.float32).tobytes()
        assert not np.array_equal(one, two)


# ------------------------------------------------------------------------- sending in parts --


@pytest.mark.parametrize("num_threads", [1, 3])
def test_rows_come_in_the_order_of_sending(num_threads: int) -> None:
    pool = Pool("test/Fault-v0", 6, seed=1, num_threads=num_threads)
    pool.reset()
    assert pool.in_flight == 0
    pool.send([1, 0], [4, 1])
    assert pool.in_flight == 2
    pool.send([1], [5])
    pool.send_reset([0])
    seen = named(pool, pool.recv())
    assert seen["env_id"].tolist() == [4, 1, 5, 0]
    assert seen["reward"].tolist() == [1, 0, 1, 0]
    assert seen["count"].tolist() == [1, 1, 1, 0]
    assert seen["elapsed_step"].tolist() == [1, 1, 1, 0]
    assert pool.in_flight == 0
    # a step of some, in any order
    seen = named(pool, pool.step([0, 1, 1], [3, 2, 5]))
    assert seen["env_id"].tolist() == [3, 2, 5]
    assert seen["count"].tolist() == [1, 1, 2]


def test_actions_sent_after_a_receive_are_another_batch() -> None:
    pool = Pool("test/Fault-v0", 4, seed=1)
    pool.reset()
    for first, second in (([2], [0, 1]), ([3, 1], [2])):
        for env_ids in (first, second):
            pool.send([1] * len(env_ids), env_ids)
            assert named(pool, pool.recv())["env_id"].tolist() == env_ids
    with pytest.raises(StateError):
        pool.recv()


def test_an_asynchronous_pool_counts_what_is_in_flight() -> None:
    pool = Pool("test/Fault-v0", 5, batch_size=2, seed=1, num_threads=2)
    assert pool.is_async
    pool.send_reset()
    left = set(range(5))
    for in_flight in (3, 1):
        env_ids = set(named(pool, pool.recv())["env_id"].tolist())
        assert len(env_ids) == 2 and env_ids <= left
        left -= env_ids
        assert pool.in_flight == in_flight
    with pytest.raises(StateError, match="1"):
        pool.recv()
    with pytest.raises(PoolTimeoutError, match="in flight"):
        pool.recv(timeout=0)
    (last,) = left
    with pytest.raises(StateError, match=f"environment {last} "):
        pool.send([0], [last])
    with pytest.raises(StateError, match="in flight"):
        pool.needs_reset(last)
    other = (last + 1) % 5
    seen = named(pool, pool.step([0], [other]))
    assert set(seen["env_id"].tolist()) == {last, other}


def test_recv_with_nothing_in_flight_times_out() -> None:
    pool = Pool("test/Fault-v0", 2, seed=1)
    pool.reset()
    with pytest.raises(StateError):
        pool.recv()
    for timeout in (0, 0.001):
        with pytest.raises(PoolTimeoutError, match="0 environments are in flight"):
            pool.recv(timeout=timeout)


@pytest.mark.parametrize("batch_size", [1, 2])
def test_recv_with_a_timeout_waits_for_another_threads_send(batch_size: int) -> None:
    pool = Pool("test/Fault-v0", 2, batch_size=batch_size, seed=1)
    pool.send_reset()
    for _ in range(2 // batch_size):
        pool.recv()
    with ThreadPoolExecutor(1) as executor:
        before = pool.stats()["caller_waits"]
        received = executor.submit(pool.recv, timeout=AGES)
        # C returns to Python after each of its short waits, so Python must call it again
        while pool.stats()["caller_waits"] < before + 3 and not received.done():
            time.sleep(0.001)
        assert not received.done()
        pool.send([1] * batch_size, range(batch_size))
        # long before the receiver's timeout
        batch = received.result(timeout=AGES / 2)
    assert named(pool, batch)["reward"].tolist() == [1] * batch_size
    assert pool.in_flight == 0


def test_a_step_that_times_out_loses_nothing() -> None:
    pool = Pool("test/Fault-v0", 2, batch_size=1, seed=1, options={"sleep_ms": 50})
    pool.send_reset()
    pool.recv(), pool.recv()
    # on a slow machine the step may be done before the check, but not every time
    for _ in range(50):
        try:
            pool.step([1], [0], timeout=0)
        except PoolTimeoutError as error:
            assert "1 environments are in flight" in str(error)
            break
    assert pool.in_flight == 1
    with pytest.raises(StateError, match="in flight"):
        pool.step([0], [0])
    assert named(pool, pool.recv())["reward"].tolist() == [1]


# ------------------------------------------------------------------------- arrays to keep --


def play(pool: Pool, steps: int) -> Any:
    """Batches of random actions, the first of them a reset."""
    rng = np.random.default_rng(8)
    yield pool.reset()
    for _ in range(steps):
        yield pool.step(rng.integers(0, pool.spec.action.n, zeros(pool).shape))


@pytest.mark.parametrize("settings", [{}, {"num_threads": 3}, {"autoreset": "same_step"}])
def test_results_may_be_kept(settings: dict[str, Any]) -> None:
    pool = Pool("test/Duel-v0", 7, seed=1, **settings)
    kept, copies = [], []
    for batch in play(pool, 300):
        kept.append(batch)
        copies.append([array.copy() for array in batch])
    pool.close()
    del pool
    for batch, copied in zip(kept, copies, strict=True):
        for array, expected in zip(batch, copied, strict=True):
            assert array.tobytes() == expected.tobytes()
    # no two of them share memory
    addresses = {array.ctypes.data for batch in kept for array in batch}
    assert len(addresses) == sum(map(len, kept))


def tensor(array: Any) -> Any:
    return pytest.importorskip("torch").from_numpy(array)


WAYS_TO_KEEP = {
    "the array": lambda array: array,
    "a slice": lambda array: array[1:2],
    "a view of another dtype": lambda array: array.view(np.uint8),
    "a transposed view": lambda array: array.T,
    "a reshaped view": lambda array: array.reshape(-1)[::-1],
    "a memoryview": memoryview,
    "a memoryview's part": lambda array: memoryview(array)[1:],
    "an ndarray over a buffer": lambda array: np.frombuffer(memoryview(array), np.uint8),
    "a DLPack capsule": lambda array: array.__dlpack__(),
    "an iterator": lambda array: array.flat,
    "a tensor": tensor,
    "a tensor's part": lambda array: tensor(array)[2:, 0],
}


@pytest.mark.parametrize("way", WAYS_TO_KEEP)
def test_any_view_of_an_array_keeps_its_memory(way: str) -> None:
    """Only the view is held, and its memory is not reused while the view exists."""
    keep = WAYS_TO_KEEP[way]
    pool = Pool("test/Duel-v0", 5, seed=1)
    kept = []
    for batch in play(pool, 40):
        score = batch[0]
        kept.append((keep(score), score.ctypes.data, score.copy()))
        del batch, score
    assert len({address for _, address, _ in kept}) == len(kept)
    for held, _, copied in kept:
        if way in ("a DLPack capsule", "an iterator"):
            continue
        now = held.numpy() if way.startswith("a tensor") else np.asarray(held)
        assert now.tobytes() == np.asarray(keep(copied)).tobytes()
    # and is reused afterwards
    del kept, held
    addresses = []
    for batch in play(pool, 150):
        addresses.append(batch[0].ctypes.data)
        del batch
    # spare blocks, the few that C holds, the one that it gets next, and the one that it gave last
    assert len(set(addresses[100:])) <= MAX_HELD_BLOCKS + 4
    assert inspect(pool).blocks <= MAX_HELD_BLOCKS + 4


def test_an_ordinary_loop_needs_no_more_memory() -> None:
    pool = Pool("test/Duel-v0", 5, seed=1)
    addresses = set()
    batch = None
    for following in play(pool, 100):
        # an ordinary loop holds the last result while it receives the next
        batch = following
        addresses.add(batch[0].ctypes.data)
    assert len(addresses) <= MAX_HELD_BLOCKS + 3
    assert inspect(pool).blocks <= MAX_HELD_BLOCKS + 4


class CountingLib:
    """The C functions, with a count of the memory that batches hold."""

    def __init__(self, lib: Any) -> None:
        self._lib = lib
        self.taken = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lib, name)

    def pp_batch_alloc(self, pool: Any) -> Any:
        self.taken += self._lib.pp_batch_size(pool)
        return self._lib.pp_batch_alloc(pool)

    def pp_batch_free(self, memory: Any, size: int) -> None:
        self.taken -= size
        self._lib.pp_batch_free(memory, size)


@pytest.mark.quick(1)
@pytest.mark.parametrize("batch_size", [4096, 1024])
def test_memory_of_kept_batches_is_freed(batch_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = CountingLib(buffers.lib)
    monkeypatch.setattr(buffers, "lib", counting)
    pool = Pool("test/Duel-v0", 4096, batch_size=batch_size, seed=1, num_threads=2)
    names = [column.name for column in pool.columns]

    def play_on(steps: int) -> Any:
        for _ in range(steps):
            batch = pool.recv()
            env_ids = batch[names.index("env_id")]
            pool.send(np.zeros((batch_size, 2), np.int64), env_ids)
            yield batch

    pool.send_reset()
    for _ in play_on(20):
        pass
    few, before = inspect(pool).blocks, counting.taken
    kept = list(play_on(100))
    size = sum(array.nbytes for array in kept[0])
    assert inspect(pool).blocks >= few + 90
    assert counting.taken - before > 90 * size
    del kept
    for _ in play_on(120):
        pass
    assert inspect(pool).blocks <= few + 2
    assert counting.taken - before < 3 * size


def test_writing_into_results_changes_nothing_later() -> None:
    for settings in ({}, {"autoreset": "same_step"}, {"num_threads": 3}):
        written, untouched = (Pool("test/Duel-v0", 7, seed=1, **settings) for _ in range(2))
        for one, other in zip(play(written, 120), play(untouched, 120), strict=True):
            ended = named(untouched, other)["terminated"] | named(untouched, other)["truncated"]
            for column, ours, theirs in zip(written.columns, one, other, strict=True):
                rows = ended if column.is_final else np.ones(7, np.bool_)
                assert ours[rows].tobytes() == theirs[rows].tobytes()
                ours.view(np.uint8).fill(0xAB)


def test_actions_are_copied() -> None:
    pool = Pool("test/Fault-v0", 3, seed=1, num_threads=2, options={"sleep_ms": 20})
    pool.reset()
    actions, env_ids = np.array([1, 1, 1]), np.array([2, 0, 1], np.int32)
    pool.send(actions, env_ids)
    actions[:] = 0
    env_ids[:] = 0
    seen = named(pool, pool.recv())
    assert seen["reward"].tolist() == [1, 1, 1]
    assert seen["env_id"].tolist() == [2, 0, 1]
    assert (actions == 0).all() and (env_ids == 0).all()


# ------------------------------------------------- statistics, observations and pictures --


def test_stats_count_steps_batches_and_chunks() -> None:
    pool = Pool("test/Fault-v0", 4, seed=1, num_threads=2)
    assert pool.num_threads == 2
    before = pool.stats()
    assert (before["env_steps"], before["batches"], before["chunks"]) == (0, 0, 0)
    assert (before["num_threads"], before["num_workers"]) == (2, 1)
    pool.reset()
    pool.step([0, 0], [3, 1])
    pool.send([0], [2])
    pool.send([0], [0])
    assert pool.stats()["env_steps"] == 6
    pool.recv()
    after = pool.stats()
    assert (after["env_steps"], after["batches"]) == (8, 3)
    assert 3 <= after["chunks"] <= 8


def test_the_number_of_threads_fits_the_pool() -> None:
    with Pool("test/Fault-v0", 1) as pool:
        assert pool.num_threads == 1
        assert pool.stats()["num_workers"] == 0
    with Pool("test/Fault-v0", 8, batch_size=1) as pool:
        # asynchronous: the caller's thread does not step
        assert pool.stats()["num_workers"] == pool.num_threads == 1


def test_a_context_ends_with_the_pool_closed() -> None:
    with Pool("test/Fault-v0", 2, seed=1) as pool:
        assert not pool.closed
        batch = pool.reset()
    assert pool.closed
    with pytest.raises(ClosedError):
        pool.step([0, 0])
    assert batch[0].tolist() == [[0], [0]]
    with pytest.raises(KeyError), Pool("test/Fault-v0", 2) as pool:
        raise KeyError
    assert pool.closed


def test_a_pool_has_a_length_and_a_repr_and_can_not_be_copied() -> None:
    with Pool("test/Fault-v0", 3) as pool:
        assert len(pool) == 3
        assert repr(pool) == "Pool('test/Fault-v0', num_envs=3)"
        for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="make a new one"):
                duplicate(pool)


def test_observe_returns_the_last_observations() -> None:
    pool = Pool("test/Duel-v0", 3, seed=1)
    with pytest.raises(StateError, match="environment 0 "):
        pool.observe()
    for batch in play(pool, 10):
        shown = pool.observe()
        assert len(shown) == len(pool.spec.observations)
        for seen, expected in zip(shown, batch, strict=False):
            assert seen.dtype == expected.dtype and np.array_equal(seen, expected)
            # and can be written to
            seen[...] = 0
    assert pool.observe([2, 0])[0].shape == (2, 2, 2)
    pool.send(np.zeros((1, 2), int), [1])
    with pytest.raises(StateError, match="environment 1 "):
        pool.observe()
    assert pool.observe([0])[0].shape == (1, 2, 2)


def test_render_draws_each_environment_named() -> None:
    pool = Pool("test/Template-v0", 3, seed=1, options={"length": 5, "slip_probability": 0})
    pool.reset()
    pool.step([1, 1], [0, 2])
    pool.step([1], [2])
    pictures = pool.render()
    assert (pictures.dtype, pictures.shape) == (np.uint8, (3, 8, 40, 3))
    red = np.array([200, 0, 0], np.uint8)
    for picture, position in zip(pictures, (1, 0, 2), strict=True):
        where = (picture == red).all(axis=-1)
        assert where.sum() == 64 and where[:, 8 * position : 8 * position + 8].all()
        assert (picture[:, 32:] == [0, 160, 0]).all()
    assert np.array_equal(pool.render([2, 0]), pictures[[2, 0]])
    pictures[:] = 0
    assert (pool.render([1])[0] == red).all(axis=-1).sum() == 64
    pool.send([1], [1])
    with pytest.raises(StateError, match="in flight"):
        pool.render()
    with pytest.raises(StateError, match="draws no pictures"):
        Pool("test/Fault-v0").render()
