"""Objects: special methods of the user's classes, and whether objects and dicts are equal."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import aliasing, reader, records, storage
from parallel_pool._translator.types import Constant, Type
from parallel_pool._translator.values import Fixed, Mapping, Rec, Tup, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
# methods that change what the language does with an object: refused
UNUSUAL = ("__new__", "__setattr__", "__delattr__", "__getattr__", "__getattribute__", "__iter__")


def class_of(value: Value) -> type | None:
    """Returns the user's class of an object; None for others."""
    if isinstance(value, (Rec, Tup)):
        return value.cls
    if isinstance(value, Fixed) and not isinstance(value.value, type):
        cls: type = type(value.value)
        is_own = records.is_class(cls) or (issubclass(cls, tuple) and cls is not tuple)
        return cls if is_own else None
    return None


def written(cls: type | None, name: str) -> reader.Function | None:
    """Returns a special method that the user wrote; None if there is none."""
    if cls is None:
        return None
    for each in cls.__mro__:
        function = vars(each).get(name)
        if function is not None and reader.is_own(each):
            is_written = inspect.isfunction(function) and not _is_generated(function)
            return reader.find(cls, name) if is_written else None
    return None


def _is_generated(function: Any) -> bool:
    """Returns whether dataclass or NamedTuple wrote a method."""
    return bool(function.__code__.co_filename.startswith("<")) or function.__module__ in (
        "collections",
        "typing",
        "dataclasses",
    )


def special(body: Body, value: Value, name: str, *given: Value) -> Value | None:
    """Returns value.__name__(...); None if its class does not say what that is."""
    function = written(class_of(value), f"__{name}__")
    if function is None:
        return None
    return body.program.functions.call(
        body, body.program.instances.method(function, value), list(given), {}
    )


def operator(body: Body, op: ast.AST, one: Value, other: Value) -> Value | None:
    """Returns what the classes of operands say of an operator; None if they say nothing."""
    name = OPERATORS.get(type(op), "")
    if not name or (class_of(one) is None and class_of(other) is None):
        return None
    found = special(body, one, name, other)
    if found is None:
        found = special(body, other, MIRRORED.get(name, f"r{name}"), one)
    return found


def check(cls: type) -> str:
    """Returns why objects of a class are not translated; "" if they are."""
    for name in UNUSUAL:
        if written(cls, name) is not None:
            return f"{cls.__name__}.{name} is not translated: write a method with another name"
    if dataclasses.is_dataclass(cls) and written(cls, "__init__") is not None:
        return f"{cls.__name__}.__init__ is not translated: let @dataclass write it"
    return ""


def equal(body: Body, one: Value, other: Value) -> str | bool | None:
    """Returns whether two objects or dicts are equal; None for other values."""
    found = operator(body, ast.Eq(), one, other)
    if found is not None:
        return body.truth(found)
    if any(isinstance(each, Mapping) for each in (one, other)):
        return _maps_equal(body, one, other)
    a, b = _fields(body, one), _fields(body, other)
    if a is None or b is None:
        return None if a is None and b is None else False
    if a.cls is not b.cls or set(a.keys) != set(b.keys):
        return False
    if a.cls is not None and not records.has_equality(a.cls):
        return is_same(body, a, b)
    result: str | bool = True
    for key, item in zip(a.keys, a.items, strict=True):
        result = body.both(result, body.equal(item, b.items[b.keys.index(key)]))
    return result


def is_same(body: Body, one: Rec, other: Rec) -> str | bool:
    """Returns whether two objects are one.

    Raises:
        Refusal: one object may be in both places.
    """
    if one.cls is not other.cls:
        return False
    if aliasing.kind_of(one.type) is None or not one.place or not other.place:
        raise body.refuse("whether this is the same object is not translated: write ==")
    aliasing.compared(body, one, other)
    return f"({aliasing.pointer_of(one)} == {aliasing.pointer_of(other)})"


def _fields(body: Body, value: Value) -> Rec | None:
    """Returns an object or a dict with known keys; None for others."""
    if isinstance(value, Fixed) and records.is_object(value.value):
        names = records.names(value.value)
        items = tuple(Fixed(getattr(value.value, name)) for name in names)
        return Rec(names, items, cls=class_of(value))
    return value if isinstance(value, Rec) else body.record(value)


def _maps_equal(body: Body, one: Value, other: Value) -> str | bool | None:
    if not isinstance(one, Mapping):
        one, other = other, one
    assert isinstance(one, Mapping)
    if not isinstance(other, Mapping):
        known = _fields(body, other)
        if known is None or known.cls is not None:
            return False
        other = body.as_map(known, one.map_type)
    if one.map_type.is_counter or other.map_type.is_counter:
        raise body.refuse("whether Counters are equal is not translated: compare dict(...) of them")
    if one.is_always_empty or other.is_always_empty:
        return f"({one.c}->count == {other.c}->count)"
    found, index = body.c_variable("t", "bool"), body.c_variable("i", "int64_t")
    body.emit(f"{found} = {one.c}->count == {other.c}->count;")
    with body.block(f"for ({index} = 0; {found} && {index} < {one.c}->count; {index}++) {{"):
        at = body.find_key(other, _part(body, one.map_type.key, f"{one.c}->k[{index}]"))
        body.emit(f"{found} = {at} >= 0;")
        with body.block(f"if ({found}) {{"):
            mine = _part(body, one.map_type.item, f"{one.c}->v[{index}]")
            theirs = _part(body, other.map_type.item, f"{other.c}->v[{at}]")
            same = body.equal(mine, theirs)
            body.emit(f"{found} = {same if isinstance(same, str) else str(same).lower()};")
    return found


def _part(body: Body, of: Type, place: str) -> Value:
    return Fixed(of.value) if isinstance(of, Constant) else storage.load(body, of, place)
