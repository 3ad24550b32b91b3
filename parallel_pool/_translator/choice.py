"""Choice: a value that one of two ways makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parallel_pool._translator import arrays, storage
from parallel_pool._translator.types import Constant
from parallel_pool._translator.values import Arr, Fixed, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


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
        found = []
        orders = []
        for way in (then, otherwise):
            kept = dict(body.names), body.alive, body.indent
            with body.buffer():
                value = way()
                found.append(body.unbounded(value))
                orders += [value.order] if isinstance(value, Arr) else []
            body.names, body.alive, body.indent = kept
        of = storage.join(*found)
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
            self.result.order = arrays.one_order(orders)

    def value(self) -> Value:
        assert self.result is not None
        return self.result
