"""Unions: values that are of one of several types, and what is computed with them.

Which type it is decides how NumPy computes: what reads such a value is translated for each type.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from parallel_pool._translator import displays, storage
from parallel_pool._translator.types import FLOAT, INT, Constant, Number, Type, Union, united
from parallel_pool._translator.values import Arr, Fixed, Num, Opt, Rec, Tup, Uni, Value, cast

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def spread(body: Body, values: Sequence[Value], function: Callable[[list[Value]], Value]) -> Value:
    """Returns function(values), translated for each type that a value in them may have."""
    values = [body.plain(each) if _may_be_none(each) else each for each in values]
    found = first(values)
    if found is None:
        return function(list(values))

    def way(i: int) -> Value:
        member = _member(body, found, i)
        return spread(body, [replaced(each, found, member) for each in values], function)

    return _one_of(body, found, way)


def _one_of(body: Body, value: Uni, way: Callable[[int], Value]) -> Value:
    """Returns what one of several ways makes; the type that a union has chooses it."""
    of = functools.reduce(_of_both, _types(body, len(value.union.items), way))
    place = body.variable("t", of)

    def keep(i: int) -> None:
        result = way(i)
        if not isinstance(of, Constant):
            storage.store(body, of, place, result, "the value")

    _branches(body, value, 0, keep)
    return Fixed(of.value) if isinstance(of, Constant) else storage.load(body, of, place)


def _types(body: Body, count: int, way: Callable[[int], Value]) -> list[Type]:
    """Returns the types of what ways make: each is translated once for nothing."""
    found = []
    for i in range(count):
        with body.tried():
            found.append(body.unbounded(way(i)))
    return found


def _of_both(one: Type, other: Type) -> Type:
    """Returns the type of what may be either: floats stay apart, as their types differ on."""
    floats = [
        each for of in (one, other) for each in (of.items if isinstance(of, Union) else (of,))
    ]
    if all(isinstance(each, Number) and each.kind == "f" for each in floats):
        return united(one, other)
    return storage.join(one, other)


def _alternatives(of: Type) -> tuple[Type, ...]:
    return of.items if isinstance(of, Union) else (of,)


def _branches(body: Body, value: Uni, i: int, way: Callable[[int], None]) -> None:
    if i == len(value.union.items) - 1:
        way(i)
        return
    which = f"({value.place}.which == {i})"
    body.branch(which, lambda: way(i), lambda: _branches(body, value, i + 1, way))


def each(body: Body, value: Value, function: Callable[[Value], None]) -> None:
    """Calls function(value), for each type that it may have."""
    union = body.plain(value)
    if isinstance(union, Uni):
        _branches(body, union, 0, lambda i: function(_member(body, union, i)))
    else:
        function(union)


def _member(body: Body, value: Uni, i: int) -> Value:
    member = storage.load(body, value.union.items[i], f"{value.place}.f{i}", value.root)
    if value.is_foreign and isinstance(member, (Arr, Uni)):
        member.is_foreign = True
    return member


def _may_be_none(value: Value) -> bool:
    return isinstance(value, Opt) and isinstance(value.optional.item, Union)


def first(values: Sequence[Value]) -> Uni | None:
    """Returns the first union in values, and in tuples and dicts among them."""
    for value in values:
        if isinstance(value, Uni):
            return value
        if isinstance(value, (Tup, Rec)) and (found := first(value.items)):
            return found
    return None


def replaced(value: Value, union: Uni, member: Value) -> Value:
    """Returns a value in which a union has one of its types."""
    if isinstance(value, Uni):
        return member if value.place == union.place else value
    if isinstance(value, Tup) and first(value.items):
        return displays.like(value, tuple(replaced(each, union, member) for each in value.items))
    if isinstance(value, Rec) and first(value.items):
        items = tuple(replaced(each, union, member) for each in value.items)
        return Rec(value.keys, items, cls=value.cls)
    return value


def widest(value: Uni) -> Value:
    """Returns a union of numbers as one that holds them all, where the type does not matter."""
    kinds = {each.kind for each in value.union.items if isinstance(each, Number)}
    return _as_number(value, FLOAT if "f" in kinds else INT)


def as_type(value: Value, to: Number) -> Value:
    """Returns a value whose unions of numbers, in tuples too, have become numbers of one type."""
    if isinstance(value, Tup):
        return displays.like(value, tuple(as_type(each, to) for each in value.items))
    if not isinstance(value, Uni) or not value.is_number:
        return value
    return _as_number(value, to)


def _as_number(value: Uni, to: Number) -> Value:
    c = ""
    for i, of in reversed(list(enumerate(value.union.items))):
        assert isinstance(of, Number)
        one = cast(f"{value.place}.f{i}", to, of)
        c = f"({value.place}.which == {i} ? {one} : {c})" if c else one
    return Num(to, c)
