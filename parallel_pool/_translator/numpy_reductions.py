"""NumPy: functions that make one number of many."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    arrays,
    numpy_arrays,
    numpy_elements,
    operators,
    reductions,
)
from parallel_pool._translator.arguments import all_taking
from parallel_pool._translator.numpy_arguments import (
    Keywords,
    argument,
    axis_of,
    dtype_of,
)
from parallel_pool._translator.types import (
    INT,
    NP_BOOL,
    NP_FLOAT,
    NP_INT,
    Number,
)
from parallel_pool._translator.values import (
    UNKNOWN,
    Arr,
    Fixed,
    Generator,
    Num,
    Value,
    cast,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def _reduction(name: str) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: Keywords) -> Value:
        value = body.plain(given[0])
        if isinstance(value, Generator):
            raise body.refuse(f"np.{name} of a generator is not translated: use {name}()")
        return reduce(body, name, body.array(value), given[1:], keywords)

    return translate


# reductions of floats that depend on the order
ORDERED = ("sum", "mean", "prod", "std", "var", "max", "amax", "min", "amin")


def reduce(body: Body, name: str, array: Arr, given: Sequence[Value], keywords: Keywords) -> Value:
    """sum, mean, max ... of an array."""
    axis = axis_of(body, given[0] if given else keywords.get("axis"))
    if axis is not None:
        axis %= max(1, len(array.dims))
    if name in ORDERED:
        array, axis = arrays.in_order(body, array, axis)
        reductions.check_size(body, array)
    if name in ("sum", "count_nonzero"):
        if name == "count_nonzero":
            old = array
            array = Arr(NP_BOOL, old.dims, lambda at: cast(old.at(at), NP_BOOL, old.item))
        item, of = dtype_of(body, argument([Fixed(None), *given], keywords, 2, "dtype")), array.item
        if item is not None:
            array = arrays.converted(array, item)
        result = reductions.sum_of(body, array, axis, of)
        if name == "count_nonzero" and isinstance(result, Num):
            return Num(INT, result.c)
        return result
    if name in ("max", "amax", "min", "amin"):
        return reductions.extreme(body, array, name[-3:], axis)
    if name in ("argmax", "argmin"):
        if axis is None and len(array.dims) > 1:
            pass
        return reductions.place_of_extreme(body, array, name[-3:], axis)
    if name in ("any", "all"):
        return reductions.any_or_all(body, array, name == "any", axis)
    if name == "mean":
        return _mean(body, array, axis)
    if name == "prod":
        return _prod(body, array, axis)
    if name in ("std", "var"):
        ddof = int(body.known(keywords.get("ddof", Fixed(0)), "ddof"))
        return _deviation(body, array, name, axis, ddof)
    if name == "cumsum":
        if axis is not None and len(array.dims) > 1:
            raise body.refuse("cumsum() along an axis is not translated: write a loop")
        return _cumsum(body, array)
    if name == "ptp" and axis is None:
        high, low = reductions.extreme(body, array, "max"), reductions.extreme(body, array, "min")
        return operators.binary(body, ast.Sub(), high, low)
    raise body.refuse(f"{name}() of an array is not translated")


def _float_item(item: Number) -> Number:
    return item if item.kind == "f" else NP_FLOAT


def _mean(body: Body, array: Arr, axis: int | None, ddof: int = 0) -> Value:
    item = _float_item(array.item)
    total = reductions.sum_of(body, arrays.converted(array, item), axis, array.item)
    if axis is not None and len(array.dims) > 1:
        dim = array.dims[axis]
    else:
        dim = 1
        for each in array.dims:
            dim = (
                dim * each if isinstance(dim, int) and isinstance(each, int) else f"{dim} * {each}"
            )
    if ddof:
        dim = body.temporary("int64_t", f"{dim} - {ddof}")
        dim = f"({dim} > 0 ? {dim} : 0)"
    divisor = Num(item, f"({item.c})({dim})")
    return operators.binary(body, ast.Div(), total, divisor)


def _deviation(body: Body, array: Arr, name: str, axis: int | None, ddof: int) -> Value:
    if axis is not None and len(array.dims) > 1:
        raise body.refuse(f"{name}() along an axis is not translated")
    item = _float_item(array.item)
    array = body.in_memory(array, item)
    mean = body.kept(_mean(body, array, None))
    centered = arrays.elementwise(body, [array, mean], lambda a, b: Num(item, f"({a.c} - {b.c})"))
    centered = body.fresh(centered)
    squares = Arr(item, centered.dims, lambda at: f"({centered.at(at)} * {centered.at(at)})")
    variance = _mean(body, squares, None, ddof)
    if name == "var":
        return variance
    number = body.as_num(variance)
    return body.number(item, f"{'sqrt' if item.bits == 64 else 'sqrtf'}({number.c})")


def _prod(body: Body, array: Arr, axis: int | None) -> Value:
    item = array.item if array.item.kind == "f" else NP_INT
    if axis is not None and len(array.dims) > 1:
        return _prod_along(body, array, axis, item)
    total = body.c_variable("t", item.c)
    if item.kind == "f" and not all(isinstance(dim, int) for dim in array.dims):
        raise body.refuse("prod() of floats is not translated: write a loop")
    body.emit(f"{total} = 1;")
    with arrays.indices(body, array.dims) as at:
        found = array.at(at)
        body.emit(f"{total} *= {cast(found, item, array.item)};")
    return Num(item, total)


def _prod_along(body: Body, array: Arr, axis: int, item: Number) -> Arr:
    result = arrays.new(body, item, array.dims[:axis] + array.dims[axis + 1 :])
    with arrays.indices(body, result.dims) as at:
        body.emit(f"{result.at(at)} = 1;")
    with arrays.indices(body, array.dims) as at:
        found = cast(array.at(at), item, array.item)
        body.emit(f"{result.at([*at[:axis], *at[axis + 1 :]])} *= {found};")
    return result


def _cumsum(body: Body, array: Arr) -> Value:
    array = numpy_arrays.flattened(body, array)
    item = array.item if array.item.kind == "f" else NP_INT
    result = arrays.new(body, item, array.dims)
    total = body.c_variable("t", item.c)
    body.emit(f"{total} = 0;")
    with arrays.indices(body, array.dims) as at:
        found = array.at(at)
        # the first sum is the first number itself, also if that is -0
        if item.kind == "f":
            c = cast(found, item, array.item)
            body.emit(f"{total} = {at[0]} ? {total} + {c} : {c};")
        else:
            body.emit(f"{total} += {cast(found, item, array.item)};")
        body.emit(f"{result.at(at)} = {total};")
    return result


def _norm(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    order = argument(given, keywords, 1, "ord")
    axis = axis_of(body, argument(given, keywords, 2, "axis"))
    if order is None or (isinstance(order, Fixed) and order.value in (None, 2)):
        if len(array.dims) == 1 and axis is None:
            return body.program.numpy.norm(body, array)
        if axis is not None and "keepdims" not in keywords:
            return _norms(body, array, axis)
    if axis is None and _is_frobenius(array, order):
        if array.order == UNKNOWN:
            raise body.refuse("np.linalg.norm of an array that was transposed: write .copy()")
        # as NumPy reads it, in the order of memory
        inner = arrays.transposed(array) if array.order else array
        return body.program.numpy.norm(body, numpy_arrays.flattened(body, inner))
    if order is None or (isinstance(order, Fixed) and order.value in (None, 2)):
        raise body.refuse("this np.linalg.norm is not translated: write np.sqrt((a * a).sum())")
    if isinstance(order, Fixed) and order.value == 1 and len(array.dims) == 1:
        item = _float_item(array.item)
        positive = arrays.elementwise(
            body, [array], lambda a: operators.absolute(numpy_elements.as_numpy(a))
        )
        return reductions.sum_of(body, arrays.converted(positive, item))
    if isinstance(order, Fixed) and order.value == np.inf and len(array.dims) == 1:
        positive = arrays.elementwise(
            body, [array], lambda a: operators.absolute(numpy_elements.as_numpy(a))
        )
        item = _float_item(array.item)
        return reductions.extreme(body, arrays.converted(positive, item), "max")
    raise body.refuse("this np.linalg.norm is not translated: write the sum out")


def _is_frobenius(array: Arr, order: Value | None) -> bool:
    if order is None or (isinstance(order, Fixed) and order.value is None):
        return len(array.dims) > 1
    is_named = isinstance(order, Fixed) and order.value in ("fro", "f")
    return is_named and len(array.dims) == 2


def _norms(body: Body, array: Arr, axis: int) -> Value:
    """np.linalg.norm along an axis, which squares and adds, and calls no BLAS."""
    array = arrays.converted(array, _float_item(array.item))
    array = array if array.is_place else body.fresh(array)
    squares = body.array(operators.binary(body, ast.Mult(), array, array))
    total = reduce(body, "sum", body.fresh(squares), [Fixed(axis)], {})
    return numpy_elements.ufunc(np.sqrt)(body, [total], {})


HANDLERS: dict[Any, Callable[..., Value]] = {
    np.sum: _reduction("sum"),
    np.max: _reduction("max"),
    np.amax: _reduction("max"),
    np.min: _reduction("min"),
    np.amin: _reduction("min"),
    np.argmax: _reduction("argmax"),
    np.argmin: _reduction("argmin"),
    np.any: _reduction("any"),
    np.all: _reduction("all"),
    np.mean: _reduction("mean"),
    np.std: _reduction("std"),
    np.var: _reduction("var"),
    np.prod: _reduction("prod"),
    np.cumsum: _reduction("cumsum"),
    np.count_nonzero: _reduction("count_nonzero"),
    np.linalg.norm: _norm,
}
REDUCTION = "a axis? | keepdims=False"
TAKES: dict[Any, str] = {
    np.sum: "a axis? dtype? | keepdims=False",
    np.max: REDUCTION,
    np.amax: REDUCTION,
    np.min: REDUCTION,
    np.amin: REDUCTION,
    np.argmax: REDUCTION,
    np.argmin: REDUCTION,
    np.any: REDUCTION,
    np.all: REDUCTION,
    np.mean: REDUCTION,
    np.std: "a axis? | ddof keepdims=False",
    np.var: "a axis? | ddof keepdims=False",
    np.prod: REDUCTION,
    np.cumsum: "a axis?",
    np.count_nonzero: REDUCTION,
    np.linalg.norm: "x ord? axis? | keepdims=False",
}
FUNCTIONS = all_taking(TAKES, HANDLERS)
