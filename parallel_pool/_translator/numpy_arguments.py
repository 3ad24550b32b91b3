"""NumPy: dtypes, shapes and axes that its functions take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    arrays,
    fitting,
    unions,
)
from parallel_pool._translator.types import (
    BOOL,
    FLOAT,
    INT,
    Number,
    of_dtype,
)
from parallel_pool._translator.values import (
    Arr,
    Dim,
    Fixed,
    Lst,
    Num,
    Tup,
    Value,
    as_number,
    cast,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

Keywords = dict[str, Value]
BUILTIN_DTYPES = {float: np.float64, int: np.int64, bool: np.bool_}


def dtype_of(body: Body, value: Value | None, default: Number | None = None) -> Number | None:
    """Returns the numbers of a dtype argument."""
    if value is None or (isinstance(value, Fixed) and value.value is None):
        return default
    if not isinstance(value, Fixed):
        raise body.refuse("a dtype that is not known is not translated")
    try:
        found = of_dtype(BUILTIN_DTYPES.get(value.value, value.value))
    except TypeError:
        raise body.refuse(f"{value.value!r} is no dtype") from None
    if found is None:
        raise body.refuse(f"arrays of {np.dtype(value.value)} are not translated")
    return found


def of_one_type(body: Body, function: Any, given: list[Value], keywords: Keywords) -> list[Value]:
    """Returns the arguments of a function; those of np.array have the type that it makes."""
    dtype = argument(given, keywords, 1, "dtype")
    if function not in (np.array, np.asarray) or dtype is None:
        return given
    item = dtype_of(body, dtype)
    return given if item is None else [unions.as_type(given[0], item), *given[1:]]


def as_python(number: Num) -> Num:
    """Returns x.item(): a number of Python's."""
    of = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT}[number.number.kind]
    return Num(of, cast(number.c, of, number.number))


def scalar(body: Body, dtype: Value, value: Value) -> Value:
    """np.float32(x), and x.astype(...) of a number."""
    item = dtype_of(body, dtype)
    assert item is not None
    value = body.plain(value)
    if isinstance(value, (Arr, Lst, Tup)):
        return arrays.converted(body.array(value), item)
    number = body.as_num(value)
    if not number.number.is_numpy:
        number = fitting.number(body, number, item)
    return body.number(item, cast(number.c, item, number.number))


def shape_of(body: Body, value: Value) -> tuple[Dim, ...]:
    """Returns the axes of a shape argument."""
    value = body.plain(value)
    if as_number(value) is not None:
        return (body.dim(value),)
    items = body.items(value)
    if items is None:
        raise body.refuse("a shape that is not known is not translated")
    return tuple(body.dim(each) for each in items)


def argument(given: list[Value], keywords: Keywords, at: int, name: str) -> Value | None:
    if len(given) > at:
        return given[at]
    return keywords.get(name)


def axis_of(body: Body, value: Value | None) -> int | None:
    if value is None or (isinstance(value, Fixed) and value.value is None):
        return None
    found = body.known(value, "an axis")
    if isinstance(found, tuple):
        raise body.refuse("several axes at once are not translated")
    return int(found)
