"""Fitting: numbers that are given to NumPy's types of integers, which may not hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator.refusal import OVERFLOW
from parallel_pool._translator.types import FLOAT, INT, Number
from parallel_pool._translator.values import Arr, Fixed, Lst, Num, Tup, Value, as_number, cast

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def whole(body: Body, number: Num) -> Num:
    """Returns int(number) of a float."""
    c = body.temporary("double", cast(number.c, FLOAT, number.number))
    body.check(f"!isnan({c})", "ValueError", "cannot convert float NaN to integer")
    body.check(f"!isinf({c})", "OverflowError", "cannot convert float infinity to integer")
    body.check(f"{c} >= -0x1p63 && {c} < 0x1p63", "OverflowError", OVERFLOW)
    return body.number(INT, f"(int64_t){c}")


def number(body: Body, given: Num, item: Number) -> Num:
    """Returns a number that is stored as an item: NumPy refuses those of Python's that do not fit.

    NumPy's own floats are cut off for types without a sign.
    """
    if item.kind not in "iu" or given.number.kind == "b":
        return given
    is_cut = given.number.is_numpy and item.kind == "u"
    if given.number.kind == "f" and not is_cut:
        return _within(body, whole(body, given), item)
    return given if given.number.is_numpy else _within(body, given, item)


def _within(body: Body, given: Num, item: Number) -> Num:
    """Returns an int, which must be one of a type."""
    bounds = np.iinfo(item.dtype)
    if item.kind == "i" and item.bits == 64:
        return given
    if given.c.lstrip("-").isdigit() and bounds.min <= int(given.c) <= bounds.max:
        return given
    c = body.temporary("int64_t", given.c)
    most = min(bounds.max, 2**63 - 1)
    body.check(
        f"{c} >= {bounds.min} && {c} <= INT64_C({most})",
        "OverflowError",
        f"Python integer %lld out of bounds for {item.dtype.name}",
        f"(long long){c}",
    )
    return Num(INT, c)


def check(body: Body, value: Value, item: Number) -> None:
    """Raises in the program if an item of a value does not fit into an array of a type."""
    if item.kind not in "iu":
        return
    found = None if isinstance(value, Arr) else as_number(value)
    if found is not None:
        number(body, found, item)
    elif isinstance(value, Tup):
        for each in value.items:
            check(body, each, item)
    elif isinstance(value, Fixed) and isinstance(value.value, (list, tuple)):
        for each in value.value:
            check(body, Fixed(each), item)
    elif isinstance(value, Lst) and not _always_fits(value, item):
        body.iterate(value, lambda each: check(body, each, item), lambda: None)


def _always_fits(value: Lst, item: Number) -> bool:
    of = value.list_type.item
    return of == INT and item.kind == "i" and item.bits == 64


def operands(body: Body, values: Sequence[Value]) -> list[Value]:
    """Returns operands of NumPy: an int of Python's must fit into the type of the others."""
    types = [found for value in values if (found := _numpy_item(value)) is not None]
    kinds = {each.kind for each in types}
    if not types or not kinds <= {"i", "u"}:
        return list(values)
    of = np.result_type(*(each.dtype for each in types))
    if of.kind not in "iu":
        return list(values)
    item = Number(of.kind, 8 * of.itemsize, True)
    return [_fitted(body, value, item) for value in values]


def _numpy_item(value: Value) -> Number | None:
    """Returns the type of NumPy's numbers in a value; None for Python's."""
    if isinstance(value, Arr):
        return value.item
    if isinstance(value, Fixed) and isinstance(value.value, np.ndarray):
        return Number(value.value.dtype.kind, 8 * value.value.dtype.itemsize, True)
    found = as_number(value)
    return found.number if found is not None and found.number.is_numpy else None


def _fitted(body: Body, value: Value, item: Number) -> Value:
    found: Any = None if isinstance(value, Arr) else as_number(value)
    if found is None or found.number.is_numpy or found.number.kind != "i":
        return value
    return value if (fit := _within(body, found, item)) is found else fit
