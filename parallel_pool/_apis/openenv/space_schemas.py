"""Space schemas: JSON schemas of Gymnasium's spaces, and the spaces of such schemas.

A schema of ours has the keyword "x-space", which says all that JSON Schema can't: dtypes, infinite
bounds, the characters of texts. Of a schema without it, such as those of other OpenEnv servers, the
space that is nearest is returned.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from parallel_pool._engine.arguments import quote

Schema = dict[str, Any]

KEYWORD = "x-space"
# the longest text that a schema without maxLength stands for
MAX_TEXT = 1 << 16
# references of schemas to others, one in the other
MAX_REFERENCES = 32
# its annotations leave out booleans, and dtypes as objects
make_box: Callable[..., spaces.Space[Any]] = spaces.Box


# -------------------------------------------------------------------------------- of spaces --


def schema_of(space: spaces.Space[Any], where: str) -> Schema:
    """Returns the JSON schema of a space.

    Args:
        space: Box, Discrete, MultiBinary, MultiDiscrete, Text, Dict, Tuple, or Sequence; the last
            not stacked.
        where: what the space is of, for the message.

    Raises:
        TypeError: it is another space.
    """
    for kind, make in MAKERS.items():
        if type(space) is kind:
            return make(space, where)
    raise TypeError(f"{where} is {quote(space)}, which has no form in JSON: wrap the environment")


def _nested(shape: tuple[int, ...], item: Schema) -> Schema:
    """Returns the schema of nested lists."""
    for size in reversed(shape):
        item = {"type": "array", "items": item, "minItems": size, "maxItems": size}
    return item


def _dtype(space: Any) -> str:
    """Returns the name of a dtype, one that says its order of bytes if that is not the usual."""
    dtype: np.dtype[Any] = np.dtype(space.dtype)
    return dtype.name if dtype.isnative else dtype.str


def _bound(values: np.ndarray[Any, Any]) -> Any:
    """Returns bounds: one number if all are the same; infinite ones as texts."""
    if values.size and np.all(values == values.flat[0]):
        values = values.flat[0]
    return _finite(values.tolist())


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value if math.isfinite(value) else str(value)


def _box(space: Any, where: str) -> Schema:
    low, high = _bound(space.low), _bound(space.high)
    kind = {"b": "boolean", "f": "number"}.get(space.dtype.kind, "integer")
    item: Schema = {"type": kind}
    for name, bound in (("minimum", low), ("maximum", high)):
        if kind != "boolean" and isinstance(bound, (int, float)):
            item[name] = bound
    exact = {"kind": "Box", "low": low, "high": high, "shape": list(space.shape)}
    return {**_nested(space.shape, item), KEYWORD: {**exact, "dtype": _dtype(space)}}


def _discrete(space: Any, where: str) -> Schema:
    start, n = int(space.start), int(space.n)
    exact = {"kind": "Discrete", "n": n, "start": start, "dtype": _dtype(space)}
    return {"type": "integer", "minimum": start, "maximum": start + n - 1, KEYWORD: exact}


def _multi_binary(space: Any, where: str) -> Schema:
    item = {"type": "integer", "minimum": 0, "maximum": 1}
    exact = {"kind": "MultiBinary", "n": space.n}
    return {**_nested(space.shape, item), KEYWORD: exact}


def _multi_discrete(space: Any, where: str) -> Schema:
    exact = {"kind": "MultiDiscrete", "nvec": space.nvec.tolist(), "start": space.start.tolist()}
    exact["dtype"] = _dtype(space)
    return {**_nested(space.shape, {"type": "integer"}), KEYWORD: exact}


def _text(space: Any, where: str) -> Schema:
    exact = {"kind": "Text", "characters": "".join(space.character_list)}
    lengths = {"minLength": space.min_length, "maxLength": space.max_length}
    return {"type": "string", **lengths, KEYWORD: exact}


def _dict(space: Any, where: str) -> Schema:
    properties = {key: schema_of(each, f"{where}.{key}") for key, each in space.spaces.items()}
    return {**_object(properties), KEYWORD: {"kind": "Dict"}}


def _object(properties: Mapping[str, Schema]) -> Schema:
    required = list(properties)
    form = {"type": "object", "properties": dict(properties), "required": required}
    return {**form, "additionalProperties": False}


def _tuple(space: Any, where: str) -> Schema:
    items = [schema_of(each, f"{where}[{i}]") for i, each in enumerate(space.spaces)]
    lengths = {"minItems": len(items), "maxItems": len(items)}
    return {"type": "array", "prefixItems": items, **lengths, KEYWORD: {"kind": "Tuple"}}


def _sequence(space: Any, where: str) -> Schema:
    if space.stack:
        raise TypeError(
            f"{where} is a stacked Sequence, which has no form in JSON: use stack=False"
        )
    items = schema_of(space.feature_space, f"{where}[]")
    return {"type": "array", "items": items, KEYWORD: {"kind": "Sequence"}}


MAKERS: dict[type, Callable[[Any, str], Schema]] = {
    spaces.Box: _box,
    spaces.Discrete: _discrete,
    spaces.MultiBinary: _multi_binary,
    spaces.MultiDiscrete: _multi_discrete,
    spaces.Text: _text,
    spaces.Dict: _dict,
    spaces.Tuple: _tuple,
    spaces.Sequence: _sequence,
}


# ------------------------------------------------------------------------------- of schemas --


def space_of(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> spaces.Space[Any]:
    """Returns the space of a schema.

    Args:
        schema: of a value.
        root: of the message, in which references are looked up; None: the schema itself.

    Raises:
        ValueError: the schema has no such space.
    """
    try:
        return _space_of(schema, schema if root is None else root, MAX_REFERENCES)
    except (KeyError, TypeError, AttributeError, AssertionError) as error:
        raise ValueError(f"{quote(schema)} has no space: {error!r}: give the space") from error


def _space_of(schema: Any, root: Any, left: int) -> spaces.Space[Any]:
    if "$ref" in schema:
        if not left:
            raise ValueError("its references have no end")
        return _space_of(_referred(schema["$ref"], root), root, left - 1)
    options = schema.get("anyOf") or schema.get("allOf")
    if options is not None:
        # what may be null is one of several
        if len(options) == 1:
            return _space_of(options[0], root, left - 1)
        raise ValueError(f"one of {len(options)} schemas")
    exact = schema.get(KEYWORD)
    if exact is not None and exact["kind"] in OF_OURS:
        return OF_OURS[exact["kind"]](exact)
    kind = exact["kind"] if exact is not None else schema.get("type")
    if "enum" in schema or "const" in schema:
        return _of_choices(schema.get("enum", [schema.get("const")]))
    if kind in ("Text", "string"):
        characters = string.printable if exact is None else exact["characters"]
        longest = schema.get("maxLength", MAX_TEXT)
        least = schema.get("minLength", 0)
        return spaces.Text(longest, min_length=least, charset=characters)
    if kind in ("Dict", "object"):
        parts = schema["properties"].items()
        return spaces.Dict([(key, _space_of(each, root, left)) for key, each in parts])
    if kind == "Tuple" or (kind == "array" and "prefixItems" in schema):
        return spaces.Tuple([_space_of(each, root, left) for each in schema["prefixItems"]])
    if kind in ("Sequence", "array"):
        return spaces.Sequence(_space_of(schema["items"], root, left))
    return _of_number(schema, kind)


def _referred(reference: str, root: Any) -> Any:
    found = root
    for name in reference.removeprefix("#/").split("/"):
        found = found[name]
    return found


def _of_choices(choices: list[Any]) -> spaces.Space[Any]:
    if choices and all(isinstance(each, str) for each in choices):
        longest = max(len(each) for each in choices)
        return spaces.Text(max(1, longest), min_length=0, charset="".join(choices) or "-")
    if choices and all(type(each) is int for each in choices):
        return spaces.Discrete(max(choices) - min(choices) + 1, start=min(choices))
    raise ValueError(f"enum of {quote(choices)}")


def _of_number(schema: Any, kind: Any) -> spaces.Space[Any]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if kind == "boolean":
        return make_box(0, 1, (), np.bool_)
    if kind == "integer":
        if low is not None and high is not None:
            return spaces.Discrete(high - low + 1, start=low)
        limits = np.iinfo(np.int64)
        low = limits.min if low is None else low
        return spaces.Box(low, limits.max if high is None else high, (), np.int64)
    if kind == "number":
        low = -math.inf if low is None else low
        return spaces.Box(low, math.inf if high is None else high, (), np.float64)
    raise ValueError(f"its type is {quote(kind)}")


def _numbers(bound: Any, dtype: str) -> Any:
    """Returns bounds as an array, infinite ones from their texts."""
    if isinstance(bound, list):
        return np.array([_numbers(each, dtype) for each in bound], dtype)
    return np.dtype(dtype).type(float(bound) if isinstance(bound, str) else bound)


def _box_of(exact: Any) -> spaces.Space[Any]:
    shape, dtype = tuple(exact["shape"]), exact["dtype"]
    low, high = _numbers(exact["low"], dtype), _numbers(exact["high"], dtype)
    return make_box(
        *(np.broadcast_to(low, shape), np.broadcast_to(high, shape)),
        *(shape, np.dtype(dtype)),
    )


OF_OURS: dict[str, Callable[[Any], spaces.Space[Any]]] = {
    "Box": _box_of,
    "Discrete": lambda exact: spaces.Discrete(
        exact["n"], start=exact["start"], dtype=np.dtype(exact["dtype"])
    ),
    "MultiBinary": lambda exact: spaces.MultiBinary(exact["n"]),
    "MultiDiscrete": lambda exact: spaces.MultiDiscrete(
        np.array(exact["nvec"]), np.dtype(exact["dtype"]), start=np.array(exact["start"])
    ),
}
