"""Displays: lists and dicts that were just written, and take no memory until they change."""

from __future__ import annotations

import ast
import functools
import itertools
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import storage
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import Empty, List, Map, OpenDict
from parallel_pool._translator.values import Fixed, Mapping, Rec, Tup, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

# lists that were written down, one by one
NUMBERS = itertools.count()


class ListDisplay(Tup):
    """A list that was just written: a tuple, until it is kept or changed."""

    def __init__(self, items: tuple[Value, ...]) -> None:
        super().__init__(items)
        self.number = next(NUMBERS)

    @property
    def type(self) -> Any:
        item: Any = Empty()
        for each in self.items:
            try:
                item = storage.join_items(item, storage.item_type(each))
            except Refusal:
                return Tup(self.items).type
        return List(item)


def same(one: Value, found: tuple[Value, ...]) -> Tup:
    """Returns the same tuple or list, whose items are elsewhere now."""
    result = like(one, found)
    if isinstance(one, ListDisplay) and isinstance(result, ListDisplay):
        result.number = one.number
    return result


def is_repeated(value: Value) -> bool:
    """Returns whether a list that was just written holds a list twice."""
    return isinstance(value, ListDisplay) and any(
        one is other
        for i, one in enumerate(value.items)
        for other in value.items[:i]
        if not isinstance(one, Fixed)
    )


def check_read(body: Body, *values: Value) -> None:
    """Raises Refusal if a value is a dict of which is not known what is there."""
    if any(isinstance(each, Rec) and each.cls is OpenDict for each in values):
        raise body.refuse(
            "a dict whose keys depend on the way is not read here: keep what is read in a name, too"
        )


class EmptyDict(Rec):
    """A dict without keys, to which some may come."""

    def __init__(self) -> None:
        super().__init__((), ())

    @property
    def type(self) -> Any:
        return Map(Empty(), Empty())


def returned_infos(tree: ast.FunctionDef) -> list[ast.expr]:
    """Returns what step() or reset() returns as its last part."""
    found = [each.value for each in ast.walk(tree) if isinstance(each, ast.Return)]
    return [each.elts[-1] for each in found if isinstance(each, ast.Tuple) and each.elts]


# a class is translated several times, until its types are known
@functools.lru_cache(256)
def infos_of(tree: ast.FunctionDef, makers: frozenset[str]) -> frozenset[str]:
    """Returns the names of infos in a function, which it writes and returns, and does not read.

    Args:
        tree: the function.
        makers: the names of methods that return infos.
    """
    returned = returned_infos(tree) if tree.name in ("step", "reset") else []
    if tree.name in makers:
        returned = [each.value for each in ast.walk(tree) if isinstance(each, ast.Return)]  # type: ignore[misc]
    names = {each.id for each in returned if isinstance(each, ast.Name)}
    allowed = {id(each) for each in returned}
    for each in ast.walk(tree):
        is_set = isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store)
        if is_set or (isinstance(each, ast.Attribute) and each.attr == "update"):
            allowed.add(id(each.value))  # type: ignore[attr-defined]
    read = {
        each.id
        for each in ast.walk(tree)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and id(each) not in allowed
    }
    return frozenset(names - read)


def is_empty_info(body: Body, tree: ast.expr, value: Value) -> bool:
    """Returns whether a value is an info that has no keys so far; tree: its expression."""
    if not isinstance(value, Mapping) or not value.is_always_empty:
        return False
    names = [n for n, v in body.names.items() if isinstance(v, Mapping) and v.c == value.c]
    return isinstance(tree, ast.Name) and names == [tree.id] and tree.id in body.shown_names


def like(one: Value, found: tuple[Value, ...]) -> Tup:
    """Returns a tuple or a list, as another value is one."""
    if isinstance(one, ListDisplay) or (isinstance(one, Fixed) and isinstance(one.value, list)):
        return ListDisplay(found)
    return Tup(found, one.cls if isinstance(one, Tup) else None)


def put(keys: list[Any], items: list[Value], key: Any, item: Value) -> None:
    """Puts an entry into the keys and items of a dict that is being written."""
    if key in keys:
        items[keys.index(key)] = item
    else:
        keys.append(key)
        items.append(item)
