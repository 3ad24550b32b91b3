"""Values and spaces as JSON: what comes back equals what was written, bit by bit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool._apis.openenv.json_reader import from_json
from parallel_pool._apis.openenv.json_values import Arrays, as_base64, as_lists, to_json
from parallel_pool._apis.openenv.space_schemas import schema_of, space_of
from tests.support.same import assert_same
from tests.support.space_cases import SINGLE


def has_form(space: spaces.Space[Any]) -> bool:
    try:
        schema_of(space, "space")
    except TypeError as error:
        return "has no form in JSON" not in str(error)
    return True


ODD: list[spaces.Space[Any]] = [
    spaces.Box(-1, 1, (), np.float32),
    spaces.Box(-np.inf, np.inf, (3,), np.float64),
    spaces.Box(np.array([-1.5, -np.inf]), np.array([np.inf, 0.1]), dtype=np.float64),
    spaces.Box(0, 255, (5, 4, 3), np.uint8),
    spaces.Box(0, 2**64 - 1, (2,), np.uint64),
    spaces.Box(-(2**63), 2**63 - 1, (40,), np.int64),
    spaces.Box(0, 1, (2, 2), np.bool_),
    spaces.Box(-1, 1, (0,), np.float32),
    spaces.Discrete(5),
    spaces.Discrete(3, start=-1),
    spaces.MultiBinary(4),
    spaces.MultiBinary((2, 3)),
    spaces.MultiDiscrete([3, 2]),
    spaces.MultiDiscrete([[3, 2], [1, 9]], dtype=np.int32, start=[[1, -2], [0, 5]]),
    spaces.Text(6),
    spaces.Text(9, min_length=3, charset='a"\\é\n'),
    spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Dict({"c": spaces.Text(3)})}),
    spaces.Tuple([spaces.Discrete(2), spaces.Box(-1, 1, (2,), np.float16)]),
    spaces.Sequence(spaces.Box(-1, 1, (2,), np.float32)),
]
# what JSON can hold of the spaces of other tests
SPACES = [*ODD, *(space for space in SINGLE.values() if has_form(space))]


def through_text(value: Any, arrays: Arrays = as_lists) -> Any:
    return json.loads(json.dumps(to_json(value, arrays)))


@pytest.mark.quick(33)
@pytest.mark.parametrize("arrays", [as_lists, as_base64])
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_values_come_back(space: spaces.Space[Any], arrays: Arrays) -> None:
    space.seed(3)
    for _ in range(20):
        value = space.sample()
        if space.shape == () and not isinstance(space, spaces.Discrete):
            # some spaces sample scalars
            value = np.asarray(value)
        assert_same(from_json(through_text(value, arrays), space, "value"), value, "value")


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_spaces_come_back(space: spaces.Space[Any]) -> None:
    found = space_of(json.loads(json.dumps(schema_of(space, "space"))))
    assert found == space and repr(found) == repr(space)
    space.seed(1)
    found.seed(1)
    assert_same(found.sample(), space.sample(), "sample")


def test_numbers_that_are_not_finite() -> None:
    space = spaces.Box(-np.inf, np.inf, (40,), np.float32)
    value = np.array([np.nan, np.inf, -np.inf, -0.0] * 10, np.float32)
    for arrays in (as_lists, as_base64):
        found = from_json(through_text(value, arrays), space, "value")
        assert found.tobytes() == value.tobytes()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.1), float(np.float32(0.1))),
        (np.int64(2**63 - 1), 2**63 - 1),
        (np.bool_(True), True),
        (np.longdouble(0.5), 0.5),
        (np.str_("x"), "x"),
        (b"\x00\xff", "AP8="),
        ({1: (2, {3})}, {"1": [2, [3]]}),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([{"a": np.int8(1)}, None]), [{"a": 1}, None]),
        (np.array([np.longdouble(1)]), [1.0]),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_infos_of_any_type(value: Any, expected: Any) -> None:
    found = through_text(value)
    assert found == expected and type(found) is type(expected)


def test_an_object_without_a_repr() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError

    assert to_json(Odd()).startswith("<Odd instance")


def test_a_value_that_contains_itself() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(RecursionError):
        to_json(value)


BOX = spaces.Box(-1, 1, (2,), np.float32)
BYTES = spaces.Box(0, 255, (2,), np.uint8)
WRONG: list[tuple[Any, spaces.Space[Any], str]] = [
    ([1], BOX, r"shape \(1,\): give \(2,\)"),
    ([[1], [1, 2]], BOX, "differ in length"),
    (["1", "2"], BOX, "give numbers"),
    ([["1"], [2, 3]], BOX, "give numbers"),
    ([[[1], ["2"]], 3], BOX, "give numbers"),
    ("1", BOX, "give numbers"),
    ([None, 1], BOX, "give numbers"),
    ([None, [1, 2]], BOX, "differ in length"),
    ([{"a": 1}, 1], BOX, "give numbers"),
    ([True, False], BOX, "give numbers of float32"),
    ([10**400, 1], BOX, "give numbers|does not fit"),
    (3, BOX, r"shape \(\)"),
    ({"base64": "AAAA"}, BOX, '"dtype"'),
    ({"base64": "AAAA", "dtype": None, "shape": [2]}, BOX, '"dtype"'),
    ({"base64": "", "dtype": "<f4", "shape": [1] * 65}, BOX, '"dtype"'),
    ({"base64": "!", "dtype": "<f4", "shape": [2]}, BOX, '"dtype"'),
    ({"base64": "AAAA", "dtype": "O", "shape": [2]}, BOX, '"dtype"'),
    ({"base64": "AAAAAAAAAAA=", "dtype": "<f4", "shape": [-1, -2]}, BOX, '"dtype"'),
    ({"base64": "AAAAAAAAAAA=", "dtype": "<f4,<f4", "shape": [1]}, BOX, '"dtype"'),
    ([256, 0], BYTES, "does not fit"),
    ([-1, 0], BYTES, "does not fit"),
    ([0.5, 0], BYTES, "numbers of uint8"),
    (2, spaces.Discrete(2), "from 0 to 1"),
    (True, spaces.Discrete(2), "from 0 to 1"),
    (1.0, spaces.Discrete(2), "from 0 to 1"),
    ("x" * 3, spaces.Text(2), "give a text"),
    ("é", spaces.Text(2), "give a text"),
    (1, spaces.Text(2), "give a text"),
    ([0, 2], spaces.MultiDiscrete([2, 2]), "not in"),
    ([0, 2], spaces.MultiBinary(2), "not in"),
    ({"a": 0}, spaces.Dict({"b": spaces.Discrete(2)}), "give an object with"),
    ([0], spaces.Dict({"b": spaces.Discrete(2)}), "give an object with"),
    ({"b": 2}, spaces.Dict({"b": spaces.Discrete(2)}), r"value\.b is 2"),
    ([0], spaces.Tuple([spaces.Discrete(2)] * 2), "has 1 items: give 2"),
    (0, spaces.Tuple([spaces.Discrete(2)]), "give a list"),
    ([0, 2], spaces.Sequence(spaces.Discrete(2)), r"value\[1\] is 2"),
]


@pytest.mark.parametrize(("value", "space", "text"), WRONG)
def test_wrong_actions(value: Any, space: spaces.Space[Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        from_json(value, space, "value")


@pytest.mark.parametrize(
    "make",
    [
        lambda: spaces.Graph(spaces.Discrete(2), None),
        lambda: spaces.OneOf([spaces.Discrete(2)]),
        lambda: spaces.Sequence(spaces.Discrete(2), stack=True),
        lambda: spaces.Dict({"a": spaces.OneOf([spaces.Discrete(2)])}),
    ],
)
def test_spaces_without_a_form(make: Callable[[], spaces.Space[Any]]) -> None:
    with pytest.raises(TypeError, match=r"^space.* has no form in JSON"):
        schema_of(make(), "space")


SCHEMAS: list[tuple[Any, spaces.Space[Any]]] = [
    ({"type": "integer", "minimum": 1, "maximum": 3}, spaces.Discrete(3, start=1)),
    ({"type": "integer"}, spaces.Box(-(2**63), 2**63 - 1, (), np.int64)),
    ({"type": "number", "minimum": 0}, spaces.Box(0, math.inf, (), np.float64)),
    ({"type": "boolean"}, spaces.Box(0, 1, (), np.bool_)),
    ({"enum": [3, 1]}, spaces.Discrete(3, start=1)),
    ({"const": "up"}, spaces.Text(2, min_length=0, charset="up")),
    ({"allOf": [{"$ref": "#/$defs/N"}], "$defs": {"N": {"enum": [0, 1]}}}, spaces.Discrete(2)),
    (
        {"type": "array", "items": {"type": "boolean"}},
        spaces.Sequence(spaces.Box(0, 1, (), np.bool_)),
    ),
]


@pytest.mark.parametrize(("schema", "space"), SCHEMAS)
def test_schemas_of_others(schema: Any, space: spaces.Space[Any]) -> None:
    assert space_of(schema) == space


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "array"},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"$ref": "#/a"},
        {"$ref": "#/a", "a": {"$ref": "#/a"}},
        {"enum": [1.5]},
        {"type": "integer", "minimum": 3, "maximum": 1},
        [],
    ],
)
def test_schemas_without_a_space(schema: Any) -> None:
    with pytest.raises(ValueError):
        space_of(schema)
