"""Arrays: how they are made, laid out and copied, and elementwise arithmetic."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import storage
from parallel_pool._translator.types import (
    NP_FLOAT,
    NP_INT,
    Array,
    Number,
    number_of,
    of_dtype,
)
from parallel_pool._translator.values import (
    NOWHERE,
    UNKNOWN,
    Arr,
    Dim,
    Fixed,
    Generator,
    Lst,
    Num,
    Span,
    Uni,
    Value,
    as_number,
    cast,
    literal,
    promoted,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


# --------------------------------------------------------------------------------- making --


def as_array(body: Body, value: Value) -> Arr:
    """Returns a value as np.asarray would.

    Raises:
        Refusal: it is no array of numbers.
    """
    value = body.plain(value)
    if isinstance(value, Arr):
        return value
    if isinstance(value, Uni) and value.is_number:
        value = body.as_num(value)
    if isinstance(value, Fixed) and isinstance(value.value, (np.ndarray, list, tuple, range)):
        found = np.asarray(value.value)
        if of_dtype(found.dtype) is None:
            raise body.refuse(f"an array of {found.dtype} is not translated")
        return body.program.tables.array(found)
    if isinstance(value, Fixed) and isinstance(value.value, str):
        raise body.refuse("an array of texts is not translated")
    number = as_number(value)
    if number is not None:
        number = _apart(body, number)
        item, c = as_numpy(number.number), number.c
        return Arr(item, (), lambda at: cast(c, item, number.number), bases=NOWHERE)
    if isinstance(value, Lst):
        return _of_list(body, value)
    if isinstance(value, Span):
        start, stop = body.as_int(value.start), body.as_int(value.stop)
        return arange(body, start, stop, str(value.step), _known_count(value))
    items = body.items(value)
    if items is not None:
        return _of_items(body, items)
    if isinstance(value, Generator):
        return _of_list(body, body.made_of(value))
    raise body.refuse(f"{value.type} is no array")


def _known_count(span: Span) -> int | None:
    if isinstance(span.start, Fixed) and isinstance(span.stop, Fixed):
        return len(range(span.start.value, span.stop.value, span.step))
    return None


def as_numpy(number: Number) -> Number:
    return Number(number.kind, number.bits, True, False, number.may_be_int)


def arange(body: Body, start: str, stop: str, step: str, count: int | None = None) -> Arr:
    dim: Dim
    if count is not None:
        dim = count
    else:
        dim = body.temporary("int64_t", f"pp_python_range({start}, {stop}, {step})")
    start = body.temporary("int64_t", start)
    return Arr(NP_INT, (dim,), lambda at: f"({start} + {at[0]} * {step})", bases=NOWHERE)


def _of_list(body: Body, value: Lst) -> Arr:
    it = value.list_type
    length = body.temporary("int64_t", f"{value.c}->count")
    item = storage.load(body, it.item, f"{value.c}->v[0]")
    number = as_number(item)
    if number is not None:
        of = as_numpy(number.number)
        return Arr(of, (length,), lambda at: f"{value.c}->v[{at[0]}]", key=f"{value.c}->v")
    inner = as_array(body, item)
    if not all(isinstance(dim, int) for dim in inner.dims):
        raise body.refuse(f"{it} is no array")
    if isinstance(it.item, Array):
        return Arr(
            inner.item,
            (length, *inner.dims),
            lambda at: f"{value.c}->v[{at[0]}].v[{storage.flat_index(inner.dims, at[1:])}]",
        )

    def at(index: Sequence[str]) -> str:
        row = as_array(body, storage.load(body, it.item, f"{value.c}->v[{index[0]}]"))
        return row.at(index[1:])

    return Arr(inner.item, (length, *inner.dims), at)


def _of_items(body: Body, items: Sequence[Value]) -> Arr:
    """Returns the array of a list display."""
    if not items:
        return Arr(NP_FLOAT, (0,), lambda at: "0.0")
    rows = [as_array(body, item) for item in items]
    item = rows[0].item
    known = [number_of(each.value) if isinstance(each, Fixed) else None for each in items]
    for row in rows[1:]:
        item = promoted(item, row.item)
    if all(each is not None and not each.is_numpy for each in known):
        found = np.asarray([each.value for each in items])  # type: ignore[attr-defined]
        return body.program.tables.array(found)
    shape = rows[0].dims
    for row in rows[1:]:
        if len(row.dims) != len(shape):
            raise body.refuse("the rows of this array have different shapes")
    dims = (len(rows), *shape)
    if all(isinstance(dim, int) for dim in dims):
        place = body.variable("a", Array(item, dims))  # type: ignore[arg-type]
        result = storage.memory_array(item, dims, f"{place}.v")
    else:
        result = scratch(body, item, dims)
    if not shape:
        # all are computed before any is stored: they may read what the array replaces
        for i, row in enumerate(rows):
            c = storage.as_item(body, Num(row.item, row.at(())), item)
            body.emit(f"{result.at([str(i)])} = {c};")
        return result
    for i, row in enumerate(rows):
        copy_elements(body, row, part(result, i))
    return result


def part(array: Arr, index: int | str) -> Arr:
    """Returns a row of an array, without a check."""
    pointer = ""
    if array.pointer:
        size = "*".join(str(dim) for dim in array.dims[1:]) or "1"
        pointer = f"({array.pointer} + ({index}) * ({size}))"
    return Arr(
        array.item,
        array.dims[1:],
        lambda at: array.at([str(index), *at]),
        pointer=pointer,
        is_place=array.is_place,
        root=array.root,
        is_foreign=array.is_foreign,
        is_read_only=array.is_read_only,
        key=f"{array.key}[{index}]" if array.key else "",
        bases=array.bases,
        order=_without_axis(array.order),
        is_view=array.has_steps,
    )


def _without_axis(order: tuple[int, ...]) -> tuple[int, ...]:
    """Returns an order without the first axis."""
    return order if order == UNKNOWN else ordered([axis - 1 for axis in order if axis])


def ordered(axes: Sequence[int]) -> tuple[int, ...]:
    """Returns axes in the order of memory, () if that is their own."""
    return () if list(axes) == sorted(axes) and -1 not in axes else tuple(axes)


def order_of(value: Any) -> tuple[int, ...]:
    """Returns the order in memory of a known array's axes."""
    axes = sorted(range(value.ndim), key=lambda axis: (-abs(value.strides[axis]), axis))
    wide = [axis for axis in axes if value.shape[axis] != 1]
    return () if wide == sorted(wide) else tuple(axes)


def one_order(orders: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the order in memory of what is made of arrays."""
    first: tuple[int, ...] = orders[0] if orders else ()
    return first if len(set(orders)) < 2 else UNKNOWN


def transposed(array: Arr) -> Arr:
    """Returns array.T."""
    count = len(array.dims)
    order = UNKNOWN
    if array.order != UNKNOWN:
        order = ordered([count - 1 - axis for axis in array.order or range(count)])
    return Arr(
        array.item,
        array.dims[::-1],
        lambda at: array.at(list(at)[::-1]),
        is_place=array.is_place,
        root=array.root,
        is_foreign=array.is_foreign,
        is_read_only=array.is_read_only,
        order=order,
        is_view=array.has_steps,
        is_part=array.is_part,
    )


def in_order(body: Body, array: Arr, axis: int | None) -> tuple[Arr, int | None]:
    """Returns an array with its axes in the order of memory, and the place of one of them there."""
    if len(array.dims) < 2 or not array.order or array.item.kind != "f":
        return array, axis
    order = array.order
    if order == UNKNOWN or (axis is not None and len(order) > 2):
        raise body.refuse(
            "the order in which NumPy adds the numbers of this array is not translated, as it was"
            " transposed: write .copy() before"
        )
    places = [order.index(i) for i in range(len(order))]
    dims = tuple(array.dims[i] for i in order)
    made = Arr(
        array.item,
        dims,
        lambda at: array.at([at[i] for i in places]),
        bases=array.bases,
        is_part=array.is_part,
    )
    return made, None if axis is None else places[axis]


def row(body: Body, array: Arr, index: str) -> Value:
    """Returns an item of an array that is looped over: a scalar, or a view of a row."""
    if len(array.dims) == 1:
        return Num(array.item, array.at([index]))
    return part(array, index)


def scratch(body: Body, item: Number, dims: Sequence[Dim]) -> Arr:
    """Returns an array in the memory of the call."""
    pointer = body.c_variable("m", f"{item.c} *")
    size = f"sizeof(*{pointer})"
    for dim in dims:
        size = f"pp_python_times({dim}, {size})"
    body.emit(f"{pointer} = pp_python_memory(c, {size});")
    body.check(f"{pointer} != NULL", "MemoryError", "")
    return storage.memory_array(item, dims, pointer)


def fresh(body: Body, array: Arr) -> Arr:
    """Returns a copy of an array in memory of its own."""
    of = array.type
    if isinstance(of, Array):
        place = body.variable("a", of)
        result = storage.memory_array(array.item, array.dims, f"{place}.v")
    else:
        result = scratch(body, array.item, array.dims)
    copy_elements(body, array, result)
    result.order = array.order
    return result


def in_memory(body: Body, array: Arr, item: Number | None = None) -> Arr:
    """Returns an array that is contiguous in memory, of a type of numbers."""
    if array.pointer and (item is None or item.c == array.item.c):
        return array
    if item is not None and item != array.item:
        array = converted(array, item)
    return fresh(body, array)


def converted(array: Arr, item: Number) -> Arr:
    """Returns array.astype(...), computed when it is read."""
    if array.item.c == item.c and array.item.kind == item.kind:
        return Arr(item, array.dims, array.at, bases=array.bases, order=array.order)
    return Arr(
        item,
        array.dims,
        lambda at: cast(array.at(at), item, array.item),
        bases=array.bases,
        order=array.order,
    )


@contextlib.contextmanager
def indices(body: Body, dims: Sequence[Dim]) -> Iterator[list[str]]:
    """Writes loops over all elements."""
    names = []
    for dim in dims:
        if dim == 1:
            names.append("0")
            continue
        name = body.c_variable("i", "int64_t")
        names.append(name)
        body.emit(f"for ({name} = 0; {name} < {dim}; {name}++) {{")
        body.indent += 1
    yield names
    for dim in dims:
        if dim != 1:
            body.indent -= 1
            body.emit("}")


def copy_elements(body: Body, of: Arr, to: Arr) -> None:
    """Stores the elements of an array in another one, to whose shape it is broadcast."""
    added = len(to.dims) - len(of.dims)
    wanted = to.dims[max(0, added) :]
    unsure = [a for a, b in zip(of.dims, wanted, strict=False) if isinstance(a, str) and a != b]
    if not unsure or added < 0:
        _copy(body, broadcast(body, of, to.dims), to)
        return
    # an axis may have one element: the loop for all others needs no look at that
    with body.block(f"if ({' && '.join(f'{dim} != 1' for dim in unsure)}) {{"):
        broadcast(body, of, to.dims)
        _copy(body, broadcast(body, replace(of, dims=tuple(wanted)), to.dims), to)
    with body.block("else {"):
        _copy(body, broadcast(body, of, to.dims), to)


def _copy(body: Body, of: Arr, to: Arr) -> None:
    """Stores the elements of an array in another one of the same shape."""
    if of.pointer and of.pointer == to.pointer and of.item.c == to.item.c:
        return
    if of.pointer and to.pointer and of.item.c == to.item.c and of.dims == to.dims:
        size = " * ".join(str(dim) for dim in to.dims) or "1"
        # a row of a batch overlaps nothing, and compilers write out a short memcpy only
        copy = "memcpy" if "rows[" in to.pointer else "memmove"
        body.emit(f"{copy}({to.pointer}, {of.pointer}, (size_t)({size}) * sizeof(*{to.pointer}));")
        return
    with indices(body, to.dims) as at:
        found = of.at(at)
        body.emit(f"{to.at(at)} = {cast(found, to.item, of.item)};")


def broadcast(body: Body, array: Arr, dims: Sequence[Dim]) -> Arr:
    """Returns an array with these axes.

    Raises:
        Refusal: it has others.
    """
    if tuple(array.dims) == tuple(dims):
        return array
    added = len(dims) - len(array.dims)
    if added < 0:
        raise body.refuse(f"an array with {len(array.dims)} axes does not fit into {len(dims)}")
    may_be_one = []
    for dim, wanted in zip(array.dims, dims[added:], strict=True):
        may_be_one.append(isinstance(dim, str) and dim != wanted)
        if dim == 1 or dim == wanted:
            continue
        if isinstance(dim, int) and isinstance(wanted, int):
            raise body.refuse(f"operands could not be broadcast together: {dim} and {wanted}")
        body.check(
            f"{dim} == {wanted} || {dim} == 1",
            "ValueError",
            "operands could not be broadcast together: %lld and %lld",
            f"(long long){dim}",
            f"(long long){wanted}",
        )
    own = array.dims

    def place(axis: int, index: str) -> str:
        if own[axis] == 1:
            return "0"
        return f"({own[axis]} == 1 ? 0 : {index})" if may_be_one[axis] else index

    def at(index: Sequence[str]) -> str:
        return array.at([place(axis, each) for axis, each in enumerate(index[added:])])

    return Arr(array.item, tuple(dims), at, bases=array.bases)


def common_shape(body: Body, shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """Returns the axes of an elementwise result."""
    count = max(map(len, shapes))
    result: list[Dim] = []
    for axis in range(count):
        dims = [shape[axis - count] for shape in shapes if len(shape) >= count - axis]
        others = [dim for dim in dims if dim != 1]
        known = [dim for dim in others if isinstance(dim, int)]
        result.append(known[0] if known else _longest(body, others))
    return tuple(result)


def _longest(body: Body, dims: Sequence[Dim]) -> Dim:
    """Returns the length of axes, which are equal if they are not 1."""
    first, *others = list(dict.fromkeys(dims)) or [1]
    for other in others:
        first = body.temporary("int64_t", f"{first} == 1 ? {other} : {first}")
    return first


# ------------------------------------------------------------------------------ elementwise --


def _apart(body: Body, number: Num) -> Num:
    """Returns a number that what is stored in an array does not change."""
    return (
        replace(number, c=body.temporary(number.number.c, number.c)) if "[" in number.c else number
    )


def elementwise(body: Body, values: Sequence[Value], function: Callable[..., Num]) -> Arr:
    """Returns a function of the elements of arrays and numbers, computed when it is read."""
    operands: list[Arr | Num] = []
    for value in values:
        number = None if isinstance(value, Arr) else as_number(value)
        if number is not None:
            operands.append(_apart(body, number))
        else:
            operands.append(as_array(body, value))
    dims = common_shape(body, [each.dims for each in operands if isinstance(each, Arr)])
    spread = [broadcast(body, each, dims) if isinstance(each, Arr) else each for each in operands]

    def result(at: Sequence[str]) -> Num:
        return function(
            *(Num(each.item, each.at(at)) if isinstance(each, Arr) else each for each in spread)
        )

    # the type of the result: translated once for nothing
    with body.buffer():
        item = result(["0"] * len(dims)).number
    bases = NOWHERE.union(*(each.bases for each in spread if isinstance(each, Arr)))
    orders = [each.order for each in operands if isinstance(each, Arr) and _is_wide(each)]
    return Arr(as_numpy(item), dims, lambda at: result(at).c, bases=bases, order=one_order(orders))


def _is_wide(array: Arr) -> bool:
    """Returns whether an array has an order of axes."""
    return sum(dim != 1 for dim in array.dims) > 1


def new(body: Body, item: Number, dims: Sequence[Dim]) -> Arr:
    if all(isinstance(dim, int) for dim in dims):
        place = body.variable("a", Array(item, tuple(dims)))  # type: ignore[arg-type]
        return storage.memory_array(item, dims, f"{place}.v")
    return scratch(body, item, dims)


def filled(body: Body, item: Number, dims: Sequence[Dim], c: str) -> Arr:
    """Returns an array of equal elements."""
    return Arr(item, tuple(dims), lambda at: c, bases=NOWHERE)


def product(body: Body, one: Arr, other: Arr, is_dot: bool = False) -> Value:
    """one @ other."""
    item = promoted(one.item, other.item)
    for each in (one, other):
        if is_dot and len(each.dims) > 1 and not each.pointer and item.kind == "f":
            raise body.refuse("np.dot() of a part of an array is not translated: write @")
    if item.kind == "f":
        return body.program.numpy.matmul(body, one, other, item, is_dot)
    if len(one.dims) == 1 and len(other.dims) == 1:
        total = body.c_variable("t", item.c)
        body.emit(f"{total} = 0;")
        with indices(body, one.dims) as at:
            a, b = one.at(at), other.at(at)
            body.emit(f"{total} += {cast(a, item, one.item)} * {cast(b, item, other.item)};")
        return Num(item, total)
    raise body.refuse("a product of matrices is not translated: write loops")


def literal_array(item: Number, value: Any) -> str:
    return ", ".join(literal(each, item) for each in np.asarray(value).ravel().tolist())
