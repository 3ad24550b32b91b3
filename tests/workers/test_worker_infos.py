"""Infos that are sent in columns: the same as SyncVectorEnv's, whatever environments return."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import warnings
from collections import UserDict
from enum import StrEnum
from functools import partial
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parallel_pool._apis.common.reply_reader import ReplyReader
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._engine.buffers import Column
from parallel_pool._native import ffi
from parallel_pool._workers import replies
from parallel_pool._workers.data.info_columns import InfoColumns
from parallel_pool._workers.data.info_records import InfoPacker, Single
from parallel_pool._workers.data.info_table import ReplyTable
from parallel_pool._workers.data.local_infos import LocalInfos
from parallel_pool._workers.data.messages import INFO, INFOS, Reply
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.replies import Replies, join_neighbors, replies_of


def bits(value: Any) -> Any:
    """Returns all that identifies a value: also types, the order of keys, and signs of zero."""
    if isinstance(value, dict):
        return type(value), [(key, bits(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [bits(each) for each in value]
    if isinstance(value, np.ndarray):
        is_object = value.dtype == object
        if value.dtype.char == "g":
            # its bytes have padding, which may be anything
            return type(value), value.dtype.str, value.shape, [repr(each) for each in value.flat]
        inside = bits(value.tolist()) if is_object else value.tobytes()
        return type(value), value.dtype.str, value.shape, inside
    return type(value), repr(value)


# -------------------------------------------------------------------------- infos of all kinds --

ARRAYS: list[Any] = [
    np.array([1.5, -0.0]),
    np.array([1, 2]),
    np.array([True, False]),
    np.array([1, 2], np.uint8),
    np.array([1.5, 2.5], np.float32),
    np.array([[1j, 2]]),
    np.array([1.5, 2.5], ">f4"),
    np.array(["a", "bc"]),
    np.array([1, "a", None], object),
    np.array(3.5),
    np.zeros((0, 2)),
    np.zeros((2, 3, 1), np.int16),
    np.array([[1.0, 2.0]]).view(np.matrix),
    np.ma.masked_array([1.0, 2.0], [False, True]),
    np.array(["2001-01-01"], "M8[D]"),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(8.0)[::2],
]
floats = st.floats(width=32)
ints = st.integers(-5, 5)
# strategies, each of values of one type
KINDS: list[st.SearchStrategy[Any]] = [
    st.floats(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(2**63, 2**66),
    st.booleans(),
    st.booleans().map(np.bool_),
    st.just(None),
    st.text(max_size=3),
    st.binary(max_size=3),
    floats.map(np.float32),
    floats.map(np.float64),
    st.sampled_from([0.5, -2.0]).map(np.float16),
    floats.map(np.longdouble),
    floats.map(np.complex64),
    ints.map(np.int8),
    ints.map(np.int64),
    ints.map(np.longlong),
    ints.map(lambda i: np.uint32(abs(i))),
    ints.map(lambda i: np.timedelta64(i, "s")),
    ints.map(lambda i: np.datetime64(i, "s")),
    st.lists(ints, max_size=2),
    st.tuples(ints),
    st.sampled_from([int, float]),
    st.sampled_from(list(signal.Signals)),
    *[
        st.builds(
            lambda one, i: (one + i if one.dtype.kind in "fi" else one).astype(one.dtype),
            st.just(one),
            ints,
        )
        for one in ARRAYS
    ],
    st.sampled_from(ARRAYS),
]
KINDS.append(st.fixed_dictionaries({"in": KINDS[0], "deep": st.fixed_dictionaries({"er": ints})}))
KINDS.append(st.dictionaries(st.sampled_from(["in", "x"]), ints, max_size=2))
KEYS: list[Any] = ["a", "b", "c", "_a", "_b", "__a", "final_obs", "final_info", "", 1, None]
# the most likely ones
COMMON = KEYS[:3]


@st.composite
def templates(draw: st.DrawFn) -> dict[Any, st.SearchStrategy[Any]]:
    keys = draw(
        st.lists(st.sampled_from(draw(st.sampled_from([COMMON, COMMON, KEYS]))), unique=True)
    )
    return {key: draw(st.sampled_from(KINDS)) for key in keys}


@st.composite
def infos_of_all(draw: st.DrawFn) -> list[dict[Any, Any]]:
    """Draws infos of each environment; most have the keys and types of another's."""
    like = draw(st.lists(templates(), min_size=1, max_size=3))
    drawn = []
    for _ in range(draw(st.integers(1, 9))):
        info = {key: draw(value) for key, value in draw(st.sampled_from(like)).items()}
        drawn.append(dict(sorted(info.items(), key=repr)) if draw(st.integers(0, 9)) == 0 else info)
    return drawn


class Adder(VectorEnv[Any, Any, Any]):
    """A vector environment that is used only for its `_add_info`."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs


def one_by_one(infos: list[dict[Any, Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    adder = Adder(len(infos))
    for i, info in enumerate(infos):
        found = adder._add_info(found, info, i)
    return found


def packed(infos: list[Single]) -> tuple[list[InfoColumns], list[Single]]:
    """Returns what the parent process reads of a worker's infos: columns, and the others."""
    messages, singles = InfoPacker().pack(infos)
    found = [InfoColumns.read(message) for _, message in messages]
    for (members, _), columns in zip(messages, found, strict=True):
        assert list(columns.env_ids) == [env_id for env_id, _ in members]
    return found, list(singles)


def received(infos: list[dict[Any, Any]], lanes: int) -> dict[int, Reply]:
    """Returns the replies that a pool of `lanes` workers receives."""
    cuts = [len(infos) * lane // lanes for lane in range(lanes + 1)]
    replies: dict[int, Reply] = {}
    for a, b in itertools.pairwise(cuts):
        shared, singles = packed([(i, infos[i]) for i in range(a, b) if infos[i]])
        replies.update((some.env_ids[0], {INFOS: some}) for some in shared)
        replies.update((i, {INFO: pickle.loads(pickle.dumps(info, 5))}) for i, info in singles)
    return join_neighbors(dict(sorted(replies.items())))


# columns of a pool that sends observations as objects
ENGINE = ("reward", "terminated", "truncated")


def put_together(replies: dict[int, Reply], num_envs: int) -> dict[Any, Any]:
    columns = [Column(name, np.dtype(bool), (), -1, False) for name in ENGINE]
    pool: Any = SimpleNamespace(leaves=None, num_envs=num_envs, columns=columns)
    reader = ReplyReader(pool, spaces.Text(1))
    shown: Any = (None, np.zeros(num_envs), None, None, ())
    return reader.infos(Adder(num_envs)._add_info, replies, shown)


def outcome(make: Any, *args: Any) -> Any:
    """Returns the value of a call, or the type of its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return bits(make(*args))
        except Exception as error:
            return type(error)


@pytest.mark.slow
@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(infos_of_all(), st.integers(1, 4))
# the first info decides the dtype of the others, and whether they can be cast to it
@example([{"a": 1}, {"a": 0.5}, {"a": -1.5}], 1)
@example([{"a": 1}, {"a": float("nan")}, {"a": 2.0}], 1)
@example([{"a": None}, {"a": np.float32(0.1)}, {"a": np.float32(0.1)}], 2)
@example([{"a": 1.0}, {"a": "0.5"}, {"a": "0.5"}], 1)
@example([{"a": np.zeros(2)}, {"a": 1.0}, {"a": 2.0}], 1)
@example([{"a": 1.0}, {"a": np.zeros(2)}, {"a": np.ones(2)}], 1)
@example([{"a": {"b": 1}}, {"a": 1}, {"a": 2}], 1)
@example([{"b": 1.0, "a": "", "c": 2.0}] * 2 + [{"c": 1.0, "d": 1, "b": 2.0}] * 2, 2)
@example([{"final_obs": 1.0}] * 2, 1)
@example([{"a": 1.0, "_a": 1.0}] * 2, 1)
@example([{"_a": {}, "a": 1.0}, {"a": 1.0}, {"a": 1.0}], 1)
@example([{"_a": {}}] + [{"a": 1.0}] * 4, 2)
@example([{"_a": {}}, {"a": 1}, {"a": 2.5}, {"a": 3}], 1)
@example([{"_a": 0.0, "a": 0.0}, {"a": 0.0}, {"a": 0.0}, {"_a": 0.0, "a": 0.0}, {"a": 0.0}], 1)
def test_infos_are_put_together_as_by_sync_vector_env(
    infos: list[dict[Any, Any]], lanes: int
) -> None:
    # pickle itself changes the types of a few
    expected = outcome(one_by_one, pickle.loads(pickle.dumps(infos, 5)))
    replies = received(infos, min(lanes, len(infos)))
    assert outcome(put_together, replies, len(infos)) == expected


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(infos_of_all())
@example([{"b": 1.0, "a": "", "c": 2.0}] * 2)
def test_infos_of_each_environment_are_unchanged(infos: list[dict[Any, Any]]) -> None:
    shared, singles = packed(list(enumerate(infos)))
    found = dict(singles)
    for some in shared:
        found.update(some.dicts())
    assert bits(dict(sorted(found.items()))) == bits(dict(enumerate(infos)))


def kept_replies(infos: list[dict[Any, Any]]) -> dict[int, Reply]:
    """Returns the replies of a pool without workers."""
    singles = [(i, info) for i, info in enumerate(infos) if info]
    rows = LocalInfos.of(singles, InfoPacker()) if singles else None
    if rows is None:
        return {i: {INFO: info} for i, info in singles}
    return {singles[0][0]: {INFOS: rows}}


@pytest.mark.slow
@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(infos_of_all())
@example([{}, {"a": 1.0}, {"a": 2.0}])
@example([{"a": 2**63}, {"a": 1}])
@example([{"a": 1}, {"a": 2**63}])
@example([{"a": np.zeros(2)}, {"a": np.ones(2, np.float32)}])
@example([{"a": np.zeros(2)}, {"a": np.ones(3)}])
@example([{"a": 1, "b": 2.0}, {"b": 2.0, "a": 1}])
@example([{"a": np.float32(0.1), "b": None, "c": np.bool_(True)}] * 3)
def test_infos_without_workers_are_put_together_as_by_sync_vector_env(
    infos: list[dict[Any, Any]],
) -> None:
    assert outcome(put_together, kept_replies(infos), len(infos)) == outcome(one_by_one, infos)
    for i, reply in kept_replies(infos).items():
        dicts = [*reply[INFOS].dicts()] if INFOS in reply else [(i, reply[INFO])]
        for env_id, info in dicts:
            assert bits(info) == bits(infos[env_id])


def test_rows_of_infos_can_be_left_out() -> None:
    infos = [(i, {"first": i, "value": np.full(2, i), "last": None}) for i in (1, 2, 4)]
    rows = LocalInfos.of(infos, InfoPacker())
    assert rows is not None and rows.without({3}) is rows
    assert bits([*rows.without({2, 3}).dicts()]) == bits([infos[0], infos[2]])


COLUMNS: list[Any] = [
    1,
    0.5,
    True,
    None,
    "text",
    np.bool_(True),
    np.float32(1),
    np.int8(1),
    np.complex128(1),
    np.zeros(3),
    np.zeros((2, 0), np.uint8),
]
NO_COLUMNS: list[Any] = [
    2**63,
    (1,),
    {"a": 1},
    b"text",
    signal.SIGINT,
    np.longlong(1),
    np.longdouble(1),
    np.array(1.0),
    np.array([1], object),
    np.array([1.0], ">f8"),
    np.zeros((1, 1)).view(np.matrix),
]


@pytest.mark.parametrize("value", COLUMNS, ids=repr)
def test_columns_hold_plain_values(value: Any) -> None:
    info = {"first": 1, "value": value, "last": "text", "very last": 2}
    (some,), singles = packed([(3, info), (4, info), (7, info)])
    assert singles == []
    assert some.env_ids == (3, 4, 7)
    assert [key for key, _, _ in some.columns()] == ["first", "value", "last", "very last"]
    assert bits(list(some.dicts())) == bits([(i, info) for i in (3, 4, 7)])


@pytest.mark.parametrize("value", NO_COLUMNS, ids=repr)
def test_other_values_are_sent_without_columns(value: Any) -> None:
    infos = [(i, {"value": value}) for i in range(3)]
    assert packed(infos) == ([], infos)


@pytest.mark.parametrize("info", [None, 3, ["a"], UserDict(a=1), {1: 1}, {"_a": 1}], ids=repr)
def test_other_infos_are_sent_without_columns(info: Any) -> None:
    infos = [(0, info), (1, info)]
    assert packed(infos) == ([], infos)


def test_arrays_of_each_environment_are_its_own() -> None:
    (some,), _ = packed([(i, {"a": np.zeros(2)}) for i in range(2)])
    (_, one), (_, other) = some.dicts()
    one["a"][:] = 1
    assert not other["a"].any() and one["a"].base is None


def test_values_may_change_their_types_and_shapes_from_step_to_step() -> None:
    packer = InfoPacker()
    values = [1, 0.5, 2**63, 2, np.zeros(2), np.zeros((2, 1)), np.zeros(2, np.int8), "text", None]
    values += [np.array([1, "a"], object), np.ones(2), True, {"in": 1}, np.float32(0.1), 3]
    for step, value in enumerate(values):
        infos = [(i, {"steps": step, "value": value}) for i in range(2)]
        messages, singles = packer.pack(infos)
        found = dict(singles)
        for _, message in messages:
            found.update(InfoColumns.read(message).dicts())
        assert bits(found) == bits(dict(infos))


def test_keys_that_equal_others_keep_their_types() -> None:
    class Key(StrEnum):
        A = "a"

    packer = InfoPacker()
    assert packer.pack_one(0, {"a": 1}) is not None
    assert packer.pack_one(0, {Key.A: 1}) is None


def test_a_message_without_objects_has_only_its_numbers_after_the_head() -> None:
    packer = InfoPacker()
    sizes = [
        len(packer.pack([(i, {"x": 0.5, "n": i, "is": True}) for i in range(count)])[0][0][1])
        for count in (2, 2, 3)
    ]
    assert sizes[0] == sizes[1]
    # one more record, and one more id in the pickled head
    assert 0 <= sizes[2] - sizes[1] - (8 + 8 + 1) <= 8


@pytest.mark.parametrize("value", [0.5, "text"])
def test_a_damaged_message_is_an_error(value: Any) -> None:
    message = InfoPacker().pack_one(0, {"steps": 1, "value": value})
    assert message is not None
    for size in range(len(message)):
        with pytest.raises(Exception, match=r".") as caught:
            InfoColumns.read(message[:size])
        assert not isinstance(caught.value, MemoryError | SystemError)


def test_columns_are_joined_with_those_of_the_same_keys_and_types_only() -> None:
    def columns(first: int, info: dict[str, Any]) -> InfoColumns:
        (found,), _ = packed([(first, info), (first + 2, info)])
        return found

    one = columns(0, {"x": 0.5, "name": "one"})
    both = one.followed_by(columns(3, {"x": 1.5, "name": "other"}))
    assert both is not None and both.env_ids == (0, 2, 3, 5)
    assert [info["name"] for _, info in both.dicts()] == ["one", "one", "other", "other"]
    assert [info["x"] for _, info in both.dicts()] == [0.5, 0.5, 1.5, 1.5]
    # not ascending, other types, other keys, another order of the keys
    assert one.followed_by(columns(1, {"x": 1.5, "name": "other"})) is None
    assert one.followed_by(columns(3, {"x": 1, "name": "other"})) is None
    assert one.followed_by(columns(3, {"y": 1.5, "name": "other"})) is None
    assert one.followed_by(columns(3, {"name": "other", "x": 1.5})) is None


@pytest.mark.parametrize("value", COLUMNS, ids=repr)
def test_dead_environments_are_left_out(value: Any) -> None:
    infos = {i: {"number": i, "value": value} for i in range(5)}
    (some,), _ = packed(list(infos.items()))
    assert some.without({7, 8}) is some
    left = some.without({1, 4, 9})
    assert bits(dict(left.dicts())) == bits({i: infos[i] for i in (0, 2, 3)})


# ---------------------------------------------------------------------------------------- pools --


class WithInfos(gymnasium.Env[Any, Any]):
    """Returns infos that depend on its index, seed and steps."""

    observation_space = spaces.Box(-1, 1e6, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, index: int) -> None:
        self.index, self.steps = index, 0

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        info = {"fresh": self.index} if self.index % 2 else {}
        return self.show(), info

    def show(self) -> Any:
        return np.array([self.index, self.steps], np.float32)

    def step(self, action: Any) -> Any:
        self.steps += 1
        draw = self.np_random
        info: dict[str, Any] = {
            "x": float(draw.normal()),
            "n": self.steps,
            "is": bool(draw.integers(2)),
            "single": np.float32(draw.normal()),
            "place": draw.normal(size=2),
            "name": f"{self.index}",
        }
        if draw.integers(5) == 0:
            info["rare"] = draw.integers(9)
        if draw.integers(5) == 0:
            del info["x"]
        if draw.integers(6) == 0:
            info["n"] = 2.5
        if draw.integers(8) == 0:
            info = {}
        return self.show(), 1.0, self.steps >= 4 + self.index, draw.integers(9) == 0, info


def play_equally(ours: Any, theirs: Any, steps: int) -> None:
    """Resets and steps two vector environments; the first difference fails."""
    assert bits(ours.reset(seed=1)) == bits(theirs.reset(seed=1))
    for _ in range(steps):
        actions = np.zeros(ours.num_envs, np.int64)
        actual, expected = outcome(ours.step, actions), outcome(theirs.step, actions)
        assert actual == expected


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [0, 1, 2, 3])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vector_environments_return_the_infos_of_sync_vector_env(
    mode: AutoresetMode, num_workers: int
) -> None:
    env_fns = [partial(WithInfos, i) for i in range(7)]
    theirs = SyncVectorEnv(env_fns, autoreset_mode=mode)
    context = "fork" if num_workers else None
    ours = ProcessVectorEnv(env_fns, context=context, num_workers=num_workers, autoreset_mode=mode)
    try:
        play_equally(ours, theirs, 120)
    finally:
        ours.close()
        theirs.close()


def test_each_array_of_infos_is_the_callers_own() -> None:
    env_fns = [partial(Steady, i) for i in range(4)]
    env = ProcessVectorEnv(env_fns, context="fork", num_workers=2)
    try:
        env.reset()
        results = [env.step(np.zeros(4, np.int64))[4] for _ in range(2)]
        arrays = [array for infos in results for array in infos.values()]
        for i, array in enumerate(arrays):
            assert array.flags.writeable and array.flags.owndata
            assert not any(np.shares_memory(array, other) for other in arrays[:i])
    finally:
        env.close()


class Steady(WithInfos):
    """Always returns the same keys; ends its process at its third step if `dies`."""

    def __init__(self, index: int, dies: bool = False) -> None:
        super().__init__(index)
        self.dies = dies

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.dies and self.steps == 3:
            os._exit(1)
        info = {"x": 0.5 * self.steps, "n": self.index}
        return self.show(), 1.0, False, False, info


def test_a_worker_sends_one_message_for_all_its_environments() -> None:
    with ProcessPool(
        [partial(Steady, i) for i in range(6)], num_workers=2, start_method="fork"
    ) as pool:
        pool.reset()
        pool.step(np.zeros(6, np.int64))
        assert [i for i in range(6) if replies_of(pool).of(i)] == [0, 3]
        # neighbours with the same keys are joined
        assert [own[INFOS].env_ids for own in replies_of(pool).in_columns().values()] == [
            tuple(range(6))
        ]
        replies = pool.replies()
        assert bits(replies) == bits({i: {INFO: {"x": 0.5, "n": i}} for i in range(6)})
        # only some of them
        pool.step(np.zeros(2, np.int64), [4, 1])
        assert pool.replies() == {i: {INFO: {"x": 1.0, "n": i}} for i in (1, 4)}


class Numbers(WithInfos):
    """Returns numbers and arrays, and now and then other infos."""

    def step(self, action: Any) -> Any:
        *result, info = super().step(action)
        draw = self.np_random
        kept = {"x": float(draw.normal()), "single": np.float32(draw.normal()), "n": self.steps}
        kept["place"] = draw.normal(size=2)
        return *result, kept if draw.integers(30) else info


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_infos_of_all_environments_are_read_as_columns(
    monkeypatch: pytest.MonkeyPatch, num_workers: int
) -> None:
    as_columns: list[Any] = []
    one_by_one: list[Any] = []
    read, in_columns = ReplyTable.read, Replies.in_columns

    def count_columns(self: ReplyTable, *arguments: Any) -> Any:
        infos = read(self, *arguments)
        if infos is not None:
            as_columns.append(infos)
        return infos

    def count_others(self: Replies) -> Any:
        replies = in_columns(self)
        one_by_one.append(replies)
        return replies

    monkeypatch.setattr(ReplyTable, "read", count_columns)
    monkeypatch.setattr(Replies, "in_columns", count_others)
    env_fns = [partial(Numbers, i) for i in range(4)]
    theirs = SyncVectorEnv(env_fns)
    ours = ProcessVectorEnv(env_fns, context="fork", num_workers=num_workers)
    try:
        play_equally(ours, theirs, 150)
    finally:
        ours.close()
        theirs.close()
    assert min(len(as_columns), len(one_by_one)) > 10


def test_columns_are_read_only_from_the_replies_of_all_environments() -> None:
    env_fns = [partial(Steady, i, dies=i == 5) for i in range(6)]
    with ProcessPool(env_fns, num_workers=2, start_method="fork", on_error="restart") as pool:
        own = replies_of(pool)
        pool.reset()
        pool.step(np.zeros(6, np.int64))
        assert own.whole_infos() is None
        own.in_columns()
        infos = own.whole_infos()
        assert infos is not None
        assert {key: values.tolist() for key, values in infos.items()} == {
            "x": [0.5] * 6,
            "_x": [True] * 6,
            "n": list(range(6)),
            "_n": [True] * 6,
        }
        pool.step(np.zeros(3, np.int64), [0, 1, 2])
        assert own.whole_infos() is None
        pool.step(np.zeros(3, np.int64), [3, 4, 5])
        assert own.whole_infos() is None
        # the worker of the last three dies
        pool.step(np.zeros(6, np.int64))
        assert own.whole_infos() is None
        assert list(pool.replies()[5][INFO]) == ["worker_restarted", "restart_seed"]


def test_single_infos_are_packed_too() -> None:
    env_fns = [partial(Steady, i) for i in range(4)]
    with ProcessPool(env_fns, num_workers=2, batch_size=2, start_method="fork") as pool:
        pool.send_reset()
        for _ in range(6):
            env_ids = pool.recv().env_id
            for i in map(int, env_ids):
                reply = replies_of(pool).of(i)
                # the reset of an even environment has no infos
                assert reply is not None and list(reply) == [INFOS] * bool(reply)
                assert reply or i % 2 == 0
            kinds = {key for each in pool.replies().values() for key in each}
            assert kinds <= {INFO}
            pool.send(np.zeros(2, np.int64), env_ids)


def test_a_dead_workers_environments_report_only_the_restart() -> None:
    env_fns = [partial(Steady, i, dies=i == 1) for i in range(4)]
    with ProcessPool(env_fns, num_workers=2, start_method="fork", on_error="restart") as pool:
        pool.reset()
        for _ in range(3):
            pool.step(np.zeros(4, np.int64))
        replies = pool.replies()
        assert [list(replies[i][INFO]) for i in range(4)] == [
            ["worker_restarted", "restart_seed"],
            ["worker_restarted", "restart_seed"],
            ["x", "n"],
            ["x", "n"],
        ]


def test_a_worker_may_die_between_two_rows_of_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    (some,), _ = packed([(i, {"x": 0.5 * i}) for i in range(3)])
    restarted = {INFO: {"worker_restarted": True}}
    replied = ffi.new("int32_t[]", [0, 2])

    def list_replied(_: Any, count: Any) -> Any:
        count[0] = 2
        return replied

    own: Any = SimpleNamespace(
        _handle=None, _count=ffi.new("int32_t *"), _reply={0: {INFOS: some}, 2: restarted}.get
    )
    own.ids = partial(Replies.ids, own)
    monkeypatch.setattr(replies, "lib", SimpleNamespace(pp_pool_replied=list_replied))
    assert Replies.in_columns(own)[0][INFOS].env_ids == (0, 1)
    own.in_columns = partial(Replies.in_columns, own)
    assert Replies.by_env(own) == {0: {INFO: {"x": 0.0}}, 1: {INFO: {"x": 0.5}}, 2: restarted}


def test_an_environment_with_other_keys_has_itsreply_of() -> None:
    class Odd(Steady):
        def step(self, action: Any) -> Any:
            *result, info = super().step(action)
            return *result, {**info, "odd": [1]}

    env_fns = [partial(Odd if i == 1 else Steady, i) for i in range(3)]
    with ProcessPool(env_fns, num_workers=1, start_method="fork") as pool:
        pool.reset()
        pool.step(np.zeros(3, np.int64))
        replies = replies_of(pool).in_columns()
        assert replies[0][INFOS].env_ids == (0, 2)
        assert list(replies[1][INFO]) == ["x", "n", "odd"]
