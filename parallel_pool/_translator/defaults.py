"""Defaults: defaultdict and Counter, whose missing keys are no errors."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from parallel_pool._translator import containers, library, missing, operators, storage
from parallel_pool._translator.choice import Choice
from parallel_pool._translator.displays import ListDisplay
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import INT, Empty, Known, List, Map, Type
from parallel_pool._translator.values import Fixed, Flat, Lambda, Mapping, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def new_default_dict(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    """defaultdict(factory)"""
    if len(given) != 1 or keywords:
        raise body.refuse("a defaultdict is made empty here: give it a factory, and set the keys")
    factory = given[0]
    try:
        if isinstance(factory, Lambda):
            value = body.called_lambda(factory, [])
            if not isinstance(value, Fixed):
                raise body.refuse(
                    "a defaultdict of values that change is not translated: set the entry where the"
                    " key is new"
                )
            known = missing.of_made(value.value)
        else:
            known = missing.of_factory(getattr(factory, "value", None))
    except Refusal as refusal:
        raise body.refuse(refusal.args[0]) from None
    return containers.new_map(body, Map(Empty(), Empty(), missing=known))


def new_counter(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    """Counter(iterable)"""
    of = Map(Empty(), Empty(), missing=Known(Counter))
    if keywords:
        raise body.refuse("a Counter of keywords is not translated: set the keys")
    if not given:
        return containers.new_map(body, of)
    value = body.plain(given[0])
    _check_counted(body, value)
    found: list[Type] = [Empty()]
    with body.tried():
        body.each_item(
            value,
            lambda item: found.append(storage.join_items(found[-1], storage.item_type(item))),
        )
    made = containers.new_map(body, of.holding(found[-1], INT))
    body.each_item(value, lambda item: _count(body, made, item))
    return made


def _check_counted(body: Body, value: Value) -> None:
    if isinstance(value, Mapping) or containers.record(body, value) is not None:
        raise body.refuse("counts of a dict are not translated: add them one by one")


def _count(body: Body, value: Mapping, key: Value) -> None:
    """Adds 1 to the count of a key."""
    key = body.kept(key)
    new = operators.binary(body, ast.Add(), body.plain(item(body, value, key)), Fixed(1))
    containers.set_entry(body, value, key, new)


def widened(body: Body, value: Mapping, key: Value) -> Mapping:
    """Returns a dict that can hold a key, and what it has for one that is not there."""
    return containers.wide_enough(body, value, key, _default(body, value.map_type))


def item(body: Body, value: Mapping, key: Value) -> Value:
    """Returns what such a dict has under a key."""
    of = value.map_type
    if of.is_counter:
        return _counted(body, value, key)
    containers.changeable(body, value)
    return containers.set_default(body, value, key, _default(body, of))


def _counted(body: Body, value: Mapping, key: Value) -> Value:
    if value.is_always_empty:
        return Fixed(0)
    at = containers.find_key(body, value, key)
    chosen = Choice(body)
    chosen.branch(
        f"({at} >= 0)",
        lambda: storage.load(body, value.map_type.item, f"{value.c}->v[{at}]", value.root),
        lambda: Fixed(0),
    )
    return chosen.value()


def _default(body: Body, of: Map) -> Value:
    """Returns what a dict has for a key that is not there."""
    assert of.missing is not None
    known = of.missing.value
    if known is list:
        return ListDisplay(())
    if known is set:
        return containers.new_list(body, List(Empty(), is_set=True), "4")
    return Fixed(0 if known is Counter else known)


def method(body: Body, value: Mapping, name: str, given: list[Value]) -> Value | None:
    """Returns what a method returns that a Counter has, and a dict has not, or another."""
    if name == "update" and len(given) == 1:
        other = body.plain(given[0])
        _check_counted(body, other)
        found: list[Value] = []
        with body.tried():
            body.each_item(other, found.append)
        for each in found:
            value = containers.wide_enough(body, value, each, Fixed(0))
        body.each_item(other, lambda key: _count(body, value, key))
        return Fixed(None)
    if name == "total":
        return body.apply(Fixed(sum), [Flat("values", (value,))], {})
    if name == "most_common":
        return body.program.functions.call_function(body, library.most_common, [value, *given], {})
    if name in ("elements", "subtract"):
        raise body.refuse(f"{name}() of a Counter is not translated: write a loop")
    return None
