"""Reductions: sums, extremes, and whether any or all elements of arrays are true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parallel_pool._translator import arrays
from parallel_pool._translator.types import NP_BOOL, NP_FLOAT, NP_INT, Number
from parallel_pool._translator.values import Arr, Num, Value, cast

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

# elements that NumPy adds at once, of a part of an array
MAX_PART_ELEMENTS = 8192


def check_size(body: Body, array: Arr) -> None:
    """Raises if NumPy adds the numbers of a view in pieces of its buffer."""
    if array.item.kind != "f" or not array.is_part or len(array.dims) < 2:
        return
    size = " * ".join(str(dim) for dim in array.dims)
    text = "the sum of a part of so large an array is not translated: write .copy() before"
    known = [dim for dim in array.dims if isinstance(dim, int)]
    if len(known) == len(array.dims) and int(np.prod(known)) <= MAX_PART_ELEMENTS:
        return
    body.check(f"{size} <= {MAX_PART_ELEMENTS}", "NotImplementedError", text)


def sum_of(body: Body, array: Arr, axis: int | None = None, of: Number | None = None) -> Value:
    """np.sum; of: the type that the numbers are converted from."""
    item = array.item
    is_converted = of is not None and of != item and item == NP_FLOAT
    if item.kind == "b" or (item.kind in "iu" and item.bits < 64):
        item = Number("u" if item.kind == "u" else "i", 64, True)
    if axis is not None and len(array.dims) > 1:
        return _sum_along(body, array, axis % len(array.dims), item)
    if not array.dims:
        return body.number(item, cast(array.at(()), item, array.item))
    if item.kind != "f":
        total = body.c_variable("t", item.c)
        body.emit(f"{total} = 0;")
        with arrays.indices(body, array.dims) as at:
            found = array.at(at)
            c = cast(found, item, array.item)
            body.emit(f"{total} = ({item.c})((uint64_t){total} + (uint64_t){c});")
        return Num(item, total)
    known = [dim for dim in array.dims if isinstance(dim, int)]
    if len(known) == len(array.dims) and int(np.prod(known)) < 8:
        total = body.c_variable("t", item.c)
        # NumPy's sums start with -0 or with 0, which differs for nothing but a sum of -0
        body.emit(f"{total} = 0;")
        with arrays.indices(body, array.dims) as at:
            found = array.at(at)
            body.emit(f"{total} += {found};")
        return Num(item, total)
    array = arrays.in_memory(body, array)
    count = " * ".join(str(dim) for dim in array.dims)
    name = "pp_python_sum" if item.bits == 64 else "pp_python_sum_float"
    name = "pp_python_sum_converted" if is_converted else name
    return body.number(
        item,
        f"{name}((const char *){array.pointer}, {count}, (int64_t)sizeof({item.c}))",
    )


def _sum_along(body: Body, array: Arr, axis: int, item: Number) -> Arr:
    dims = array.dims[:axis] + array.dims[axis + 1 :]
    result = arrays.new(body, item, dims)
    last = axis == len(array.dims) - 1
    if item.kind == "f" and last:
        array = arrays.in_memory(body, array)
        with arrays.indices(body, dims) as at:
            first = array.at([*at, "0"])
            name = "pp_python_sum" if item.bits == 64 else "pp_python_sum_float"
            c = f"{name}((const char *)&{first}, {array.dims[-1]}, (int64_t)sizeof({item.c}))"
            body.emit(f"{result.at(at)} = {c};")
        return result
    with arrays.indices(body, dims) as at:
        body.emit(f"{result.at(at)} = 0;")
    with arrays.indices(body, array.dims) as at:
        found = array.at(at)
        inner = [*at[:axis], *at[axis + 1 :]]
        body.emit(f"{result.at(inner)} += {cast(found, item, array.item)};")
    return result


def extreme(body: Body, array: Arr, name: str, axis: int | None = None) -> Value:
    """np.max and np.min."""
    if axis is not None and len(array.dims) > 1:
        axis %= len(array.dims)
        dims = array.dims[:axis] + array.dims[axis + 1 :]
        result = arrays.new(body, array.item, dims)
        array = array if array.is_place else arrays.fresh(body, array)
        is_last = axis == len(dims)
        with arrays.indices(body, dims) as at:
            line = Arr(
                array.item,
                (array.dims[axis],),
                lambda one, at=at: array.at([*at[:axis], *one, *at[axis:]]),  # type: ignore[misc]
                is_place=True,
            )
            found = extreme(body, line, name) if is_last else _extreme_of(body, line, name)
            assert isinstance(found, Num)
            body.emit(f"{result.at(at)} = {found.c};")
        return result
    if array.item.kind != "f":
        return _extreme_of(body, array, name)
    _not_empty(body, array, f"zero-size array to reduction operation {name}imum")
    array = arrays.in_memory(body, array)
    count = " * ".join(str(dim) for dim in array.dims) or "1"
    return body.program.numpy.fold(body, f"{name}imum", array, count)


def _extreme_of(body: Body, array: Arr, name: str) -> Num:
    """np.max and np.min, one element after another."""
    _not_empty(body, array, f"zero-size array to reduction operation {name}imum")
    best = body.c_variable("t", array.item.c)
    body.emit(f"{best} = {array.at(['0'] * len(array.dims))};")
    with arrays.indices(body, array.dims) as at:
        each = body.temporary(array.item.c, array.at(at))
        if array.item.kind == "f":
            body.emit(f"{best} = pp_numpy_{name}imum_{array.item.c}({best}, {each});")
        else:
            body.emit(f"if ({each} {'>' if name == 'max' else '<'} {best}) {best} = {each};")
    return Num(array.item, best)


def _not_empty(body: Body, array: Arr, text: str) -> None:
    for dim in array.dims:
        body.check("true" if isinstance(dim, int) and dim else f"{dim} > 0", "ValueError", text)


def place_of_extreme(body: Body, array: Arr, name: str, axis: int | None = None) -> Value:
    """np.argmax and np.argmin."""
    if axis is not None and len(array.dims) > 1:
        axis %= len(array.dims)
        dims = array.dims[:axis] + array.dims[axis + 1 :]
        result = arrays.new(body, NP_INT, dims)
        array = array if array.is_place else arrays.fresh(body, array)
        with arrays.indices(body, dims) as at:
            line = Arr(
                array.item,
                (array.dims[axis],),
                lambda one, at=at: array.at([*at[:axis], *one, *at[axis:]]),  # type: ignore[misc]
                is_place=True,
            )
            found = place_of_extreme(body, line, name)
            assert isinstance(found, Num)
            body.emit(f"{result.at(at)} = {found.c};")
        return result
    _not_empty(body, array, f"attempt to get arg{name} of an empty sequence")
    best, at_best = body.c_variable("t", array.item.c), body.c_variable("t", "int64_t")
    count = body.c_variable("n", "int64_t")
    body.emit(f"{best} = {array.at(['0'] * len(array.dims))};")
    body.emit(f"{at_best} = {count} = 0;")
    sign = ">" if name == "max" else "<"
    with arrays.indices(body, array.dims) as at:
        each = body.temporary(array.item.c, array.at(at))
        # the first NaN counts as the greatest and the least
        nan = f" || ({best} == {best} && {each} != {each})" if array.item.kind == "f" else ""
        body.emit(
            f"if ({each} {sign} {best}{nan}) {best} = {each}, {at_best} = {count}; {count}++;"
        )
    return Num(NP_INT, at_best)


def any_or_all(body: Body, array: Arr, is_any: bool, axis: int | None = None) -> Value:
    if axis is not None and len(array.dims) > 1:
        axis %= len(array.dims)
        dims = array.dims[:axis] + array.dims[axis + 1 :]
        result = arrays.new(body, NP_BOOL, dims)
        with arrays.indices(body, dims) as at:
            body.emit(f"{result.at(at)} = {'false' if is_any else 'true'};")
        with arrays.indices(body, array.dims) as at:
            found = cast(array.at(at), NP_BOOL, array.item)
            target = result.at([*at[:axis], *at[axis + 1 :]])
            body.emit(f"{target} = {target} {'||' if is_any else '&&'} {found};")
        return result
    found = body.c_variable("t", "bool")
    body.emit(f"{found} = {'false' if is_any else 'true'};")
    with arrays.indices(body, array.dims) as at:
        each = cast(array.at(at), NP_BOOL, array.item)
        body.emit(
            f"if ({'' if is_any else '!'}({each})) {found} = {'true' if is_any else 'false'};"
        )
    return Num(NP_BOOL, found)
