"""Displays: lists and dicts that were just written, and take no memory until they change."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import storage
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import Empty, List, Map
from parallel_pool._translator.values import Fixed, Rec, Tup, Value

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


class OpenDict:
    """The class of a dict that is written empty, and gets keys by `dicts[agent]["key"] = value`.

    It is a record whose items may be missing. It is only written, and read where it is an info.
    """


def check_read(body: Body, *values: Value) -> None:
    """Raises Refusal if a value is such a dict, of which is not known what is there."""
    if any(isinstance(each, Rec) and each.cls is OpenDict for each in values):
        raise body.refuse(
            "a dict that was written empty is not read here: keep what is read in a name, too"
        )


class EmptyDict(Rec):
    """A dict without keys, to which some may come."""

    def __init__(self) -> None:
        super().__init__((), ())

    @property
    def type(self) -> Any:
        return Map(Empty(), Empty())


def like(one: Value, found: tuple[Value, ...]) -> Tup:
    """Returns a tuple or a list, as another value is one."""
    if isinstance(one, ListDisplay) or (isinstance(one, Fixed) and isinstance(one.value, list)):
        return ListDisplay(found)
    return Tup(found, one.cls if isinstance(one, Tup) else None)
