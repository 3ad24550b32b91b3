"""Misuse: every wrong call is an exception that says what to do, and the pool is as it was before.

"As it was" is proven each time: the pool goes on beside one that was never misused, bit for bit.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.machinery
import importlib.util
import itertools
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool._native import ffi, lib, new_error, text
from parallel_pool.envs import atari
from parallel_pool.errors import (
    ClosedError,
    MissingDependencyError,
    PoolError,
    PoolTimeoutError,
    StateError,
)
from parallel_pool.pool import MAX_ENVS, Pool
from tests.same import assert_same

NUM_ENVS = 3

Call = Callable[[Pool], Any]


def good_actions(pool: Pool, round_: int) -> np.ndarray[Any, Any]:
    """Actions of the space, others in each round."""
    field = pool.spec.action
    count = np.arange(NUM_ENVS) + round_
    if field.dtype.kind == "f":
        return (np.sin(count).astype(np.float32) * 2).reshape(NUM_ENVS, *field.shape)
    return count % field.n


@contextlib.contextmanager
def twins(env_id: str, **options: Any) -> Iterator[tuple[Pool, Pool]]:
    """A pool to misuse and one to compare it with."""
    options = {"num_threads": 2, "seed": 7, "statistics": True, **options}
    with Pool(env_id, NUM_ENVS, **options) as pool, Pool(env_id, NUM_ENVS, **options) as untouched:
        yield pool, untouched


def assert_goes_on(pool: Pool, untouched: Pool, rounds: int = 3) -> None:
    assert pool.in_flight == untouched.in_flight == 0
    for round_ in range(rounds):
        actions = good_actions(pool, round_)
        assert_same(pool.step(actions), untouched.step(actions), f"round {round_}")


def assert_refused(
    env_id: str, calls: list[Call], error: type[Exception], message: str, **options: Any
) -> None:
    """Each call is refused: before the first reset, after it, and in an episode, twice each."""
    with twins(env_id, **options) as (pool, untouched):
        for moment in ("fresh", "reset", "stepped"):
            if moment == "reset":
                assert_same(pool.reset(), untouched.reset(), moment)
            for call in calls * 2:
                with pytest.raises(error, match=message) as caught:
                    call(pool)
                # not one of its children, which would say something else
                assert caught.type is error
                assert pool.in_flight == 0
            if moment != "reset":
                assert_goes_on(pool, untouched)
        assert_goes_on(pool, untouched, rounds=20)


def sends(actions: Any, env_ids: Any = None) -> list[Call]:
    """All ways to send actions."""
    return [
        lambda pool: pool.step(actions, env_ids),
        lambda pool: pool.step(actions, env_ids, timeout=600),
        lambda pool: pool.send(actions, env_ids),
    ]


# ------------------------------------------------------------------------------------ actions --

SHAPES = [
    ("CartPole-v1", [0, 1], r"shape \(2,\): 3 environments take \(3,\)"),
    ("CartPole-v1", [0, 1, 0, 1], r"shape \(4,\): 3 environments take \(3,\)"),
    ("CartPole-v1", [], r"shape \(0,\): 3 environments take \(3,\)"),
    ("CartPole-v1", np.array(1), r"shape \(\): 3 environments take \(3,\)"),
    ("CartPole-v1", np.zeros((3, 1), int), r"shape \(3, 1\): 3 environments take \(3,\)"),
    ("CartPole-v1", np.zeros((1, 3), int), r"shape \(1, 3\): 3 environments take \(3,\)"),
    ("Pendulum-v1", np.zeros(3, np.float32), r"shape \(3,\): 3 environments take \(3, 1\)"),
    ("Pendulum-v1", np.zeros((2, 1), np.float32), r"shape \(2, 1\): 3 environments take \(3, 1\)"),
    ("Pendulum-v1", np.zeros((4, 1), np.float32), r"shape \(4, 1\): 3 environments take \(3, 1\)"),
    ("Pendulum-v1", np.zeros((3, 3), np.float32), r"shape \(3, 3\): 3 environments take \(3, 1\)"),
    ("Pendulum-v1", [[0.5], [0.5, 1.0], [0.5]], r"make no array: give one action of shape \(1,\)"),
    ("Pendulum-v1", [[0.5], np.ones(2), [0.5]], r"actions\[1\] is a ndarray .* of shape \(2,\)"),
    ("Pong-v5", np.zeros(2, int), r"shape \(2,\): 3 environments take \(3,\)"),
]


@pytest.mark.parametrize(("env_id", "actions", "message"), SHAPES)
def test_shapes_of_actions(env_id: str, actions: Any, message: str) -> None:
    assert_refused(env_id, sends(actions), ValueError, message)


@pytest.mark.parametrize(
    ("count", "env_ids", "message"),
    [
        (1, [0, 2], r"shape \(1,\): 2 environments take \(2,\)"),
        (3, [0, 2], r"shape \(3,\): 2 environments take \(2,\)"),
        (2, 1, r"shape \(2,\): 1 environments take \(1,\)"),
    ],
)
def test_actions_for_more_or_fewer_than_are_named(count: int, env_ids: Any, message: str) -> None:
    assert_refused("CartPole-v1", sends(np.zeros(count, int), env_ids), ValueError, message)


class OnGpu:
    """As a tensor on a GPU, or one that needs its gradient."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def cpu(self) -> Any:
        raise NotImplementedError


NO_SEQUENCES = [
    (None, "are None, which holds no actions: give an array or a list of 3 actions"),
    (1, "are a int, 1, which holds no actions: give an array or a list of 3 actions"),
    (np.float32(0), "are a float32 of dtype float32 and shape .*, which holds no actions"),
    ("010", "are a str, '010', which holds no actions"),
    (b"010", "are a bytes, b'010', which holds no actions"),
    ({0, 1, 2}, "are a set, {0, 1, 2}, which has no order"),
    ({0: 1, 1: 0, 2: 1}, "are a dict, {0: 1, 1: 0, 2: 1}, which has no order"),
    (itertools.repeat(0), "are a repeat, .* which has no length"),
    ((i for i in range(3)), "are a generator, .* which has no length"),
    ({0: 1, 1: 0, 2: 1}.values(), "are a dict_values, .* which is no sequence"),
    (OnGpu(), r"OnGpu that NumPy can't read: give actions\.detach\(\)\.cpu\(\)\.numpy\(\)"),
]


@pytest.mark.parametrize(("actions", "message"), NO_SEQUENCES)
def test_what_is_no_sequence_of_actions(actions: Any, message: str) -> None:
    assert_refused("CartPole-v1", sends(actions), TypeError, message)


def test_a_tensor_that_needs_its_gradient() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.zeros((3, 1), requires_grad=True)
    message = r"actions are a torch\.Tensor that NumPy can't read: give actions\.detach\(\)"
    assert_refused("Pendulum-v1", sends(tensor), TypeError, message)
    with twins("Pendulum-v1") as (pool, untouched):
        pool.reset(), untouched.reset()
        expected = untouched.step(tensor.detach().numpy())
        assert_same(pool.step(tensor.detach()), expected, "a tensor")


def test_actions_without_an_end_are_refused() -> None:
    class Liar(list[int]):
        """Says that it has three, and has one after another."""

        def __iter__(self) -> Any:
            return itertools.count()

    message = "more than 3 actions: give one for each of 3 environments"
    assert_refused("CartPole-v1", sends(Liar([0, 1, 0])), ValueError, message)


def test_masked_actions() -> None:
    masked = np.ma.array([0, 1, 0], mask=[False, True, True])
    message = r"masked array, 2 of whose numbers are masked: give actions\.filled\(value\)"
    assert_refused("CartPole-v1", sends(masked), ValueError, message)
    assert_as_good("CartPole-v1", np.array([0, 1, 0]), [np.ma.array([0, 1, 0])])


OUTSIDE = [
    ("CartPole-v1", [99, 0, 0], "action 99 of environment 0 is outside .* choose 0 to 1"),
    ("CartPole-v1", [0, -1, 0], "action -1 of environment 1 is outside .* choose 0 to 1"),
    ("CartPole-v1", [0, 0, 2**31 - 1], "action 2147483647 of environment 2 .* choose 0 to 1"),
    ("CartPole-v1", [-100000, 0, 0], "action -100000 of environment 0 .* choose 0 to 1"),
    ("CartPole-v1", np.array([0, 2**32, 0]), "action 4294967296 of environment 1"),
    ("CartPole-v1", np.array([0, -(2**63), 0]), "action -9223372036854775808 of environment 1"),
    # the largest that C takes stands for all beyond
    ("CartPole-v1", np.array([0, 1, 2**63], np.uint64), f"action {2**63 - 1} of environment 2"),
    ("CartPole-v1", np.array([0, 2**64 - 1, 0], np.uint64), f"action {2**63 - 1} of environment 1"),
    ("CartPole-v1", np.array([0, 255, 0], np.uint8), "action 255 of environment 1"),
    ("CartPole-v1", np.array([0, 0, -1], np.int32), "action -1 of environment 2"),
    ("CartPole-v1", np.array([0, 0, -1], np.int8), "action -1 of environment 2"),
    ("Pong-v5", [0, 99, 0], "action 99 of environment 1 is outside its space: choose 0 to 5"),
    ("Pong-v5", [0, 0, 6], "action 6 of environment 2 is outside its space: choose 0 to 5"),
    ("Pong-v5", [-1, 0, 0], "action -1 of environment 0 is outside its space: choose 0 to 5"),
]


@pytest.mark.parametrize(("env_id", "actions", "message"), OUTSIDE)
def test_discrete_actions_outside_their_space(env_id: str, actions: Any, message: str) -> None:
    assert_refused(env_id, sends(actions), ValueError, message)


def test_the_environment_that_an_action_was_for_is_named() -> None:
    calls = sends([1, 5], [2, 0])
    assert_refused("CartPole-v1", calls, ValueError, "action 5 of environment 0 is outside")


@pytest.mark.parametrize(
    ("env_id", "actions", "dtype"),
    [
        ("CartPole-v1", np.array([0.0, 1.0, 0.0]), "float64: give integers"),
        ("CartPole-v1", np.array([0.0, 1.7, 0.0], np.float32), "float32: give integers"),
        ("CartPole-v1", [0.0, 1.0, 0.0], "float64: give integers"),
        ("CartPole-v1", np.array([0, np.nan, 0]), "float64: give integers"),
        ("CartPole-v1", np.array([True, False, True]), "bool: give integers"),
        ("CartPole-v1", np.zeros(3, complex), "complex128: give integers"),
        ("CartPole-v1", np.array([0.5, 1, 0], object), "float64: give integers"),
        ("CartPole-v1", np.zeros(3, "M8[s]"), r"datetime64\[s\]: give integers"),
        ("CartPole-v1", ["0", "1", "0"], "<U1: give integers"),
        ("Pong-v5", np.zeros(3), "float64: give integers"),
        ("Pendulum-v1", np.ones((3, 1), object), "object: give real numbers"),
        ("Pendulum-v1", np.ones((3, 1), np.longdouble), "float128: .* in float16, float32 and fl"),
        ("Pendulum-v1", np.ones((3, 1), complex), "complex128: give real numbers"),
        ("Pendulum-v1", [["a"], ["b"], ["c"]], "<U1: give real numbers"),
        ("Pendulum-v1", [[0.0], [None], [0.0]], "object: give real numbers"),
    ],
)
def test_dtypes_of_actions(env_id: str, actions: Any, dtype: str) -> None:
    assert_refused(env_id, sends(actions), TypeError, rf"actions(\[\d\] has| have) dtype {dtype}")


@pytest.mark.parametrize("wrong", [2**70, -(2**70)])
def test_integers_of_more_than_64_bits(wrong: int) -> None:
    for env_id, actions in (("CartPole-v1", [0, wrong, 0]), ("Pendulum-v1", [[0], [wrong], [0]])):
        assert_refused(env_id, sends(actions), ValueError, "hold an integer of more than 64 bits")
    big = np.array([[0], [2**62], [0]])
    assert_refused("Pendulum-v1", sends(big), ValueError, f"actions hold {2**62}: choose")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, None])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_box_actions_that_are_not_finite(dtype: Any, wrong: float) -> None:
    actions: Any = [[0.5], [wrong], [0.5]]
    if dtype:
        actions = np.array(actions, dtype)
    message = r"the action of environment 1 is not finite \(element 0\): send finite numbers"
    assert_refused("Pendulum-v1", sends(actions), ValueError, message)


@pytest.mark.parametrize("env_id", ["Pendulum-v1", "MountainCarContinuous-v0"])
def test_finite_box_actions_out_of_bounds_are_the_references(env_id: str) -> None:
    wild = [
        1e39,
        -1e150,
        50,
        -50,
        2.0000002,
        -1.0000001,
        1e6,
        -1e30,
        3.4028235e38,
        -3.4028235e38,
        1e-45,
        -0.0,
    ]
    reference = [gymnasium.make(env_id) for _ in range(NUM_ENVS)]
    with Pool(env_id, NUM_ENVS, seed=3, reward_dtype="float64") as pool:
        names = [column.name for column in pool.columns]
        pool.reset()
        for i, env in enumerate(reference):
            env.reset(seed=3 + i)
        for at in range(3 * len(wild)):
            row = [[wild[(at + i) % len(wild)]] for i in range(NUM_ENVS)]
            actions = np.clip(np.array(row), -3.4e38, 3.4e38).astype(np.float32)
            if at % 2:
                actions = np.array(row)
            batch = dict(zip(names, pool.step(actions), strict=True))
            for i, env in enumerate(reference):
                obs, reward, terminated, truncated, _ = env.step(actions[i])
                assert_same(batch["obs"][i], obs, f"{env_id} {at}")
                assert batch["reward"][i] == reward
                assert (batch["terminated"][i], batch["truncated"][i]) == (terminated, truncated)
    for env in reference:
        env.close()


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def assert_as_good(env_id: str, good: Any, others: list[Any]) -> None:
    """Each of these arrays does what the good one does."""
    with twins(env_id) as (pool, untouched):
        assert_same(pool.reset(), untouched.reset(), "reset")
        for other in others * 2:
            assert_same(pool.step(other), untouched.step(good), repr(other))
            pool.send(other)
            untouched.send(good)
            assert_same(pool.recv(), untouched.recv(), repr(other))


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pong-v5"])
def test_every_integer_width_and_lists_are_taken(env_id: str) -> None:
    good = np.array([1, 0, 1])
    read_only = np.array([1, 0, 1])
    read_only.flags.writeable = False
    others: list[Any] = [np.array([1, 0, 1], dtype) for dtype in INTEGERS]
    others += [[1, 0, 1], (1, 0, 1), [np.int64(1), np.uint8(0), 1]]
    others += [np.array([1, 9, 0, 9, 1])[::2], np.array([1, 0, 1])[::-1], read_only]
    others += [np.array([1, 0, 1], ">i8"), np.array([1, 0, 1], ">u2")]
    assert_as_good(env_id, good, others)


def test_every_real_dtype_is_taken_for_a_box() -> None:
    """Each computes as NumPy has it, which takes integers for float64: tests/parity/test_actions"""
    good = np.array([[1], [0], [-1]], np.float64)
    signed = [dtype for dtype in INTEGERS if np.dtype(dtype).kind == "i"]
    others: list[Any] = [good.astype(dtype) for dtype in signed]
    others += [[[1], [0], [-1]], [[1.0], [0.0], [-1.0]], np.asfortranarray(good)]
    others += [good.astype(">f8"), np.array([[1, 9], [0, 9], [-1, 9]], np.float64)[:, :1]]
    assert_as_good("Pendulum-v1", good, others)
    good = np.array([[1], [0], [1]], np.float64)
    assert_as_good("Pendulum-v1", good, [good.astype(dtype) for dtype in [*INTEGERS, np.bool_]])
    good = np.array([[1], [0], [-1]], np.float32)
    assert_as_good("Pendulum-v1", good, [good.astype(">f4"), list(good), [[x] for (x,) in good]])


def test_actions_are_copied_when_they_are_sent() -> None:
    with twins("Pendulum-v1") as (pool, untouched):
        pool.reset()
        untouched.reset()
        for round_ in range(3):
            actions = good_actions(pool, round_)
            sent = actions.copy()
            pool.send(sent)
            sent[:] = np.nan
            assert_same(pool.recv(), untouched.step(actions), f"round {round_}")


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
def test_ids_of_environments(env_ids: Any, error: type[Exception], message: str) -> None:
    count = np.atleast_1d(np.asarray(env_ids)).size
    calls = sends(np.zeros(count, int), env_ids)
    calls += [
        lambda pool: pool.send_reset(env_ids),
        lambda pool: pool.reset(env_ids, seed=5),
    ]
    assert_refused("CartPole-v1", calls, error, message)


@pytest.mark.parametrize(
    ("env_id", "message"),
    [(3, "env_id 3: choose 0 to 2"), (-1, "env_id -1"), (2**31 - 1, "env_id 2147483647")],
)
def test_ids_in_questions(env_id: int, message: str) -> None:
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
def test_ids_of_every_integer_width(dtype: Any) -> None:
    with twins("CartPole-v1") as (pool, untouched):
        for _ in range(3):
            ours = pool.step([0, 1], np.array([2, 0], dtype))
            assert_same(ours, untouched.step([0, 1], [2, 0]), str(dtype))


# -------------------------------------------------------------------------------------- moments --


def test_recv_without_send() -> None:
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
def test_timeouts(timeout: Any, error: type[Exception], message: str) -> None:
    calls: list[Call] = [
        lambda pool: pool.recv(timeout=timeout),
        lambda pool: pool.step([0, 0, 0], timeout=timeout),
    ]
    assert_refused("CartPole-v1", calls, error, message)


def test_recv_with_too_few_in_flight_asynchronously() -> None:
    with Pool("CartPole-v1", 4, batch_size=3, num_threads=2, seed=0) as pool:
        place = [column.name for column in pool.columns].index("env_id")
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
        assert sorted(pool.recv()[place]) == [0, 2, 3]


@pytest.mark.parametrize("batch_size", [NUM_ENVS, 2])
def test_recv_with_a_timeout_waits_for_what_another_thread_sends(batch_size: int) -> None:
    with (
        Pool("CartPole-v1", NUM_ENVS, batch_size=batch_size, num_threads=2, seed=7) as pool,
        Pool("CartPole-v1", NUM_ENVS, seed=7) as untouched,
    ):
        received: list[Any] = []

        def receive() -> None:
            while not received:
                # the main thread may be the one that is receiving
                with contextlib.suppress(StateError):
                    received.append(pool.recv(timeout=600))

        thread = threading.Thread(target=receive)
        thread.start()
        # as soon as it is refused, the other thread is waiting
        waiting = False
        while not waiting:
            try:
                pool.recv(timeout=0)
            except PoolTimeoutError:
                pass
            except StateError:
                waiting = True
        pool.send_reset(np.arange(batch_size))
        thread.join(600)
        expected = untouched.reset(np.arange(batch_size))
        order = np.argsort(received[0][[c.name for c in pool.columns].index("env_id")])
        assert_same(tuple(array[order] for array in received[0]), tuple(expected), "received")


def test_many_sends_without_recv() -> None:
    with twins("CartPole-v1") as (pool, untouched):
        pool.reset()
        untouched.reset()
        actions = good_actions(pool, 1)
        for env_id in range(NUM_ENVS):
            pool.send(actions[[env_id]], [env_id])
        for attempt in range(500):
            # each of these would be wrong in another way too
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


def test_sending_to_some_in_flight_sends_to_none() -> None:
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
        # environment 2 is named twice, so that environment 0 is not sent to either
        with pytest.raises(ValueError, match="env_id 2 is named twice"):
            pool.send([0, 0, 0], [0, 2, 2])
        assert pool.in_flight == 1
        assert_same(pool.recv(), untouched.step([1], [1]), "received")
        assert_goes_on(pool, untouched)


@pytest.mark.parametrize("batch_size", [NUM_ENVS, 2])
def test_reset_twice(batch_size: int) -> None:
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
            batch = pool.recv()
            ids = batch[[c.name for c in pool.columns].index("env_id")]
            (rest,) = set(range(NUM_ENVS)) - set(ids.tolist())
            with pytest.raises(StateError, match=f"environment {rest} is already in flight"):
                pool.send_reset()
            assert pool.in_flight == 1
            pool.send_reset([ids[0]])
            rows = np.concatenate([batch[0], pool.recv()[0]])
            ids = np.concatenate([ids, [rest, ids[0]]])
        else:
            rows, ids = pool.recv()[0], np.arange(NUM_ENVS)
        with Pool("CartPole-v1", NUM_ENVS, seed=7) as untouched:
            for env_id, obs in enumerate(untouched.reset()[0]):
                assert_same(rows[ids == env_id][0], obs, f"environment {env_id}")


def test_step_of_all_environments_asynchronously() -> None:
    with Pool("CartPole-v1", 4, batch_size=2, num_threads=2, seed=0) as pool:
        names = [column.name for column in pool.columns]
        place, elapsed = names.index("env_id"), names.index("elapsed_step")
        pool.send_reset()
        ids = pool.recv()[place]
        for _ in range(20):
            with pytest.raises(StateError, match="is already in flight: receive its result"):
                pool.step([0, 0, 0, 0])
            with pytest.raises(ValueError, match=r"shape \(2,\): 4 environments take \(4,\)"):
                pool.step([0, 0])
            with pytest.raises(ValueError, match="outside its space"):
                pool.step([0, 2], ids)
            assert pool.in_flight == 2
            batch = pool.step([0, 1], ids)
            ids = batch[place]
            assert len(set(ids.tolist())) == 2
        pool.recv()
        assert pool.in_flight == 0
        # a step of fewer than a batch gives nothing back
        with pytest.raises(StateError, match="1 environments with 0 in flight gives no batch"):
            pool.step([0], [0])
        assert pool.in_flight == 0
        assert max(batch[elapsed]) > 0


def test_questions_about_an_environment_in_flight() -> None:
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


def test_steps_without_autoreset() -> None:
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


def test_closed() -> None:
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


# ------------------------------------------------------------------------------------- making --

MAKING: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"num_envs": 0}, ValueError, "num_envs=0: choose 1 or more"),
    ({"num_envs": -1}, ValueError, "num_envs=-1: choose 1 or more"),
    ({"num_envs": 2**24 + 1, "seed": 0}, ValueError, "num_envs=16777217: choose 1 to 16777216"),
    ({"num_envs": 2**31 - 1}, ValueError, "num_envs=2147483647: choose 1 to 16777216"),
    ({"num_envs": 2**70}, ValueError, "num_envs=1180591620717411303424: choose 1 to 16777216"),
    ({"num_envs": 3.0}, TypeError, "num_envs=3.0 is a float: give an integer"),
    ({"num_envs": True}, TypeError, "num_envs=True is a bool: give an integer"),
    ({"num_envs": "3"}, TypeError, "num_envs='3' is a str: give an integer"),
    ({"num_envs": None}, TypeError, "num_envs=None is a NoneType: give an integer"),
    (
        {"num_envs": 2, "batch_size": 3},
        ValueError,
        "batch_size=3 > num_envs=2: choose batch_size <= num_envs",
    ),
    ({"batch_size": -1}, ValueError, "batch_size=-1: choose 1 or more"),
    ({"batch_size": 1.5}, TypeError, "batch_size=1.5 is a float: give an integer"),
    ({"num_threads": -1}, ValueError, "num_threads=-1: choose 0 or more"),
    ({"num_threads": 2**31 - 1}, ValueError, "num_threads=2147483647: choose 1 to 1024, or 0"),
    ({"num_threads": 2.0}, TypeError, "num_threads=2.0 is a float: give an integer"),
    ({"thread_affinity_offset": -2}, ValueError, "thread_affinity_offset=-2: choose -1 or more"),
    ({"autoreset": "later"}, ValueError, "autoreset='later': choose 'next_step' or 'same_step'"),
    ({"autoreset": ["same_step"]}, ValueError, r"autoreset=\['same_step'\]: choose 'next_step'"),
    ({"max_episode_steps": -1}, ValueError, "max_episode_steps=-1: choose 0 or more"),
    ({"max_episode_steps": 2**31}, ValueError, "max_episode_steps=2147483648: choose 0 to 2147"),
    ({"max_episode_steps": 1.5}, TypeError, "max_episode_steps=1.5 is a float: give an integer"),
    ({"reward_dtype": "int8"}, ValueError, "reward_dtype='int8': choose 'float32' or 'float64'"),
    ({"seed": -1}, ValueError, "seed=-1: choose 0 or more"),
    ({"seed": [3, -4]}, ValueError, "seed=-4: choose 0 or more"),
    ({"seed": 1.5}, TypeError, "seed=1.5 is a float: give an integer"),
    ({"seed": np.array([1.0, 2.0])}, TypeError, "is a float64: give an integer"),
    ({"seed": True}, TypeError, "seed=True is a bool: give an integer"),
    ({"seed": "1"}, TypeError, "seed='1' is a str: give an integer"),
    ({"seed": [1]}, ValueError, "1 seeds for 2 environments: give one for each"),
    ({"seed": [1, 2, 3]}, ValueError, "3 seeds for 2 environments: give one for each"),
    ({"seed": [1, 2**512]}, ValueError, "seed of environment 1 has 544 bits: choose .* 512 bits"),
    ({"options": {"gravity": 1}}, TypeError, "CartPole-v1 has no option gravity: it has sutton"),
    ({"options": {1: 1}}, TypeError, "CartPole-v1 has no option 1: it has sutton"),
    ({"options": {"sutton_barto_reward": 1}}, TypeError, "reward=1 is a int: give True or False"),
    ({"options": [("a", 1)]}, TypeError, r"options=\[\('a', 1\)\] is a list: give a dict"),
    ({"options": "ab"}, TypeError, "options='ab' is a str: give a dict"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), MAKING)
def test_making(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        Pool("CartPole-v1", **{"num_envs": 2, **arguments})
    assert caught.type is error
    with Pool("CartPole-v1", 2, seed=0) as pool:
        assert pool.reset()[0].shape == (2, 4)


def test_largest_number_of_environments_is_the_engines() -> None:
    definition = Pool("CartPole-v1").definition
    values = definition.configure().values.raw
    options = ffi.new("pp_pool_options *", {"num_envs": MAX_ENVS + 1, "batch_size": 1})
    out, error = ffi.new("pp_pool **"), new_error()
    assert lib.pp_pool_create(definition.raw, values, options, out, error) == lib.PP_ERR_ARGUMENT
    assert text(error.text) == f"num_envs={MAX_ENVS + 1}: choose 1 to {MAX_ENVS}"


def test_far_too_many_seeds_are_not_listed() -> None:
    with pytest.raises(ValueError, match="num_envs=2147483647: choose 1 to 16777216"):
        parallel_pool.make_spec("CartPole-v1", num_envs=2**31 - 1, seed=0)


OPTIONS: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("Pendulum-v1", {"g": "10"}, TypeError, "g='10' is a str: give a number"),
    ("Pendulum-v1", {"g": True}, TypeError, "g=True is a bool: give a number"),
    ("Pendulum-v1", {"g": np.nan}, ValueError, "g=nan: choose"),
    ("Pendulum-v1", {"g": -np.inf}, ValueError, "g=-inf: choose"),
    ("Pendulum-v1", {"g": 10**400}, ValueError, "g=inf: choose"),
    ("Pendulum-v1", {"gravity": 1.0}, TypeError, "Pendulum-v1 has no option gravity: it has g"),
    ("Pong-v5", {"stack_num": 0}, ValueError, "stack_num=0: choose 1 to 64"),
    ("Pong-v5", {"stack_num": 2**70}, ValueError, "stack_num=1180591620717411303424: choose 1 to"),
    ("Pong-v5", {"stack_num": 4.0}, TypeError, "stack_num=4.0 is a float: give an integer"),
    ("Pong-v5", {"noop_max": 0}, ValueError, "noop_max=0: choose 1 to"),
    ("Pong-v5", {"noop_max": -1}, ValueError, "noop_max=-1: choose 1 to"),
    ("Pong-v5", {"img_height": 0}, ValueError, "img_height=0: choose 1 to"),
    ("Pong-v5", {"img_width": -84}, ValueError, "img_width=-84: choose 1 to"),
    ("Pong-v5", {"img_width": 10**9}, ValueError, "img_width=1000000000: choose 1 to"),
    ("Pong-v5", {"frame_skip": -1}, ValueError, "frame_skip=-1: choose 0 to"),
    ("Pong-v5", {"repeat_action_probability": 7}, ValueError, "probability=7.0: choose 0 to 1"),
    ("Pong-v5", {"repeat_action_probability": np.nan}, ValueError, "probability=nan: choose 0"),
    ("Pong-v5", {"mode": 99}, ValueError, "Pong-v5: mode=99: choose -1, 0, 1"),
    ("Pong-v5", {"difficulty": 77}, ValueError, "Pong-v5: difficulty=77: choose -1, 0, 1, 2, 3"),
    ("Pong-v5", {"episodic_life": 1}, TypeError, "episodic_life=1 is a int: give True or False"),
    ("Pong-v5", {"img_heigth": 84}, TypeError, "Pong-v5 has no option img_heigth: it has .*img_h"),
    ("Pong-v5", {"rom": "pong.bin"}, TypeError, "rom='pong.bin' is a str: give bytes"),
    ("Pong-v5", {"rom": b""}, ValueError, "rom of pong has 0 bytes: choose one of 2048"),
    ("Pong-v5", {"rom": bytes(4095)}, ValueError, "rom of pong has 4095 bytes: choose"),
    ("test/Fault-v0", {"fail_on": "never"}, ValueError, "fail_on='never': choose none, step"),
]


@pytest.mark.parametrize(("env_id", "options", "error", "message"), OPTIONS)
def test_options(
    env_id: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        Pool(env_id, 2, options=options)
    assert caught.type is error
    with Pool(env_id, 2, seed=0) as pool:
        assert len(pool.reset()[0]) == 2


RESETS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"seed": -1}, ValueError, "seed=-1: choose 0 or more"),
    ({"seed": [1, 2]}, ValueError, "2 seeds for 3 environments: give one for each"),
    ({"seed": [1, 2, 3.0]}, TypeError, "seed=3.0 is a float: give an integer"),
    ({"seed": [1, 2, 2**512]}, ValueError, "seed of environment 2 has 544 bits: choose one of at"),
    ({"options": {"lower": 0.0}}, TypeError, "reset of CartPole-v1 has no option lower: it has h"),
    ({"options": {"low": "0"}}, TypeError, "low='0' is a str: give a number"),
    ({"options": {"low": np.nan}}, ValueError, "low=nan: choose"),
    ({"options": {"low": 2.0, "high": 1.0}}, ValueError, "low=2, high=1: choose low <= high"),
    ({"seed": 4, "options": {"low": 2.0, "high": 1.0}}, ValueError, "choose low <= high"),
    ({"options": ["low"]}, TypeError, r"options=\['low'\] is a list: give a dict"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), RESETS)
def test_resets(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    calls: list[Call] = [
        lambda pool: pool.reset(**arguments),
        lambda pool: pool.send_reset(**arguments),
        # what comes next would show a seed or an option that stayed behind
        lambda pool: pool.send_reset([0, 1, 2], **arguments),
    ]
    assert_refused("CartPole-v1", calls, error, message, max_episode_steps=4)


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("CartPole-v2", "no environment 'CartPole-v2': did you mean CartPole-v1"),
        ("cartpole-v1", "no environment 'cartpole-v1': did you mean CartPole-v1"),
        ("ALE/Pung-v5", "no environment 'ALE/Pung-v5': did you mean ALE/Pong-v5"),
        ("quite another", "no environment 'quite another': see parallel_pool.list_all_envs"),
        ("", "no environment '': see parallel_pool.list_all_envs"),
    ],
)
def test_unknown_ids(env_id: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pool(env_id)


@pytest.mark.parametrize("wrong", [None, 3, b"CartPole-v1"])
def test_what_is_no_id(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"definition=.* is a (NoneType|int|bytes): give an id"):
        Pool(wrong)


@pytest.fixture
def unread_roms() -> Iterator[None]:
    """Every ROM is read anew."""
    atari.read_rom.cache_clear()
    yield
    atari.read_rom.cache_clear()


@pytest.mark.usefixtures("unread_roms")
def test_ale_py_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(MissingDependencyError, match="ale-py, which is not inst") as caught:
            Pool("Pong-v5")
        assert "pip install 'parallel_pool[atari]'" in str(caught.value)
        assert isinstance(caught.value, ImportError) and isinstance(caught.value, PoolError)
        # what needs no ROM is not bothered
        Pool("CartPole-v1").close()
    with Pool("Pong-v5") as pool:
        assert pool.reset()[0].shape == (1, 4, 84, 84)


@pytest.mark.usefixtures("unread_roms")
def test_rom_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = importlib.machinery.ModuleSpec("ale_py", None, is_package=True)
    assert spec.submodule_search_locations is not None
    spec.submodule_search_locations.append(str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: spec)
        with pytest.raises(MissingDependencyError, match="ROM of pong can't be read") as caught:
            Pool("Pong-v5")
        assert str(tmp_path) in str(caught.value)
        assert "pip install 'parallel_pool[atari]'" in str(caught.value)
        (tmp_path / "roms").mkdir()
        (tmp_path / "roms" / "pong.bin").write_bytes(b"not a ROM")
        damaged = "pong in .* is damaged: it has 9 bytes, as no cartridge has: pip install --force"
        with pytest.raises(MissingDependencyError, match=damaged):
            Pool("Pong-v5")


# ------------------------------------------------------------------------------------ the rest --


@pytest.mark.parametrize(
    "function", [pickle.dumps, copy.copy, copy.deepcopy], ids=lambda function: function.__name__
)
def test_copies(function: Callable[[Any], Any]) -> None:
    message = "holds threads and cannot be pickled or copied: make a new one"
    assert_refused("CartPole-v1", [function], TypeError, message)


def test_pictures_of_what_draws_none() -> None:
    message = "CartPole-v1 draws no pictures"
    assert_refused("CartPole-v1", [lambda pool: pool.render()], StateError, message)
    with Pool("Pong-v5", 2, seed=0) as pool:
        pool.reset()
        assert pool.render().shape == (2, 210, 160, 3)


def test_snapshots() -> None:
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
