"""Choice: a value that one of two ways makes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import aliasing, arrays, storage
from parallel_pool._translator.types import Constant
from parallel_pool._translator.values import Arr, Fixed, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def _either(body: Body, condition: str, values: list[Value], ways: tuple[Any, Any]) -> Value:
    """Returns what a C pointer refers to, which one of two ways sets."""
    root = aliasing.joined_root(*values)
    like = values[0]
    if isinstance(like, Arr):
        like = replace(like, order=_order(values))
    result = body.through_pointer(body.name("ref"), like, root)
    pointer = aliasing.pointer_of(result).strip("&(*)")
    then, otherwise = (lambda way=way: aliasing.point(body, pointer, way()) for way in ways)
    body.branch(condition, then, otherwise)
    return result


def _order(values: list[Value]) -> tuple[int, ...]:
    """Returns the order in memory of an array that is one of these."""
    return arrays.one_order([each.order for each in values if isinstance(each, Arr)])


class Choice:
    """A value that one of two ways makes."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.result: Value | None = None

    def branch(self, condition: str | bool, then: Any, otherwise: Any) -> None:
        body = self.body
        if isinstance(condition, bool):
            self.result = (then if condition else otherwise)()
            return
        # the types of both: translated once for nothing
        values = []
        for way in (then, otherwise):
            with body.tried():
                values.append(way())
        body.program.reset_options.meet(values)
        if all(map(aliasing.is_reference, values)) and values[0].type == values[1].type:
            self.result = _either(body, condition, values, (then, otherwise))
            return
        of = storage.join(*map(body.unbounded, values))
        if isinstance(of, Constant):
            self.result = Fixed(of.value)
            body.branch(condition, lambda: then(), lambda: otherwise())
            return
        place = body.variable("t", of)

        def keep(way: Any) -> None:
            storage.store(body, of, place, way(), "the value")

        body.branch(condition, lambda: keep(then), lambda: keep(otherwise))
        self.result = storage.load(body, of, place)
        if isinstance(self.result, Arr):
            self.result.order = _order(values)

    def value(self) -> Value:
        assert self.result is not None
        return self.result
