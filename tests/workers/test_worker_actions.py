"""Actions of any space in worker processes, compared with SyncVectorEnv's."""

from __future__ import annotations

import itertools
import pickle
from collections import deque
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, iterate
from hypothesis import given, settings

from parallel_pool._workers.data.action_records import ActionPacker, ActionUnpacker
from parallel_pool._workers.data.spaces import iterate_objects
from tests.support.same import assert_same
from tests.support.space_cases import (
    EMPTY,
    NUM,
    SINGLE,
    TREES,
    changed,
    fixed_spaces,
    is_same,
    of,
    rearranged,
    recorders,
    seed_spaces,
)


@pytest.fixture(autouse=True)
def seeded_spaces(request: pytest.FixtureRequest) -> None:
    seed_spaces(request)


def received(space: spaces.Space[Any], actions: Any, num: int = NUM) -> list[Any]:
    """Returns the actions that environments get."""
    records = ActionPacker(space).pack(actions, num)
    if records is None:
        return iterate_objects(batch_space(space, num), actions, num)
    assert (records.dtype, records.ndim, len(records)) == (np.uint8, 2, num)
    assert records.flags.c_contiguous
    bound = ActionUnpacker(space).bind(records, num)
    assert len(bound) == num
    return [bound[index] for index in range(num)]


def check_actions(space: spaces.Space[Any]) -> None:
    envs, vector = recorders(space)
    vector.reset()
    for step in range(2):
        actions = vector.action_space.sample()
        vector.step(actions)
        for index, action in enumerate(received(space, actions)):
            assert_same(action, envs[index].taken[-1], f"step {step}, action {index}")
        unpacker = ActionUnpacker(space)
        records = ActionPacker(space).pack(actions, NUM)
        assert records is not None
        for index, record in enumerate(records):
            assert_same(unpacker.read(record), envs[index].taken[-1], "one record")
            assert_same(unpacker.read(memoryview(record)), envs[index].taken[-1], "its memory")


@pytest.mark.quick(16)
@of({**SINGLE, **TREES})
def test_actions_are_those_of_sync_vector_env(space: spaces.Space[Any]) -> None:
    check_actions(space)


def test_empty_actions_are_empty() -> None:
    """SyncVectorEnv raises for these."""
    actions = {"a": {}, "b": np.array([0, 1, 0]), "c": ((),)}
    got = received(EMPTY["empty-parts"], actions)
    assert got == [{"a": {}, "b": np.int64(b), "c": ((),)} for b in (0, 1, 0)]
    assert received(EMPTY["empty-dict"], {}) == [{}] * NUM
    assert received(EMPTY["empty-tuple"], ()) == [()] * NUM


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True)
@given(space=fixed_spaces(1))
def test_actions_of_any_space_are_those_of_sync_vector_env(space: spaces.Space[Any]) -> None:
    check_actions(space)


# ----------------------------------------------------------------------------------- actions --


@of(SINGLE)
def test_single_contiguous_actions_are_not_copied(space: spaces.Space[Any]) -> None:
    actions: Any = batch_space(space, NUM).sample()
    records = ActionPacker(space).pack(actions, NUM)
    assert records is not None
    assert records.tobytes() == actions.tobytes()
    assert np.shares_memory(records, actions) or not actions.size


@of({**SINGLE, **TREES})
def test_actions_in_any_container_are_accepted(space: spaces.Space[Any]) -> None:
    """In any sequence whose elements have the dtypes of the space."""
    actions = batch_space(space, NUM).sample()
    expected = received(space, actions)
    changes: list[Callable[[Any], Any]] = [list, tuple, deque, np.asfortranarray]
    changes += [lambda array: np.repeat(array, 2, 0)[::2]]
    for change in changes:
        assert_same(received(space, rearranged(actions, change)), expected, repr(change))


@of({**SINGLE, **TREES})
def test_arrays_that_fit_the_space_have_records_whatever_their_strides(
    space: spaces.Space[Any],
) -> None:
    actions = batch_space(space, NUM).sample()
    packer = ActionPacker(pickle.loads(pickle.dumps(space)))
    expected = packer.pack(actions, NUM)
    assert expected is not None
    changes: list[Callable[[Any], Any]] = [np.copy, np.asfortranarray]
    changes += [lambda array: np.repeat(array, 2, 0)[::2], lambda array: array.astype(array.dtype)]
    for change in changes:
        records = packer.pack(changed(actions, change), NUM)
        assert records is not None and records.tobytes() == expected.tobytes(), repr(change)
    others: list[Callable[[Any], Any]] = [list, lambda array: array.astype("c16")]
    others += [lambda array: array[1:], lambda array: array[..., None], lambda array: None]
    for change in others:
        assert packer.pack(changed(actions, change), NUM) is None, repr(change)


def test_read_only_actions_are_accepted() -> None:
    actions = np.arange(3)
    actions.flags.writeable = False
    assert received(spaces.Discrete(3), actions) == [0, 1, 2]


def test_arrays_of_objects_are_accepted() -> None:
    objects = np.empty(2, object)
    objects[:] = [np.array([1, 2], np.float32), np.array([3, 4], np.float32)]
    got = received(spaces.Box(0, 9, (2,)), objects, 2)
    assert_same(got, list(objects), "arrays")
    assert received(spaces.Discrete(9), np.array([1, 2], object), 2) == [1, 2]


@pytest.mark.quick(24)
@of({**SINGLE, **TREES})
def test_environments_may_keep_actions(space: spaces.Space[Any]) -> None:
    records = ActionPacker(space).pack(batch_space(space, NUM).sample(), NUM)
    assert records is not None
    records = records.copy()
    bound = ActionUnpacker(space).bind(records, NUM)
    action = bound[1]
    kept = deepcopy(action)
    records[...] = 0x3C
    assert_same(action, kept, "kept")


def test_bound_actions_are_read_when_indexed() -> None:
    for space in (spaces.Discrete(9), spaces.Box(0, 9, (2,), np.int64), TREES["dict"]):
        packer = ActionPacker(space)
        batched = batch_space(space, 2)
        batched.seed(0)
        one, other = batched.sample(), batched.sample()
        assert not is_same(one, other)
        first, second = packer.pack(one, 2), packer.pack(other, 2)
        assert first is not None and second is not None
        records = first.copy()
        bound = ActionUnpacker(space).bind(memoryview(records.reshape(-1)), 2)
        assert_same(list(bound), received(space, one, 2), "first")
        records[...] = second
        assert_same(list(bound), received(space, other, 2), "second")


def test_buffers_that_are_too_small_are_refused() -> None:
    with pytest.raises((TypeError, ValueError)):
        ActionUnpacker(spaces.Discrete(9)).bind(np.zeros(23, np.uint8), 3)


@pytest.mark.parametrize(
    ("space", "actions", "expected"),
    [
        (spaces.Discrete(9), np.array([1, 2], np.int8), [np.int8(1), np.int8(2)]),
        (spaces.Discrete(9), np.array([1.5, 2]), [np.float64(1.5), np.float64(2)]),
        (spaces.Discrete(2), np.array([False, True]), [np.False_, np.True_]),
        (spaces.Discrete(9), [1, 2**70], [1, 2**70]),
        (spaces.Discrete(9), [None, "a"], [None, "a"]),
        (spaces.Discrete(9), [[1], [2, 3]], [[1], [2, 3]]),
        (spaces.Discrete(9), np.array([[1], [2]]), [np.array([1]), np.array([2])]),
        (spaces.MultiBinary(2), [[0, 1], (1, 0)], [[0, 1], (1, 0)]),
        (spaces.Box(0, 9, (1,)), [[0.5], [2]], [[0.5], [2]]),
        (spaces.Box(0, 9, (1,)), np.array([[0.1], [2]]), [np.array([0.1]), np.array([2.0])]),
        (spaces.Box(0, 9, (1,)), np.array([[1], [2]], ">f4"), list(np.array([[1], [2]], ">f4"))),
        (spaces.Box(0, 9, ()), [0.5, True], [0.5, True]),
        (spaces.Box(0, 9, ()), np.float16([0.5, 2]), [np.float16(0.5), np.float16(2)]),
        (spaces.Dict(a=spaces.Discrete(3)), {"a": [1, 2.0]}, [{"a": 1}, {"a": 2.0}]),
    ],
)
def test_actions_keep_the_types_that_the_caller_gave(
    space: spaces.Space[Any], actions: Any, expected: Any
) -> None:
    assert_same(received(space, actions, 2), expected, "actions")
    assert_same(list(iterate(batch_space(space, 2), actions)), expected, "Gymnasium's")


@pytest.mark.parametrize(
    ("space", "actions", "error", "message"),
    [
        (spaces.Discrete(9), np.zeros(2, np.int64), ValueError, "^2 actions: .* 3 environments"),
        (spaces.Discrete(9), np.zeros(4, np.int64), ValueError, "^more than 3 actions: .* 3 env"),
        (spaces.Discrete(9), 5, TypeError, "are an int, 5, which holds no actions: give an array"),
        (spaces.Discrete(9), None, TypeError, "are None, which holds no actions: give an array"),
        (spaces.Discrete(9), "abc", TypeError, "are a str, 'abc', which holds no actions"),
        (spaces.Discrete(9), {1, 2, 3}, TypeError, "are a set, .* which has no order"),
        (spaces.Discrete(9), {0: 1, 1: 2, 2: 3}, TypeError, "are a dict, .* which has no order"),
        (spaces.Discrete(9), itertools.count(), TypeError, "are a count, .* has no length"),
        (
            spaces.Discrete(9),
            {1: 2}.values(),
            TypeError,
            "a dict_values, .* which is not a sequence",
        ),
        (
            spaces.Discrete(9),
            np.zeros(()),
            TypeError,
            "Unable to iterate over",
        ),
        (TREES["dict"], {"a": [0, 1, 2]}, ValueError, r"with keys \['a'\]: its space needs 'b'"),
        (TREES["dict"], [{}, {}, {}], TypeError, "actions is a list.* needs 'a'"),
        (TREES["dict"], {"a": [0, 1], "b": []}, ValueError, "does not take"),
        (TREES["dict"], {"a": {1}, "b": []}, TypeError, r"actions\['a'\] are a set, .* no order"),
        (TREES["tuple"], ([0, 1, 2],), ValueError, "actions is a tuple.* needs 1 in it"),
        (TREES["tuple"], ([0, 1, 2], [[0.0]]), ValueError, "does not take"),
    ],
)
def test_wrong_actions_are_refused(
    space: spaces.Space[Any], actions: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        received(space, actions, 3)


def test_endless_actions_are_refused() -> None:
    class Liar:
        """Its length is three, and it yields without end."""

        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> int:
            return index

        def __iter__(self) -> Any:
            return itertools.count()

    with pytest.raises(ValueError, match="more than 3 actions: give one for each"):
        received(spaces.Discrete(9), Liar(), 3)
