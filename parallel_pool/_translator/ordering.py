"""Ordering: lists that are sorted, and the least and the greatest by a key."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from parallel_pool._translator import aliasing, arrays, operators, storage
from parallel_pool._translator.choice import Choice
from parallel_pool._translator.types import Empty, List, Number, Record, Tuple, Type
from parallel_pool._translator.values import Arr, Fixed, Lst, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def sort(body: Body, value: Lst, keywords: dict[str, Value]) -> None:
    """Sorts a list; insertion keeps the order of equal items, as Python does."""
    is_reverse = bool(body.known(keywords.get("reverse", Fixed(False)), "reverse"))
    of = value.list_type.item
    if isinstance(of, Empty):
        return
    key = key_of(keywords)
    keys = value if key is None else _keys(body, value, key)
    lists = [value] if key is None else [value, keys]
    kept = [body.variable("t", each.list_type.item) for each in lists]
    i, j = body.c_variable("i", "int64_t"), body.c_variable("i", "int64_t")
    _check_order(body, keys, i)
    with body.block(f"for ({i} = 1; {i} < {value.c}->count; {i}++) {{"):
        for place, each in zip(kept, lists, strict=True):
            body.emit(f"{place} = {each.c}->v[{i}];")
        with body.block(f"for ({j} = {i}; {j} > 0; {j}--) {{"):
            before = storage.load(body, keys.list_type.item, f"{keys.c}->v[{j} - 1]")
            own = storage.load(body, keys.list_type.item, kept[-1])
            sign = ast.Gt() if is_reverse else ast.Lt()
            found = body.truth(operators.compare(body, sign, own, before))
            body.emit(f"if (!{found}) break;")
            for each in lists:
                body.emit(f"{each.c}->v[{j}] = {each.c}->v[{j} - 1];")
        for place, each in zip(kept, lists, strict=True):
            body.emit(f"{each.c}->v[{j}] = {place};")


def key_of(keywords: dict[str, Value]) -> Value | None:
    """Returns the function that is given as a key."""
    key = keywords.get("key")
    return None if isinstance(key, Fixed) and key.value is None else key


def _keys(body: Body, value: Lst, key: Value) -> Lst:
    """Returns the list of the keys of a list's items."""
    of = _key_type(body, value, key)
    made = body.new_list(List(of), f"{value.c}->count + 1")
    body.each_item(value, lambda item: body.append(made, body.apply(key, [item])))
    return made


def _key_type(body: Body, value: Value, key: Value) -> Type:
    found: list[Type] = []
    with body.tried():
        body.each_item(value, lambda each: found.append(storage.item_type(body.apply(key, [each]))))
    of: Type = Empty()
    for each in found:
        of = storage.join_items(of, each)
    return of


def _check_order(body: Body, keys: Lst, i: str) -> None:
    """Checks that there is no NaN, with which Python's order depends on its way to sort."""
    floats = list(_floats(keys.list_type.item, ""))
    if floats:
        with body.block(f"for ({i} = 0; {i} < {keys.c}->count; {i}++) {{"):
            for each in floats:
                is_number = f"!isnan({keys.c}->v[{i}]{each})"
                body.check(is_number, "NotImplementedError", "sort() of NaN is not translated")


def _floats(of: Type, place: str) -> Sequence[str]:
    """Returns the places of floats in what is stored for a type."""
    if isinstance(of, Number):
        return [place] if of.kind == "f" else []
    if isinstance(of, (Tuple, Record)):
        parts = [_floats(each, f"{place}.f{i}") for i, each in enumerate(of.items)]
        return [each for part in parts for each in part]
    return []


def extreme_by(body: Body, name: str, value: Value, key: Value, default: Value | None) -> Value:
    """Returns the first item whose key is the least, or the greatest."""
    items: list[Value] = []
    with body.tried():
        body.each_item(value, items.append)
    if not items and default is not None:
        return default
    if not items:
        body.fail("ValueError", f"{name}() arg is an empty sequence")
        return Fixed(0)
    of_key = _key_type(body, value, key)
    best, found = body.variable("t", of_key), body.variable("t", of_key)
    some = body.c_variable("t", "bool")
    body.emit(f"{some} = false;")
    keep, result = _kept(body, items)
    sign = ast.Gt() if name == "max" else ast.Lt()

    def compare(item: Value) -> None:
        item = body.kept(item) if not body.may_change(item.type) else item
        storage.store(body, of_key, found, body.apply(key, [item]), "a key")
        body.emit(f"if (!{some}) {best} = {found};")
        one, other = (storage.load(body, of_key, each) for each in (found, best))
        is_better = operators.c_truth(body.truth(operators.compare(body, sign, one, other)))

        def take() -> None:
            body.emit(f"{some} = true; {best} = {found};")
            keep(item)

        body.branch(f"(!{some} || {is_better})", take, lambda: None)

    body.each_item(value, compare)
    if default is None:
        body.check(some, "ValueError", f"{name}() arg is an empty sequence")
        return result()
    chosen = Choice(body)
    chosen.branch(some, result, lambda: default)
    return chosen.value()


def _kept(
    body: Body, items: Sequence[Value]
) -> tuple[Callable[[Value], None], Callable[[], Value]]:
    """Returns what keeps one of some items, and what returns it."""
    first = items[0]
    if all(aliasing.is_reference(each) and each.type == first.type for each in items):
        if isinstance(first, Arr):
            orders = [each.order for each in items if isinstance(each, Arr)]
            first = replace(first, order=arrays.one_order(orders))
        result = body.through_pointer(body.name("ref"), first, aliasing.joined_root(*items))
        pointer = aliasing.pointer_of(result).strip("&(*)")
        return lambda item: aliasing.point(body, pointer, item), lambda: result
    of = functools.reduce(storage.join, map(body.unbounded, items))
    place = body.variable("t", of)
    return (
        lambda item: storage.store(body, of, place, item, "the item"),
        lambda: storage.load(body, of, place),
    )
