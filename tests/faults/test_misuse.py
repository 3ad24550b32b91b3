"""Misuse: wrong env_ids, and calls at a wrong time, are refused and change nothing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parallel_pool._engine.pool import Pool
from parallel_pool.errors import (
    ClosedError,
    PoolTimeoutError,
    StateError,
)
from tests.faults.misuse import (
    INTEGERS,
    NUM_ENVS,
    Call,
    assert_goes_on,
    assert_refused,
    good_actions,
    sends,
    twins,
)
from tests.support.receiving import receiving
from tests.support.same import assert_same

# -------------------------------------------------------------------------- environments' ids --

IDS: list[tuple[Any, type[Exception], str]] = [
    (3, ValueError, "env_id 3: choose 0 to 2"),
    (-1, ValueError, "env_id -1: choose 0 to 2"),
    ([0, -2], ValueError, "env_id -2: choose 0 to 2"),
    ([2, 3], ValueError, "env_id 3: choose 0 to 2"),
    ([2**31 - 1], ValueError, "env_id 2147483647: choose 0 to 2"),
    ([2**32], ValueError, "env_id 4294967296: choose 0 to 2"),
    ([-(2**40)], ValueError, "env_id -1099511627776: choose 0 to 2"),
    (np.array([0, 3], np.int32), ValueError, "env_id 3: choose 0 to 2"),
    (np.array([-1], np.int32), ValueError, "env_id -1: choose 0 to 2"),
    (np.array([2**63], np.uint64), ValueError, "env_id 9223372036854775808: choose 0 to 2"),
    ([1, 1], ValueError, "env_id 1 is named twice: name it once"),
    (np.array([2, 0, 2], np.int32), ValueError, "env_id 2 is named twice: name it once"),
    ([0, 1, 2, 0], ValueError, "4 environments named: name 1 to 3"),
    ([], ValueError, "no environment is named: name 1 or more"),
    ([[0]], ValueError, r"env_ids have shape \(1, 1\): give one axis"),
    ([0.0], TypeError, "env_ids have dtype float64: give integers"),
    ([True, False], TypeError, "env_ids have dtype bool: give integers"),
    (["0"], TypeError, "env_id='0' is a str: give an integer"),
    ([2**70], ValueError, f"env_id {2**70}: choose 0 to 2"),
    ({0}, TypeError, r"env_ids=\{0\} is a set: give an integer, or a list"),
]


@pytest.mark.parametrize(("env_ids", "error", "message"), IDS)
def test_wrong_env_ids_are_refused(env_ids: Any, error: type[Exception], message: str) -> None:
    count = np.atleast_1d(np.asarray(env_ids)).size
    calls = sends(np.zeros(count, int), env_ids)
    calls += [
        lambda pool: pool.send_reset(env_ids),
        lambda pool: pool.reset(env_ids, seed=5),
    ]
    assert_refused("CartPole-v1", calls, error, message)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("env_id", "message"),
    [(3, "env_id 3: choose 0 to 2"), (-1, "env_id -1"), (2**31 - 1, "env_id 2147483647")],
)
def test_wrong_env_ids_in_queries_are_refused(env_id: int, message: str) -> None:
    calls: list[Call] = [
        lambda pool: pool.get_state([0, env_id]),
        lambda pool: pool.get_state(np.array([env_id], np.int32)),
        lambda pool: pool.set_state([b"x"], [env_id]),
        lambda pool: pool.set_state([b"x"], np.array([env_id], np.int32)),
        lambda pool: pool.observe([env_id]),
        lambda pool: pool.observe(np.array([env_id], np.int32)),
        lambda pool: pool.render([env_id]),
        lambda pool: pool.needs_reset(env_id),
    ]
    assert_refused("Pong-v5", calls, ValueError, message)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_env_ids_of_every_integer_dtype_are_accepted(dtype: Any) -> None:
    with twins("CartPole-v1") as (pool, untouched):
        for _ in range(3):
            ours = pool.step([0, 1], np.array([2, 0], dtype))
            assert_same(ours, untouched.step([0, 1], [2, 0]), str(dtype))


# -------------------------------------------------------------------------------------- moments --


def test_recv_without_send_is_refused() -> None:
    message = "^0 environments are in flight, a batch needs 1: send first$"
    assert_refused("CartPole-v1", [lambda pool: pool.recv()], StateError, message)
    message = "no batch of 3 within 0 s: 0 environments are in flight"
    assert_refused("CartPole-v1", [lambda pool: pool.recv(timeout=0)], PoolTimeoutError, message)


@pytest.mark.parametrize(
    ("timeout", "error", "message"),
    [
        (-1, ValueError, "timeout=-1: choose 0 or more seconds, or None"),
        (float("nan"), ValueError, "timeout=nan: choose 0 or more seconds, or None"),
        ("1", TypeError, "timeout='1' is a str: give seconds"),
    ],
)
def test_wrong_timeouts_are_refused(timeout: Any, error: type[Exception], message: str) -> None:
    calls: list[Call] = [
        lambda pool: pool.recv(timeout=timeout),
        lambda pool: pool.step([0, 0, 0], timeout=timeout),
    ]
    assert_refused("CartPole-v1", calls, error, message)


def test_recv_with_fewer_in_flight_than_a_batch_is_refused() -> None:
    with Pool("CartPole-v1", 4, batch_size=3, num_threads=2, seed=0) as pool:
        id_column = [column.name for column in pool.columns].index("env_id")
        for sent in ([], [2], [0]):
            if sent:
                pool.send_reset(sent)
            count = pool.in_flight
            for _ in range(3):
                with pytest.raises(StateError, match=f"^{count} environments .* needs 3: send"):
                    pool.recv()
                with pytest.raises(PoolTimeoutError, match=f"within 0 s: {count} environments"):
                    pool.recv(timeout=0)
            assert pool.in_flight == count
        pool.send_reset([3])
        assert sorted(pool.recv()[id_column]) == [0, 2, 3]


@pytest.mark.parametrize("batch_size", [NUM_ENVS, 2])
def test_recv_with_a_timeout_waits_for_what_another_thread_sends(batch_size: int) -> None:
    with (
        Pool("CartPole-v1", NUM_ENVS, batch_size=batch_size, num_threads=2, seed=7) as pool,
        Pool("CartPole-v1", NUM_ENVS, seed=7) as untouched,
    ):
        with receiving(pool) as received:
            pool.send_reset(np.arange(batch_size))
        expected = untouched.reset(np.arange(batch_size))
        order = np.argsort(received[0][[c.name for c in pool.columns].index("env_id")])
        assert_same(tuple(array[order] for array in received[0]), tuple(expected), "received")


def test_sends_to_environments_in_flight_are_refused() -> None:
    with twins("CartPole-v1") as (pool, untouched):
        pool.reset()
        untouched.reset()
        actions = good_actions(pool, 1)
        for env_id in range(NUM_ENVS):
            pool.send(actions[[env_id]], [env_id])
        for attempt in range(500):
            # half of these have wrong actions too
            wrong: Any = actions if attempt % 2 else [99, 99, 99]
            with pytest.raises(StateError, match="environment 0 is already in flight: receive"):
                pool.send(wrong)
            with pytest.raises(StateError, match="environment 2 is already in flight: receive"):
                pool.send([1], [2])
        with pytest.raises(StateError, match=r"results .* pending \(3 environments\): receive"):
            pool.step(actions)
        assert pool.in_flight == NUM_ENVS
        assert_same(pool.recv(), untouched.step(actions), "received")
        assert_goes_on(pool, untouched)


def test_a_send_to_some_environments_in_flight_sends_to_none() -> None:
    with twins("CartPole-v1") as (pool, untouched):
        pool.reset()
        untouched.reset()
        pool.send([1], [1])
        for call in (
            lambda: pool.send([0, 0], [0, 1]),
            lambda: pool.send_reset([2, 0, 1], seed=[1, 2, 3]),
            lambda: pool.send([0, 0, 0]),
        ):
            with pytest.raises(StateError, match="environment 1 is already in flight"):
                call()
            assert pool.in_flight == 1
        # environment 2 is named twice: nothing is sent to environment 0 either
        with pytest.raises(ValueError, match="env_id 2 is named twice"):
            pool.send([0, 0, 0], [0, 2, 2])
        assert pool.in_flight == 1
        assert_same(pool.recv(), untouched.step([1], [1]), "received")
        assert_goes_on(pool, untouched)


@pytest.mark.parametrize("batch_size", [NUM_ENVS, 2])
def test_a_reset_of_environments_in_flight_is_refused(batch_size: int) -> None:
    """A refused reset changes neither seeds nor options."""
    with Pool("CartPole-v1", NUM_ENVS, batch_size=batch_size, num_threads=2, seed=7) as pool:
        pool.send_reset()
        for _ in range(50):
            for call in (
                lambda: pool.send_reset(),
                lambda: pool.send_reset(seed=99),
                lambda: pool.send_reset([1], options={"low": 0.0, "high": 0.01}),
                lambda: pool.reset(),
            ):
                with pytest.raises(StateError, match=r"environment [01] is already in flight"):
                    call()
        assert pool.in_flight == NUM_ENVS
        assert pool.seeds == [7, 8, 9]
        if batch_size < NUM_ENVS:
            id_column = [c.name for c in pool.columns].index("env_id")
            batch = pool.recv()
            ids = batch[id_column]
            (rest,) = set(range(NUM_ENVS)) - set(ids.tolist())
            with pytest.raises(StateError, match=f"environment {rest} is already in flight"):
                pool.send_reset()
            assert pool.in_flight == 1
            pool.send_reset([ids[0]])
            # the two environments of this batch may be in either order
            other = pool.recv()
            rows = np.concatenate([batch[0], other[0]])
            ids = np.concatenate([ids, other[id_column]])
        else:
            rows, ids = pool.recv()[0], np.arange(NUM_ENVS)
        with Pool("CartPole-v1", NUM_ENVS, seed=7) as untouched:
            for env_id, obs in enumerate(untouched.reset()[0]):
                assert_same(rows[ids == env_id][0], obs, f"environment {env_id}")


def test_an_unordered_pool_refuses_a_step_of_all_environments() -> None:
    with Pool("CartPole-v1", 4, batch_size=2, num_threads=2, seed=0) as pool:
        names = [column.name for column in pool.columns]
        id_column, elapsed = names.index("env_id"), names.index("elapsed_step")
        pool.send_reset()
        ids = pool.recv()[id_column]
        longest = 0
        for _ in range(20):
            with pytest.raises(StateError, match="is already in flight: receive its result"):
                pool.step([0, 0, 0, 0])
            with pytest.raises(ValueError, match=r"shape \(2,\): 4 environments take \(4,\)"):
                pool.step([0, 0])
            with pytest.raises(ValueError, match="outside its space"):
                pool.step([0, 2], ids)
            assert pool.in_flight == 2
            batch = pool.step([0, 1], ids)
            ids = batch[id_column]
            assert len(set(ids.tolist())) == 2
            # the last batch may hold only environments that began an episode
            longest = max(longest, int(max(batch[elapsed])))
        pool.recv()
        assert pool.in_flight == 0
        # a step of fewer environments than a batch holds is refused
        with pytest.raises(StateError, match="1 environments with 0 in flight gives no batch"):
            pool.step([0], [0])
        assert pool.in_flight == 0
        assert longest > 0


def test_queries_of_an_environment_in_flight_are_refused() -> None:
    with twins("Pong-v5") as (pool, untouched):
        state = pool.get_state([1])
        pool.send_reset([1])
        for call in (
            lambda: pool.get_state(),
            lambda: pool.set_state(state, [1]),
            lambda: pool.observe([1]),
            lambda: pool.render([1]),
            lambda: pool.needs_reset(1),
        ):
            with pytest.raises(StateError, match="environment 1 is in flight: receive its result"):
                call()
        assert_same(pool.recv(), untouched.reset([1]), "received")
        assert_goes_on(pool, untouched)


def test_without_autoreset_a_step_of_an_ended_episode_is_refused() -> None:
    with twins("CartPole-v1", autoreset="disabled", max_episode_steps=2) as (pool, untouched):
        for call in sends([0, 0, 0]):
            with pytest.raises(StateError, match="environment 0 is not reset and autoreset is dis"):
                call(pool)
        assert_same(pool.reset(), untouched.reset(), "reset")
        assert_goes_on(pool, untouched, rounds=2)
        for call in sends([0, 0, 0]):
            with pytest.raises(StateError, match=r"environment 0 has ended its episode .* reset"):
                call(pool)
        assert_same(pool.reset(), untouched.reset(), "reset")
        assert_goes_on(pool, untouched, rounds=2)


def test_a_closed_pool_refuses_every_call() -> None:
    pool = Pool("Pong-v5", NUM_ENVS, num_threads=2, seed=0)
    states = pool.get_state()
    kept = pool.reset()
    copies = [array.copy() for array in kept]
    pool.send([0, 0, 0])
    assert not pool.closed
    for _ in range(3):
        pool.close()
        assert pool.closed
    calls: list[Callable[[], Any]] = [
        lambda: pool.step([0, 0, 0]),
        lambda: pool.step([0, 0, 0], timeout=600),
        lambda: pool.step([0], [1]),
        lambda: pool.send([0, 0, 0]),
        lambda: pool.recv(),
        lambda: pool.recv(timeout=600),
        lambda: pool.reset(),
        lambda: pool.send_reset(seed=1, options={}),
        lambda: pool.get_state(),
        lambda: pool.set_state(states),
        lambda: pool.observe(),
        lambda: pool.render(),
        lambda: pool.needs_reset(0),
    ]
    for call in calls * 2:
        with pytest.raises(ClosedError, match="the pool is closed: make a new one"):
            call()
    assert_same(tuple(kept), tuple(copies), "held")
    with pytest.raises(ClosedError), Pool("CartPole-v1") as other:
        other.close()
        other.step([0])


# ------------------------------------------------------------------------------------ the rest --


@pytest.mark.parametrize(
    "function", [pickle.dumps, copy.copy, copy.deepcopy], ids=lambda function: function.__name__
)
def test_a_pool_cannot_be_pickled_or_copied(function: Callable[[Any], Any]) -> None:
    message = "holds threads and cannot be pickled or copied: make a new one"
    assert_refused("CartPole-v1", [function], TypeError, message)


def test_render_of_an_environment_without_pictures_is_refused() -> None:
    message = "CartPole-v1 draws no pictures: .*make_vec"
    assert_refused("CartPole-v1", [lambda pool: pool.render()], StateError, message)
    with Pool("Pong-v5", 2, seed=0) as pool:
        pool.reset()
        assert pool.render().shape == (2, 210, 160, 3)


def test_snapshots_of_other_environments_and_damaged_ones_are_refused() -> None:
    with Pool("Acrobot-v1", 1) as other:
        foreign = other.get_state()[0]
    with Pool("CartPole-v1", 1, options={"sutton_barto_reward": True}) as other:
        unlike = other.get_state()[0]
    with twins("CartPole-v1") as (pool, untouched):
        assert_same(pool.reset(), untouched.reset(), "reset")
        (own,) = pool.get_state([0])
        for state in (b"", b"x", own[:-1], own + b"x", foreign, unlike, bytes(len(own))):
            with pytest.raises(ValueError, match=r"snapshot|bytes"):
                pool.set_state([state], [0])
            assert_goes_on(pool, untouched)
        with pytest.raises(ValueError, match="1 states for 3 environments: give one for each"):
            pool.set_state([own])
        assert_goes_on(pool, untouched)
