"""Results that are known before the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._translator.values import Fixed, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def all_fixed(values: Sequence[Value]) -> bool:
    return all(isinstance(each, Fixed) for each in values)


def known_result(
    body: Body, function: Callable[..., Any], given: list[Value], otherwise: float = 0
) -> Value:
    """Returns a function of known values; raises in the program what it raises."""
    try:
        return Fixed(function(*(each.value for each in given)))  # type: ignore[attr-defined]
    except (ArithmeticError, ValueError) as error:
        body.fail(type(error).__name__, str(error))
        return Fixed(otherwise)
