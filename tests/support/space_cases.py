"""Spaces of every kind, environments that have them, and helpers to compare their values."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import strategies as st

from tests.support.same import assert_same

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
    """A space that Gymnasium does not know."""

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


def seed_spaces(request: pytest.FixtureRequest) -> None:
    """Seeds the spaces of a test, so that samples do not depend on the tests before it."""
    given = getattr(request.node, "callspec", None)
    for space in [*TREES.values(), *SINGLE.values()] if given is None else given.params.values():
        if isinstance(space, spaces.Space):
            space.seed(3)


class Recorder(gymnasium.Env[Any, Any]):
    """Samples observations, records them and its actions, and ends its episode every third step."""

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


def recorders(space: spaces.Space[Any]) -> tuple[list[Recorder], SyncVectorEnv]:
    envs = [Recorder(space, seed) for seed in range(NUM)]
    makers: list[Callable[[], Recorder]] = [lambda env=env: env for env in envs]
    vector = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    vector.action_space.seed(7)
    return envs, vector


def rearranged(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns the same tree with all arrays changed, and lists for tuples."""
    if isinstance(value, dict):
        return {key: rearranged(part, change) for key, part in value.items()}
    if isinstance(value, tuple):
        return [rearranged(part, change) for part in value]
    return change(value)


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns the same tree with all arrays changed."""
    if isinstance(value, dict):
        return {key: changed(part, change) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(changed(part, change) for part in value)
    return change(value)


def is_steppable(space: Any) -> bool:
    """Says whether SyncVectorEnv can take its actions: not those of an empty Dict or Tuple."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = list(space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces)
        return bool(parts) and all(map(is_steppable, parts))
    return True


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


def is_same(one: Any, other: Any) -> bool:
    try:
        assert_same(one, other, "value")
    except AssertionError:
        return False
    return True
