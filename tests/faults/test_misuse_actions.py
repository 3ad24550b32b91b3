"""Misuse: wrong actions are refused with a cure and change nothing."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool._engine.actions import ActionReader
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.registry import find
from tests.faults.misuse import INTEGERS, NUM_ENVS, assert_refused, good_actions, sends, twins
from tests.support.same import assert_same

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
    (
        "Pendulum-v1",
        [[0.5], [0.5, 1.0], [0.5]],
        r"can't be made an array: give one action of shape \(1,\)",
    ),
    ("Pendulum-v1", [[0.5], np.ones(2), [0.5]], r"actions\[1\] is an ndarray .* of shape \(2,\)"),
    ("Pong-v5", np.zeros(2, int), r"shape \(2,\): 3 environments take \(3,\)"),
]


@pytest.mark.parametrize(("task_id", "actions", "message"), SHAPES)
def test_actions_of_wrong_shapes_are_refused(task_id: str, actions: Any, message: str) -> None:
    assert_refused(task_id, sends(actions), ValueError, message)


@pytest.mark.parametrize(
    ("count", "env_ids", "message"),
    [
        (1, [0, 2], r"shape \(1,\): 2 environments take \(2,\)"),
        (3, [0, 2], r"shape \(3,\): 2 environments take \(2,\)"),
        (2, 1, r"shape \(2,\): 1 environments take \(1,\)"),
    ],
)
def test_more_or_fewer_actions_than_env_ids_are_refused(
    count: int, env_ids: Any, message: str
) -> None:
    assert_refused("CartPole-v1", sends(np.zeros(count, int), env_ids), ValueError, message)


class OnGpu:
    """NumPy can't read it, like a tensor on a GPU or one that requires its gradient."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def cpu(self) -> Any:
        raise NotImplementedError


NO_SEQUENCES = [
    (None, "are None, which holds no actions: give an array or a list of 3 actions"),
    (1, "are an int, 1, which holds no actions: give an array or a list of 3 actions"),
    (np.float32(0), "are a float32 of dtype float32 and shape .*, which holds no actions"),
    ("010", "are a str, '010', which holds no actions"),
    (b"010", "are a bytes, b'010', which holds no actions"),
    ({0, 1, 2}, "are a set, {0, 1, 2}, which has no order"),
    ({0: 1, 1: 0, 2: 1}, "are a dict, {0: 1, 1: 0, 2: 1}, which has no order"),
    (itertools.repeat(0), "are a repeat, .* which has no length"),
    ((i for i in range(3)), "are a generator, .* which has no length"),
    ({0: 1, 1: 0, 2: 1}.values(), "are a dict_values, .* which is not a sequence"),
    (OnGpu(), r"OnGpu, which NumPy can't read: give actions\.cpu\(\)\.numpy\(\)"),
]


@pytest.mark.parametrize(("actions", "message"), NO_SEQUENCES)
def test_an_object_that_is_not_a_sequence_is_refused(actions: Any, message: str) -> None:
    assert_refused("CartPole-v1", sends(actions), TypeError, message)


def test_endless_actions_are_refused() -> None:
    class Liar(list[int]):
        """Its length is three, and it yields without end."""

        def __iter__(self) -> Any:
            return itertools.count()

    message = "more than 3 actions: give one for each of 3 environments"
    assert_refused("CartPole-v1", sends(Liar([0, 1, 0])), ValueError, message)


def test_masked_actions_are_refused() -> None:
    masked = np.ma.array([0, 1, 0], mask=[False, True, True])
    message = r"masked array, 2 of whose numbers are masked: give actions\.filled\(value\)"
    assert_refused("CartPole-v1", sends(masked), ValueError, message)
    assert_equivalent("CartPole-v1", np.array([0, 1, 0]), [np.ma.array([0, 1, 0])])


OUTSIDE = [
    ("CartPole-v1", [99, 0, 0], "action 99 of environment 0 is outside .* choose 0 to 1"),
    ("CartPole-v1", [0, -1, 0], "action -1 of environment 1 is outside .* choose 0 to 1"),
    ("CartPole-v1", [0, 0, 2**31 - 1], "action 2147483647 of environment 2 .* choose 0 to 1"),
    ("CartPole-v1", [-100000, 0, 0], "action -100000 of environment 0 .* choose 0 to 1"),
    ("CartPole-v1", np.array([0, 2**32, 0]), "action 4294967296 of environment 1"),
    ("CartPole-v1", np.array([0, -(2**63), 0]), "action -9223372036854775808 of environment 1"),
    # beyond what C can represent
    ("CartPole-v1", np.array([0, 1, 2**63], np.uint64), rf"actions\[2\] is {2**63}, outside its"),
    ("CartPole-v1", np.array([0, 2**64 - 1, 0], np.uint64), rf"\[1\] is {2**64 - 1}, .* Discrete"),
    ("CartPole-v1", [0, np.uint64(2**64 - 1), 0], rf"actions\[1\] is {2**64 - 1}, outside its"),
    ("CartPole-v1", np.array([0, 255, 0], np.uint8), "action 255 of environment 1"),
    ("CartPole-v1", np.array([0, 0, -1], np.int32), "action -1 of environment 2"),
    ("CartPole-v1", np.array([0, 0, -1], np.int8), "action -1 of environment 2"),
    ("Pong-v5", [0, 99, 0], "action 99 of environment 1 is outside its space: choose 0 to 5"),
    ("Pong-v5", [0, 0, 6], "action 6 of environment 2 is outside its space: choose 0 to 5"),
    ("Pong-v5", [-1, 0, 0], "action -1 of environment 0 is outside its space: choose 0 to 5"),
]


@pytest.mark.quick(4)
@pytest.mark.parametrize(("task_id", "actions", "message"), OUTSIDE)
def test_discrete_actions_outside_their_space_are_refused(
    task_id: str, actions: Any, message: str
) -> None:
    assert_refused(task_id, sends(actions), ValueError, message)


@pytest.mark.parametrize("value", [256, -1, 2**32 + 1])
def test_integers_of_a_box_are_checked_before_they_are_narrowed(value: int) -> None:
    """No environment of ours has such actions; those of users may."""
    own = find("CartPole-v1").configure()
    box = replace(own.action, dtype=np.dtype(np.uint8), space_kind="box", low=0, high=255)
    own.action = box
    reader = ActionReader(own)
    for actions in (np.array([7, value]), [7, value]):
        with pytest.raises(ValueError, match=rf"actions\[1\] is {value}, outside its space"):
            reader.read(actions, 2)
    assert b"".join(reader.read(np.array([7, 255]), 2)[0]) == b"\x07\xff"


def test_the_message_names_the_environment_of_a_wrong_action() -> None:
    calls = sends([1, 5], [2, 0])
    assert_refused("CartPole-v1", calls, ValueError, "action 5 of environment 0 is outside")


@pytest.mark.parametrize(
    ("task_id", "actions", "dtype"),
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
def test_actions_of_wrong_dtypes_are_refused(task_id: str, actions: Any, dtype: str) -> None:
    assert_refused(task_id, sends(actions), TypeError, rf"actions(\[\d\] has| have) dtype {dtype}")


@pytest.mark.parametrize("wrong", [2**70, -(2**70)])
def test_integers_of_more_than_64_bits_are_refused(wrong: int) -> None:
    for task_id, actions in (("CartPole-v1", [0, wrong, 0]), ("Pendulum-v1", [[0], [wrong], [0]])):
        assert_refused(task_id, sends(actions), ValueError, "hold an integer of more than 64 bits")
    big = np.array([[0], [2**62], [0]])
    assert_refused("Pendulum-v1", sends(big), ValueError, f"actions hold {2**62}: choose")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, None])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_box_actions_that_are_not_finite_are_refused(dtype: Any, wrong: float) -> None:
    actions: Any = [[0.5], [wrong], [0.5]]
    if dtype:
        actions = np.array(actions, dtype)
    message = r"the action of environment 1 is not finite \(element 0\): send finite numbers"
    assert_refused("Pendulum-v1", sends(actions), ValueError, message)


@pytest.mark.parametrize("task_id", ["Pendulum-v1", "MountainCarContinuous-v0"])
def test_finite_box_actions_out_of_bounds_give_the_references_results(task_id: str) -> None:
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
    reference = [gymnasium.make(task_id) for _ in range(NUM_ENVS)]
    with Pool(task_id, NUM_ENVS, seed=3, reward_dtype="float64") as pool:
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
                assert_same(batch["obs"][i], obs, f"{task_id} {at}")
                assert batch["reward"][i] == reward
                assert (batch["terminated"][i], batch["truncated"][i]) == (terminated, truncated)
    for env in reference:
        env.close()


def assert_equivalent(task_id: str, good: Any, others: list[Any]) -> None:
    """Checks that sending each of these objects has the same effect as sending the good one."""
    with twins(task_id) as (pool, untouched):
        assert_same(pool.reset(), untouched.reset(), "reset")
        for other in others * 2:
            assert_same(pool.step(other), untouched.step(good), repr(other))
            pool.send(other)
            untouched.send(good)
            assert_same(pool.recv(), untouched.recv(), repr(other))


@pytest.mark.parametrize("task_id", ["CartPole-v1", "Pong-v5"])
def test_lists_and_every_integer_dtype_are_accepted(task_id: str) -> None:
    good = np.array([1, 0, 1])
    read_only = np.array([1, 0, 1])
    read_only.flags.writeable = False
    others: list[Any] = [np.array([1, 0, 1], dtype) for dtype in INTEGERS]
    others += [[1, 0, 1], (1, 0, 1), [np.int64(1), np.uint8(0), 1]]
    others += [np.array([1, 9, 0, 9, 1])[::2], np.array([1, 0, 1])[::-1], read_only]
    others += [np.array([1, 0, 1], ">i8"), np.array([1, 0, 1], ">u2")]
    assert_equivalent(task_id, good, others)


def test_every_real_dtype_is_accepted_for_a_box() -> None:
    """Results are those of NumPy, which converts integers to float64: tests/parity/test_actions"""
    good = np.array([[1], [0], [-1]], np.float64)
    signed = [dtype for dtype in INTEGERS if np.dtype(dtype).kind == "i"]
    others: list[Any] = [good.astype(dtype) for dtype in signed]
    others += [[[1], [0], [-1]], [[1.0], [0.0], [-1.0]], np.asfortranarray(good)]
    others += [good.astype(">f8"), np.array([[1, 9], [0, 9], [-1, 9]], np.float64)[:, :1]]
    assert_equivalent("Pendulum-v1", good, others)
    good = np.array([[1], [0], [1]], np.float64)
    assert_equivalent("Pendulum-v1", good, [good.astype(dtype) for dtype in [*INTEGERS, np.bool_]])
    good = np.array([[1], [0], [-1]], np.float32)
    assert_equivalent("Pendulum-v1", good, [good.astype(">f4"), list(good), [[x] for (x,) in good]])


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
