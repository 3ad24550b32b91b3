"""Observations of any space in worker processes, compared with SyncVectorEnv's."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.vector.utils import batch_space, concatenate
from hypothesis import given, settings

from parallel_pool._workers.data.action_records import ActionPacker, ActionUnpacker
from parallel_pool._workers.data.spaces import (
    Reader,
    Writer,
    batch_objects,
    column,
    iterate_objects,
    leaves,
)
from tests.support.same import assert_same
from tests.support.space_cases import (
    EMPTY,
    FIXED,
    NUM,
    OBJECTS,
    SINGLE,
    TREES,
    fixed_spaces,
    is_same,
    is_steppable,
    of,
    rearranged,
    recorders,
    seed_spaces,
)


@pytest.fixture(autouse=True)
def seeded_spaces(request: pytest.FixtureRequest) -> None:
    seed_spaces(request)


class Constant(gymnasium.Env[Any, Any]):
    """Always returns the same observation, whatever its space is."""

    action_space = spaces.Discrete(1)

    def __init__(self, space: spaces.Space[Any], observation: Any) -> None:
        self.observation_space = space
        self.observation = observation

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return self.observation, {}


def blocks(space: spaces.Space[Any], rows: int = NUM) -> list[Any]:
    """Returns columns of bytes, filled with garbage."""
    found = leaves(space)
    assert found is not None
    return [np.full((rows, leaf.nbytes), 0xA5, np.uint8) for leaf in found]


def written(space: spaces.Space[Any], observations: list[Any]) -> list[Any]:
    """Returns columns into which a writer has written the observations."""
    writer = Writer(space)
    raw = blocks(space, len(observations))
    arrays = [column(each, leaf) for each, leaf in zip(raw, writer.leaves, strict=True)]
    for row, observation in enumerate(observations):
        writer.write(arrays, row, observation)
    return raw


# ---------------------------------------------------------------------- like SyncVectorEnv --


def check_observations(space: spaces.Space[Any]) -> None:
    envs, vector = recorders(space)
    reader = Reader(space, NUM)
    writer = Writer(space)
    expected, _ = vector.reset()
    for step in range(5):
        observations = [env.given[-1] for env in envs]
        actual = reader.batch(written(space, observations))
        assert_same(actual, expected, f"step {step}")
        if not is_steppable(space):
            return
        expected, _, _, _, infos = vector.step(vector.action_space.sample())
        if "final_obs" in infos:
            assert step == 2
            finals = written(space, [env.given[-2] for env in envs])
            for index, final in enumerate(infos["final_obs"]):
                assert_same(reader.row(finals, index), final, f"final {index}")
                assert writer.is_exact(final)


@pytest.mark.quick(11)
@of(FIXED)
def test_observations_are_those_of_sync_vector_env(space: spaces.Space[Any]) -> None:
    check_observations(space)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True)
@given(space=fixed_spaces(0))
def test_observations_of_any_space_are_those_of_sync_vector_env(space: spaces.Space[Any]) -> None:
    check_observations(space)


# ----------------------------------------------------------------- what environments may return --


def variations(sample: Any) -> list[Any]:
    """Returns a sample and variations of it."""
    changes: list[Callable[[Any], Any]] = [np.asarray, np.asfortranarray, lambda a: a.tolist()]
    changes += [lambda a, dtype=dtype: a.astype(dtype) for dtype in (bool, "i8", "u8", "f8", "O")]
    changes += [lambda a: np.stack([a]), lambda a: np.repeat(a, 2)[::2]]
    return [sample, *(rearranged(sample, change) for change in changes)]


# for every space: what SyncVectorEnv accepts is accepted with the same result; all else refused
ODD: list[Any] = [
    0,
    1,
    -1,
    300,
    2**40,
    2**63,
    2**70,
    1.5,
    True,
    None,
    "text",
    b"bytes",
    1j,
    object(),
    np.int8(3),
    np.uint16(700),
    np.int64(-5),
    np.uint64(2**63 + 5),
    np.float32(0.1),
    np.float64(0.1),
    np.bool_(True),
    [],
    [0.25] * 4,
    [1, 0, 1],
    (1, 0),
    [[1, 2], [3]],
    [[1, 0, 1], [0, 1, 1]],
    [True, False, True],
    ["a", "b", "c"],
    np.array(2),
    np.array(0.5),
    np.array(1, np.float32),
    np.arange(4),
    np.arange(3.0),
    np.linspace(0, 1, 4),
    np.linspace(0, 1, 4, dtype=np.float16),
    np.linspace(0, 1, 8, dtype=np.float32)[::2],
    np.arange(4, dtype=">i4"),
    np.arange(4, dtype=np.uint64) + np.uint64(2**63),
    np.array([1, 0, 1], np.bool_),
    np.array([1, 0, 1], np.int8),
    np.array([1, 2, 3], object),
    np.ones((1, 4), np.float32),
    np.ones((4, 1), np.float32),
    np.ones((2, 3), np.int32),
    np.ones((2, 3), np.uint8),
    np.ones((3, 2), np.int8),
    np.ones((3, 2), np.int8, order="F").T,
    np.ones((2, 2), np.float64),
    np.zeros((0,), np.float32),
    np.zeros((2, 0)),
    np.array([[1, 2, 3], [4, 5, 6]], np.int16).view(np.matrix),
    np.ma.masked_array([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 0], np.float32),
    {},
    {"a": 1},
    {"a": 1, "b": [0, 0, 1]},
    {"b": np.zeros(3, np.float32), "a": np.int64(1), "more": None},
    {"a": np.int64(1), "b": np.zeros(3, np.float32)},
    {"a": 1, "b": np.zeros(4, np.float32)},
    {"a": "text", "b": np.zeros(3, np.float32)},
    OrderedDict(a=np.int64(1), b=np.zeros(3, np.float32)),
    {"only": np.zeros(3, np.float32)},
    {0: 1, 1: [0.5, 0.5]},
    (1, np.zeros((2, 2))),
    [np.int8(1), np.zeros((2, 2), np.float32)],
    (np.int8(1), np.zeros((2, 2), np.float32)),
    (np.int8(1), np.zeros((2, 2), np.float32), "more"),
    {"a": {}, "b": np.int64(0), "c": ((),)},
    {"a": None, "b": np.int64(0), "c": (None,)},
]


@pytest.mark.quick(1)
@of(FIXED)
@np.errstate(all="ignore")
def test_odd_observations_are_accepted_or_refused_as_by_sync_vector_env(
    space: spaces.Space[Any],
) -> None:
    outcomes = set()
    for value in [*ODD, *variations(space.sample())]:
        vector = SyncVectorEnv([lambda value=value: Constant(space, value)])
        where = f"{value!r} for {space}"
        try:
            expected, _ = vector.reset()
        except (TypeError, ValueError, LookupError):
            outcomes.add("refused")
            with pytest.raises((TypeError, ValueError), match=r"observation.* is an?.*: its space"):
                written(space, [value])
            assert not Writer(space).is_exact(value), where
            continue
        outcomes.add("taken")
        raw = written(space, [value])
        reader = Reader(space)
        assert_same(reader.batch(raw), expected, where)
        assert Writer(space).is_exact(value) == is_same(reader.row(raw, 0), value), where
    # the content of a value for an empty Dict is not checked
    assert outcomes == ({"taken"} if repr(space) in ("Dict()", "Tuple()") else {"taken", "refused"})


def test_only_the_named_row_is_written() -> None:
    space = TREES["nested"]
    writer = Writer(space)
    raw = blocks(space)
    arrays = [column(each, leaf) for each, leaf in zip(raw, writer.leaves, strict=True)]
    before = [each.copy() for each in raw]
    writer.write(arrays, 1, space.sample())
    for each, old in zip(raw, before, strict=True):
        assert np.array_equal(each[::2], old[::2])


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (
            {"a": 1, "b": np.zeros(4, np.float32)},
            ValueError,
            r"observation\['b'\] is an ndarray of dtype float32 and shape \(4,\): "
            r"its space, a Box, takes shape \(3,\) and what casts to float32",
        ),
        (
            {"a": 1.5, "b": [0] * 3},
            TypeError,
            r"observation\['a'\] is a float, 1.5: .* takes shape \(\) and what casts to int64",
        ),
        ({"b": [0] * 3}, ValueError, r"observation is a dict with keys \['b'\]: .* needs 'a' in"),
        (7, TypeError, r"observation is an int, 7: its space needs 'a' in it"),
        ([1, [0] * 3], TypeError, "observation is a list, .*: its space needs 'a' in it"),
    ],
)
def test_refused_observations_are_named(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        written(TREES["dict"], [value])


@pytest.mark.quick(1)
@pytest.mark.parametrize("value", [0.5, np.float64(0.5), np.array(0.5), 1, True])
def test_a_number_is_accepted_for_an_array_of_one_as_by_async_vector_env(value: Any) -> None:
    space = spaces.Box(-1, 1, (1, 1))
    vector = AsyncVectorEnv([lambda: Constant(space, value)], context="fork")
    try:
        expected, _ = vector.reset()
    finally:
        vector.close()
    assert_same(Reader(space).batch(written(space, [value])), expected, repr(value))
    assert not Writer(space).is_exact(value)


@pytest.mark.parametrize("value", ["a", None, 1j, {}, [1], np.ones(2)], ids=repr)
def test_no_other_value_is_accepted_for_an_array_of_one(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"observation is .* takes shape \(1, 1\)"):
        written(spaces.Box(-1, 1, (1, 1)), [value])


def test_errors_name_parts_at_any_depth() -> None:
    value = TREES["nested"].sample()
    value["t"] = ({"x": np.float32(0)},)
    with pytest.raises(ValueError, match=r"observation\['t'\]\[0\] is .* needs 'y' in it"):
        written(TREES["nested"], [value])
    value["t"] = ()
    with pytest.raises(ValueError, match=r"observation\['t'\] is a tuple, \(\): .* needs 0 in it"):
        written(TREES["nested"], [value])


def test_messages_are_short() -> None:
    with pytest.raises(ValueError) as caught:
        written(SINGLE["box-float32"], [list(range(100_000))])
    assert len(str(caught.value)) < 300


def test_an_observation_with_keys_in_another_order_is_not_exact() -> None:
    writer = Writer(TREES["dict"])
    assert writer.is_exact({"a": np.int64(1), "b": np.zeros(3, np.float32)})
    assert not writer.is_exact({"b": np.zeros(3, np.float32), "a": np.int64(1)})


# ----------------------------------------------------------------------------------- reading --


@of({**SINGLE, **TREES})
def test_batches_are_views(space: spaces.Space[Any]) -> None:
    raw = written(space, [space.sample() for _ in range(NUM)])
    found = leaves(space)
    assert found is not None
    batch = Reader(space, NUM).batch(raw)
    for each, leaf in zip(raw, found, strict=True):
        array = batch
        for key in leaf.path:
            array = array[key]
        assert array.base is each or not leaf.nbytes


@of({**SINGLE, **TREES})
def test_rows_are_copies(space: spaces.Space[Any]) -> None:
    raw = written(space, [space.sample() for _ in range(NUM)])
    row = Reader(space).row(raw, 1)
    kept = deepcopy(row)
    for each in raw:
        each[...] = 0x11
    assert_same(row, kept, "row")


def test_bytes_in_any_arrangement_are_read() -> None:
    """Every other row, and bytes that are not contiguous."""
    space = SINGLE["box-float32"]
    values = [space.sample() for _ in range(6)]
    (raw,) = written(space, values)
    some = Reader(space).batch([raw[::2]])
    assert_same(some, np.stack(values[::2]), "rows")
    assert some.base is raw
    assert_same(Reader(space).batch([np.asfortranarray(raw)]), np.stack(values), "columns")
    assert_same(Reader(space).batch([raw[:0]]), np.empty((0, 4), np.float32), "nothing")


def test_wrong_columns_are_refused() -> None:
    reader = Reader(SINGLE["box-float32"], 3)
    with pytest.raises(ValueError, match="2 columns: the space has 1 leaves"):
        reader.batch([np.zeros((3, 16), np.uint8)] * 2)
    with pytest.raises(ValueError, match="a column of 2 rows: a batch has 3"):
        reader.batch([np.zeros((2, 16), np.uint8)])
    with pytest.raises(ValueError):
        reader.batch([np.zeros((3, 20), np.uint8)])


@of(SINGLE)
def test_leaves_of_a_pickled_space_have_the_dtypes_of_arrays(space: spaces.Space[Any]) -> None:
    (leaf,) = leaves(pickle.loads(pickle.dumps(space))) or ()
    assert leaf.dtype == space.dtype
    if leaf.dtype.isnative:
        assert leaf.dtype is np.zeros(1, np.dtype(leaf.dtype.char)).dtype


@of({**SINGLE, **TREES})
def test_plain_observations_may_be_assigned(space: spaces.Space[Any]) -> None:
    writer = Writer(space)
    is_array = not isinstance(space, spaces.Dict | spaces.Tuple) and space.shape != ()
    assert (writer.plain != (None, None)) is is_array
    if is_array:
        leaf, sample = writer.leaves[0], space.sample()
        assert writer.plain == (sample.dtype, sample.shape)
        written, assigned = (np.zeros((2, *leaf.shape), leaf.dtype) for _ in range(2))
        writer.write([written], 1, sample)
        assigned[1] = sample
        assert_same(written, assigned, "rows")


# ------------------------------------------------------------------------------------ leaves --


def test_leaves_are_in_gymnasiums_order() -> None:
    found = leaves(TREES["nested"])
    assert found is not None
    assert [(leaf.path, str(leaf.dtype), leaf.shape, leaf.nbytes) for leaf in found] == [
        (("none",), "float32", (0, 2), 0),
        (("odd",), "bool", (3,), 3),
        (("t", 0, "x"), "float32", (), 4),
        (("t", 0, "y"), "int8", (3,), 3),
        (("wide", 0), "float64", (2,), 16),
        (("wide", 1), "int64", (), 8),
    ]
    unsorted = leaves(TREES["dict-unsorted"])
    assert unsorted is not None
    assert [leaf.path for leaf in unsorted] == [("z",), ("a",)]
    assert leaves(EMPTY["empty-dict"]) == ()


def test_leaves_are_equal_if_their_layout_is() -> None:
    assert leaves(spaces.Discrete(3)) == leaves(spaces.Discrete(5, start=1))
    assert leaves(spaces.Discrete(3)) != leaves(spaces.Discrete(3, dtype=np.int32))
    assert hash(leaves(spaces.Discrete(3)))


@of(OBJECTS)
def test_spaces_without_a_fixed_size_have_no_leaves(space: spaces.Space[Any]) -> None:
    assert leaves(space) is None
    for user in (Writer, Reader, ActionUnpacker, ActionPacker):
        with pytest.raises(TypeError, match="has no fixed size"):
            user(space)


def test_subclasses_are_treated_as_by_gymnasium() -> None:
    class Plain(spaces.Box):
        pass

    class Special(spaces.Box):
        pass

    concatenate.register(Special, lambda space, items, out: tuple(items))
    assert leaves(Plain(0, 1, (2,))) == leaves(spaces.Box(0, 1, (2,)))
    assert leaves(Special(0, 1, (2,))) is None


# ----------------------------------------------------------------------------------- objects --


@of({**OBJECTS, **TREES})
def test_objects_are_those_of_sync_vector_env(space: spaces.Space[Any]) -> None:
    envs, vector = recorders(space)
    expected, _ = vector.reset()
    for step in range(2):
        observations = [env.given[-1] for env in envs]
        assert_same(batch_objects(space, observations), expected, f"observation {step}")
        actions = vector.action_space.sample()
        expected, *_ = vector.step(actions)
        single = iterate_objects(vector.action_space, actions, NUM)
        assert_same(single, [env.taken[-1] for env in envs], f"actions {step}")


def test_wrong_objects_are_refused() -> None:
    mixed = OBJECTS["mixed"]
    with pytest.raises(ValueError, match=r"do not fit .*KeyError: 'deep'"):
        batch_objects(mixed, [{"box": [0, 0]}])
    with pytest.raises(TypeError, match="do not fit"):
        batch_objects(mixed, [None])
    batched = batch_space(mixed, 2)
    with pytest.raises(ValueError, match="its space needs 'deep' in it"):
        iterate_objects(batched, {"box": [[0, 0], [0, 0]]}, 2)
    with pytest.raises(ValueError, match=r"zip\(\)"):
        iterate_objects(batched, {"box": [[0, 0]], "deep": ([1, 2], {"text": ["a", "b"]})}, 2)
    with pytest.raises(TypeError, match="actions is an int, 5: its space needs 'box' in it"):
        iterate_objects(batched, 5, 2)
    texts = batch_space(spaces.Text(3), 2)
    with pytest.raises(ValueError, match="more than 2 actions: give one for each of 2 environ"):
        iterate_objects(texts, ("a", "b", "c"), 2)
    with pytest.raises(TypeError, match="actions are an int, 5, which holds no actions"):
        iterate_objects(texts, 5, 2)
