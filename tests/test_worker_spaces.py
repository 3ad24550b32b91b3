"""Spaces of worker processes against a real SyncVectorEnv: observations, actions, final_obs."""

from __future__ import annotations

import itertools
import pickle
from collections import OrderedDict, deque
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space, concatenate, iterate
from hypothesis import given, settings
from hypothesis import strategies as st

from parallel_pool.workers.action_records import ActionPacker, ActionUnpacker
from parallel_pool.workers.spaces import (
    Reader,
    Writer,
    batch_objects,
    column,
    iterate_objects,
    leaves,
)
from tests.same import assert_same

NUM = 3
FLOATS = ["float16", "float32", "float64", ">f4"]
INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]

SINGLE: dict[str, spaces.Space[Any]] = {
    **{f"box-{dtype}": spaces.Box(0, 1, (4,), np.dtype(dtype)) for dtype in FLOATS},
    **{f"box-{dtype}": spaces.Box(1, 100, (2, 3), np.dtype(dtype)) for dtype in INTS},
    "box-bool": spaces.Box(0, 1, (3,), np.bool_),
    "box-bool-0d": spaces.Box(0, 1, (), np.bool_),
    "box-0d": spaces.Box(-1, 1, ()),
    "box-0d-uint16": spaces.Box(0, 9, (), np.uint16),
    "box-unbounded": spaces.Box(-np.inf, np.inf, (2,), np.float64),
    "box-size-0": spaces.Box(-1, 1, (0,)),
    "box-size-0-2d": spaces.Box(-1, 1, (2, 0)),
    "discrete": spaces.Discrete(5),
    "discrete-start": spaces.Discrete(7, start=-3, dtype=np.int32),
    "discrete-int8": spaces.Discrete(7, dtype=np.int8),
    "discrete-uint8": spaces.Discrete(7, dtype=np.uint8),
    "multi-discrete": spaces.MultiDiscrete([3, 4, 5]),
    "multi-discrete-2d": spaces.MultiDiscrete(np.array([[2, 3], [4, 5]]), dtype=np.int16),
    "multi-discrete-start": spaces.MultiDiscrete([3, 4], start=[-2, 5], dtype=np.int32),
    "multi-discrete-0d": spaces.MultiDiscrete(np.array(3)),
    "multi-binary": spaces.MultiBinary(5),
    "multi-binary-2d": spaces.MultiBinary([3, 2]),
}
TREES: dict[str, spaces.Space[Any]] = {
    "dict": spaces.Dict({"b": spaces.Box(0, 1, (3,)), "a": spaces.Discrete(4)}),
    "dict-of-one": spaces.Dict(only=spaces.Box(0, 1, (3,))),
    "dict-unsorted": spaces.Dict(
        {"z": spaces.Discrete(2), "a": spaces.MultiBinary(3)}, sort_keys=False
    ),
    "dict-int-keys": spaces.Dict({0: spaces.Discrete(2), 1: spaces.Box(0, 1, (2,))}),
    "tuple": spaces.Tuple((spaces.Discrete(3, dtype=np.int8), spaces.Box(0, 1, (2, 2)))),
    "nested": spaces.Dict(
        {
            "t": spaces.Tuple((spaces.Dict(x=spaces.Box(0, 1, ()), y=spaces.MultiBinary(3)),)),
            "odd": spaces.Box(0, 1, (3,), np.bool_),
            "none": spaces.Box(0, 1, (0, 2)),
            "wide": spaces.Tuple(
                (spaces.Box(0, 1, (2,), np.float64), spaces.Discrete(9, start=-4))
            ),
        }
    ),
}
EMPTY: dict[str, spaces.Space[Any]] = {
    "empty-dict": spaces.Dict(),
    "empty-tuple": spaces.Tuple(()),
    "empty-parts": spaces.Dict(
        a=spaces.Dict(), b=spaces.Discrete(2), c=spaces.Tuple((spaces.Tuple(()),))
    ),
}
FIXED = {**SINGLE, **TREES, **EMPTY}


class Custom(spaces.Space[str]):
    """A space that Gymnasium knows nothing about."""

    def __init__(self) -> None:
        super().__init__(None, None)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return f"custom {self.np_random.integers(1000)}"

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Custom)


OBJECTS: dict[str, spaces.Space[Any]] = {
    "text": spaces.Text(5),
    "sequence": spaces.Sequence(spaces.Discrete(4)),
    "graph": spaces.Graph(spaces.Box(0, 1, (2,)), spaces.Discrete(3)),
    "one-of": spaces.OneOf([spaces.Discrete(2), spaces.Box(0, 1, (2,))]),
    "custom": Custom(),
    "mixed": spaces.Dict(
        box=spaces.Box(0, 1, (2,)),
        deep=spaces.Tuple((spaces.Discrete(3), spaces.Dict(text=spaces.Text(4)))),
    ),
}


def of(table: dict[str, spaces.Space[Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("space", table.values(), ids=table.keys())


@pytest.fixture(autouse=True)
def seed_spaces(request: pytest.FixtureRequest) -> None:
    """Samples are the same whichever tests ran before."""
    given = getattr(request.node, "callspec", None)
    for space in [*TREES.values(), *SINGLE.values()] if given is None else given.params.values():
        if isinstance(space, spaces.Space):
            space.seed(3)


class Recorder(gymnasium.Env[Any, Any]):
    """Samples its observations, remembers what it gave and got, and ends every third step."""

    def __init__(self, space: spaces.Space[Any], seed: int) -> None:
        self.observation_space = deepcopy(space)
        self.action_space = deepcopy(space)
        self.observation_space.seed(seed)
        self.given: list[Any] = []
        self.taken: list[Any] = []

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.given.append(self.observation_space.sample())
        return self.given[-1], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken.append(deepcopy(action))
        self.given.append(self.observation_space.sample())
        return self.given[-1], 0.0, len(self.taken) % 3 == 0, False, {}


class Constant(gymnasium.Env[Any, Any]):
    """Always the same observation, whatever its space says."""

    action_space = spaces.Discrete(1)

    def __init__(self, space: spaces.Space[Any], observation: Any) -> None:
        self.observation_space = space
        self.observation = observation

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return self.observation, {}


def recorders(space: spaces.Space[Any]) -> tuple[list[Recorder], SyncVectorEnv]:
    envs = [Recorder(space, seed) for seed in range(NUM)]
    makers: list[Callable[[], Recorder]] = [lambda env=env: env for env in envs]
    vector = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    vector.action_space.seed(7)
    return envs, vector


def blocks(space: spaces.Space[Any], rows: int = NUM) -> list[Any]:
    """Columns of bytes, full of rubbish."""
    found = leaves(space)
    assert found is not None
    return [np.full((rows, leaf.nbytes), 0xA5, np.uint8) for leaf in found]


def written(space: spaces.Space[Any], observations: list[Any]) -> list[Any]:
    """Columns that a writer has written into."""
    writer = Writer(space)
    raw = blocks(space, len(observations))
    arrays = [column(each, leaf) for each, leaf in zip(raw, writer.leaves, strict=True)]
    for row, observation in enumerate(observations):
        writer.write(arrays, row, observation)
    return raw


def received(space: spaces.Space[Any], actions: Any, num: int = NUM) -> list[Any]:
    """What environments get of these actions."""
    records = ActionPacker(space).pack(actions, num)
    if records is None:
        return iterate_objects(batch_space(space, num), actions, num)
    assert (records.dtype, records.ndim, len(records)) == (np.uint8, 2, num)
    assert records.flags.c_contiguous
    bound = ActionUnpacker(space).bind(records, num)
    assert len(bound) == num
    return [bound[index] for index in range(num)]


def rearranged(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same tree with all its arrays changed, and lists for tuples."""
    if isinstance(value, dict):
        return {key: rearranged(part, change) for key, part in value.items()}
    if isinstance(value, tuple):
        return [rearranged(part, change) for part in value]
    return change(value)


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same tree with all its arrays changed."""
    if isinstance(value, dict):
        return {key: changed(part, change) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(changed(part, change) for part in value)
    return change(value)


def is_same(one: Any, other: Any) -> bool:
    try:
        assert_same(one, other, "value")
    except AssertionError:
        return False
    return True


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


def is_steppable(space: Any) -> bool:
    """SyncVectorEnv can't take actions of a Dict or Tuple in which nothing is."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = list(space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces)
        return bool(parts) and all(map(is_steppable, parts))
    return True


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


@of(FIXED)
def test_observations_are_those_of_sync_vector_env(space: spaces.Space[Any]) -> None:
    check_observations(space)


@of({**SINGLE, **TREES})
def test_actions_are_those_of_sync_vector_env(space: spaces.Space[Any]) -> None:
    check_actions(space)


def test_empty_actions_are_empty() -> None:
    """SyncVectorEnv can't take them at all."""
    actions = {"a": {}, "b": np.array([0, 1, 0]), "c": ((),)}
    got = received(EMPTY["empty-parts"], actions)
    assert got == [{"a": {}, "b": np.int64(b), "c": ((),)} for b in (0, 1, 0)]
    assert received(EMPTY["empty-dict"], {}) == [{}] * NUM
    assert received(EMPTY["empty-tuple"], ()) == [()] * NUM


def boxes() -> st.SearchStrategy[spaces.Space[Any]]:
    shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
    dtypes = st.sampled_from([*FLOATS, *INTS, "bool"]).map(np.dtype)
    return st.builds(lambda shape, dtype: spaces.Box(0, 1, shape, dtype), shapes, dtypes)


def fixed_leaves() -> st.SearchStrategy[spaces.Space[Any]]:
    sizes = st.lists(st.integers(1, 4), min_size=1, max_size=3)
    dtypes = st.sampled_from(INTS).map(np.dtype)
    return st.one_of(
        boxes(),
        st.builds(
            lambda n, start, dtype: spaces.Discrete(n, start=start, dtype=dtype),
            st.integers(1, 9),
            st.integers(0, 5),
            dtypes,
        ),
        st.builds(lambda n, dtype: spaces.MultiDiscrete(n, dtype=dtype), sizes, dtypes),
        sizes.map(spaces.MultiBinary),
    )


def fixed_spaces(smallest: int) -> st.SearchStrategy[spaces.Space[Any]]:
    names = st.text("abcd", min_size=1, max_size=2)
    return st.recursive(
        fixed_leaves(),
        lambda part: st.one_of(
            st.dictionaries(names, part, min_size=smallest, max_size=3).map(spaces.Dict),
            st.lists(part, min_size=smallest, max_size=3).map(spaces.Tuple),
        ),
        max_leaves=6,
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(space=fixed_spaces(0))
def test_observations_of_any_space(space: spaces.Space[Any]) -> None:
    check_observations(space)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(space=fixed_spaces(1))
def test_actions_of_any_space(space: spaces.Space[Any]) -> None:
    check_actions(space)


# ----------------------------------------------------------------- what environments may return --


def variations(sample: Any) -> list[Any]:
    """A sample, and what is almost one."""
    changes: list[Callable[[Any], Any]] = [np.asarray, np.asfortranarray, lambda a: a.tolist()]
    changes += [lambda a, dtype=dtype: a.astype(dtype) for dtype in (bool, "i8", "u8", "f8", "O")]
    changes += [lambda a: np.stack([a]), lambda a: np.repeat(a, 2)[::2]]
    return [sample, *(rearranged(sample, change) for change in changes)]


# for every space: what SyncVectorEnv takes is taken, with the same result, what it refuses is not
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


@of(FIXED)
@np.errstate(all="ignore")
def test_odd_observations_are_taken_or_refused_as_by_sync_vector_env(
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
    # nothing is asked of what is in an empty Dict
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
            r"observation\['b'\] is a ndarray of dtype float32 and shape \(4,\): "
            r"its space, a Box, takes shape \(3,\) and what casts to float32",
        ),
        (
            {"a": 1.5, "b": [0] * 3},
            TypeError,
            r"observation\['a'\] is a float, 1.5: .* takes shape \(\) and what casts to int64",
        ),
        ({"b": [0] * 3}, ValueError, r"observation is a dict with keys \['b'\]: .* needs 'a' in"),
        (7, TypeError, r"observation is a int, 7: its space needs 'a' in it"),
        ([1, [0] * 3], TypeError, "observation is a list, .*: its space needs 'a' in it"),
    ],
)
def test_refused_observations_are_named(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        written(TREES["dict"], [value])


@pytest.mark.parametrize("value", [0.5, np.float64(0.5), np.array(0.5), 1, True])
def test_a_number_is_taken_for_an_array_of_one_as_by_async_vector_env(value: Any) -> None:
    space = spaces.Box(-1, 1, (1, 1))
    vector = AsyncVectorEnv([lambda: Constant(space, value)], context="fork")
    try:
        expected, _ = vector.reset()
    finally:
        vector.close()
    assert_same(Reader(space).batch(written(space, [value])), expected, repr(value))
    assert not Writer(space).is_exact(value)


@pytest.mark.parametrize("value", ["a", None, 1j, {}, [1], np.ones(2)], ids=repr)
def test_no_other_is_taken_for_an_array_of_one(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"observation is .* takes shape \(1, 1\)"):
        written(spaces.Box(-1, 1, (1, 1)), [value])


def test_deep_parts_are_named() -> None:
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


def test_order_of_keys_is_part_of_exactness() -> None:
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
    """Every other row, and bytes that are not side by side."""
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
def test_what_is_plain_is_written_as_it_is_assigned(space: spaces.Space[Any]) -> None:
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


# ----------------------------------------------------------------------------------- actions --


@of(SINGLE)
def test_single_contiguous_actions_are_not_copied(space: spaces.Space[Any]) -> None:
    actions: Any = batch_space(space, NUM).sample()
    records = ActionPacker(space).pack(actions, NUM)
    assert records is not None
    assert records.tobytes() == actions.tobytes()
    assert np.shares_memory(records, actions) or not actions.size


@of({**SINGLE, **TREES})
def test_actions_in_any_container_arrive(space: spaces.Space[Any]) -> None:
    """Whatever holds one action after another, its elements of the space's own dtypes."""
    actions = batch_space(space, NUM).sample()
    expected = received(space, actions)
    changes: list[Callable[[Any], Any]] = [list, tuple, deque, np.asfortranarray]
    changes += [lambda array: np.repeat(array, 2, 0)[::2]]
    for change in changes:
        assert_same(received(space, rearranged(actions, change)), expected, repr(change))


@of({**SINGLE, **TREES})
def test_arrays_of_the_space_have_records_however_they_lie(space: spaces.Space[Any]) -> None:
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


def test_read_only_actions_are_taken() -> None:
    actions = np.arange(3)
    actions.flags.writeable = False
    assert received(spaces.Discrete(3), actions) == [0, 1, 2]


def test_arrays_of_objects_are_taken() -> None:
    objects = np.empty(2, object)
    objects[:] = [np.array([1, 2], np.float32), np.array([3, 4], np.float32)]
    got = received(spaces.Box(0, 9, (2,)), objects, 2)
    assert_same(got, list(objects), "arrays")
    assert received(spaces.Discrete(9), np.array([1, 2], object), 2) == [1, 2]


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


def test_bound_actions_are_read_when_asked_for() -> None:
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
def test_actions_arrive_as_the_caller_gave_them(
    space: spaces.Space[Any], actions: Any, expected: Any
) -> None:
    assert_same(received(space, actions, 2), expected, "actions")
    assert_same(list(iterate(batch_space(space, 2), actions)), expected, "Gymnasium's")


@pytest.mark.parametrize(
    ("space", "actions", "error", "message"),
    [
        (spaces.Discrete(9), np.zeros(2, np.int64), ValueError, "^2 actions: .* 3 environments"),
        (spaces.Discrete(9), np.zeros(4, np.int64), ValueError, "^more than 3 actions: .* 3 env"),
        (spaces.Discrete(9), 5, TypeError, "are a int, 5, which holds no actions: give an array"),
        (spaces.Discrete(9), None, TypeError, "are None, which holds no actions: give an array"),
        (spaces.Discrete(9), "abc", TypeError, "are a str, 'abc', which holds no actions"),
        (spaces.Discrete(9), {1, 2, 3}, TypeError, "are a set, .* which has no order"),
        (spaces.Discrete(9), {0: 1, 1: 2, 2: 3}, TypeError, "are a dict, .* which has no order"),
        (spaces.Discrete(9), itertools.count(), TypeError, "are a count, .* has no length"),
        (spaces.Discrete(9), {1: 2}.values(), TypeError, "a dict_values, .* which is no sequence"),
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


def test_actions_without_an_end_are_refused() -> None:
    class Liar:
        """Says that it has three actions, and has one after another."""

        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> int:
            return index

        def __iter__(self) -> Any:
            return itertools.count()

    with pytest.raises(ValueError, match="more than 3 actions: give one for each"):
        received(spaces.Discrete(9), Liar(), 3)


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
def test_spaces_without_a_fixed_size_have_none(space: spaces.Space[Any]) -> None:
    assert leaves(space) is None
    for user in (Writer, Reader, ActionUnpacker, ActionPacker):
        with pytest.raises(TypeError, match="has no fixed size"):
            user(space)


def test_subclasses_are_what_gymnasium_takes_them_for() -> None:
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
    with pytest.raises(TypeError, match="actions is a int, 5: its space needs 'box' in it"):
        iterate_objects(batched, 5, 2)
    texts = batch_space(spaces.Text(3), 2)
    with pytest.raises(ValueError, match="more than 2 actions: give one for each of 2 environ"):
        iterate_objects(texts, ("a", "b", "c"), 2)
    with pytest.raises(TypeError, match="actions are a int, 5, which holds no actions"):
        iterate_objects(texts, 5, 2)
