"""Arrays: elementwise arithmetic, indices and slices, sums and other reductions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import fitting, storage
from parallel_pool._translator.types import (
    INT,
    NP_BOOL,
    NP_FLOAT,
    NP_INT,
    Array,
    Number,
    number_of,
    of_dtype,
)
from parallel_pool._translator.values import (
    EVERYWHERE,
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


# elements that NumPy adds at once, of a part of an array
LARGEST_PART = 8192


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
        return body.program.table(found)
    if isinstance(value, Fixed) and isinstance(value.value, str):
        raise body.refuse("an array of texts is not translated")
    number = as_number(value)
    if number is not None:
        number = _apart(body, number)
        item, c = _as_numpy(number.number), number.c
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


def _as_numpy(number: Number) -> Number:
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
        of = _as_numpy(number.number)
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
        return body.program.table(found)
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


def check_size(body: Body, array: Arr) -> None:
    """Raises if NumPy adds the numbers of a view in pieces of its buffer."""
    if array.item.kind != "f" or not array.is_part or len(array.dims) < 2:
        return
    size = " * ".join(str(dim) for dim in array.dims)
    text = "the sum of a part of so large an array is not translated: write .copy() before"
    known = [dim for dim in array.dims if isinstance(dim, int)]
    if len(known) == len(array.dims) and int(np.prod(known)) <= LARGEST_PART:
        return
    body.check(f"{size} <= {LARGEST_PART}", "NotImplementedError", text)


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
    return Arr(_as_numpy(item), dims, lambda at: result(at).c, bases=bases, order=one_order(orders))


def _is_wide(array: Arr) -> bool:
    """Returns whether an array has an order of axes."""
    return sum(dim != 1 for dim in array.dims) > 1


# ------------------------------------------------------------------------------- subscripts --


def subscript(body: Body, array: Arr, index: Sequence[Value | slice | Any | None]) -> Value:
    """Returns array[index]; an element, a view, or what a mask or an array of indices chooses."""
    index = list(index)
    if any(each is Ellipsis for each in index):
        first = next(i for i, each in enumerate(index) if each is Ellipsis)
        used = sum(each is not None and each is not Ellipsis for each in index)
        index[first : first + 1] = [slice(None)] * (len(array.dims) - used)
    if sum(each is not None for each in index) > len(array.dims):
        raise body.refuse(
            f"too many indices: the array has {len(array.dims)} axes, and {len(index)} are indexed"
        )
    for i, each in enumerate(index):
        if isinstance(each, Value) and as_number(body.plain(each)) is None:
            return _chosen(body, array, index, i)
    dims: list[Dim] = []
    # for each axis of the array: how its index is made of those of the view
    makers: list[Callable[[Sequence[str]], str]] = []
    axis = 0
    # the axis of the view that an axis of the array has become
    places: dict[int, int] = {}
    pointer = array.pointer
    is_contiguous = bool(pointer) or not array.is_place
    for each in index:
        if each is None:
            dims.append(1)
            continue
        length = array.dims[axis]
        if isinstance(each, slice):
            maker, dim = _slice(body, each, length, len(dims))
            whole = each == slice(None)
            is_contiguous = is_contiguous and (whole or (axis == 0 and each.step is None))
            places[axis] = len(dims)
            dims.append(dim)
            makers.append(maker)
        else:
            place = element_index(body, each, length, axis)
            is_contiguous = is_contiguous and axis == len(makers) and not dims
            makers.append(lambda at, place=place: place)  # type: ignore[misc]
        axis += 1
    for left in array.dims[axis:]:
        number = len(dims)
        places[len(makers)] = number
        makers.append(lambda at, number=number: at[number])  # type: ignore[misc]
        dims.append(left)

    def at(outer: Sequence[str]) -> str:
        return array.at([maker(outer) for maker in makers])

    if not dims:
        return Num(array.item, at(()))
    if is_contiguous and pointer:
        fixed = [makers[i](["0"] * len(dims)) for i in range(len(array.dims))]
        pointer = f"(&{pointer}[{storage.flat_index(array.dims, fixed)}])"
    else:
        pointer = ""
    return Arr(
        array.item,
        tuple(dims),
        at,
        pointer=pointer,
        is_place=array.is_place,
        root=array.root,
        is_foreign=array.is_foreign,
        is_read_only=array.is_read_only,
        key=f"{array.key}[{at(['?'] * len(dims))}]" if array.key else "",
        bases=array.bases,
        order=_order_of_view(array, places, len(dims)),
        is_view=array.has_steps,
        is_part=array.is_part or not is_contiguous,
    )


def _order_of_view(array: Arr, places: dict[int, int], count: int) -> tuple[int, ...]:
    if not array.order or array.order == UNKNOWN:
        return array.order
    added = [i for i in range(count) if i not in places.values()]
    return ordered(added + [places[axis] for axis in array.order if axis in places])


def element_index(body: Body, value: Value, length: Dim, axis: int) -> str:
    """Returns the C expression of an index, checked."""
    value = body.plain(value)
    if isinstance(value, Fixed) and isinstance(length, int):
        known = int(value.value)
        if not -length <= known < length:
            body.fail(
                "IndexError",
                f"index {known} is out of bounds for axis {axis} with size {length}",
            )
            return "0"
        return str(known % length)
    given = body.as_int(value, "an index")
    at = body.c_variable("t", "int64_t")
    body.emit(f"{at} = {given};")
    body.check(
        f"pp_python_index(&{at}, {length})",
        "IndexError",
        f"index %lld is out of bounds for axis {axis} with size %lld",
        f"(long long){at}",
        f"(long long){length}",
    )
    return at


def _slice(
    body: Body, given: slice, length: Dim, number: int
) -> tuple[Callable[[Sequence[str]], str], Dim]:
    """Returns how an index of the view becomes one of the array, and the view's length."""
    step = 1 if given.step is None else int(body.known(given.step, "the step of a slice"))
    known = all(
        each is None or isinstance(each, Fixed) for each in (given.start, given.stop)
    ) and isinstance(length, int)
    if known:
        start = None if given.start is None else given.start.value
        stop = None if given.stop is None else given.stop.value
        span = range(*slice(start, stop, step).indices(length))  # type: ignore[arg-type]
        first, count = span.start, len(span)
        if step == 1:
            if first == 0:
                return lambda at: at[number], count
            return lambda at: f"({at[number]} + {first})", count
        return lambda at: f"({first} + {at[number]} * {step})", count
    if step != 1 and (given.start is not None or given.stop is not None):
        raise body.refuse("a slice with a step and bounds that change is not translated")
    if step == -1:
        return lambda at: f"({length} - 1 - {at[number]})", length
    if step != 1:
        raise body.refuse("this slice with a step is not translated")

    def bound(value: Value | None, default: str) -> str:
        if value is None:
            return default
        if isinstance(value, Fixed) and value.value is None:
            return default
        c = body.as_int(value, "the bound of a slice")
        return body.temporary("int64_t", f"pp_python_bound({c}, {length})")

    first_c = bound(given.start, "0")
    last = bound(given.stop, str(length))
    dim = _difference(body, given, first_c, last, length)
    if first_c == "0":
        return lambda at: at[number], dim
    return lambda at: f"({first_c} + {at[number]})", dim


def _difference(body: Body, given: slice, first: str, last: str, length: Dim) -> Dim:
    count = body.temporary("int64_t", f"{last} > {first} ? {last} - {first} : 0")
    return count


def _chosen(body: Body, array: Arr, index: list[Any], at: int) -> Value:
    """Returns what a mask or an array of indices chooses."""
    chooser = as_array(body, index[at])
    if chooser.item.kind == "b":
        if len(index) != 1:
            raise body.refuse("a mask together with other indices is not translated")
        return _masked(body, array, chooser)
    arrays_at = [
        i
        for i, each in enumerate(index)
        if isinstance(each, Value) and as_number(body.plain(each)) is None
    ]
    if any(isinstance(each, slice) or each is None for each in index):
        others = [each for i, each in enumerate(index) if i not in arrays_at]
        if len(arrays_at) > 1 or any(
            not isinstance(each, slice) or each != slice(None) for each in others
        ):
            raise body.refuse("an array of indices together with slices is not translated")
    choosers = {i: in_memory(body, as_array(body, index[i])) for i in arrays_at}
    for i, each in choosers.items():
        _check_indices(body, each, array.dims[i], i)
    numbers = {
        i: element_index(body, each, array.dims[i], i)
        for i, each in enumerate(index)
        if isinstance(each, Value) and i not in arrays_at
    }
    shape = common_shape(body, [each.dims for each in choosers.values()])
    first = arrays_at[0]
    before = list(array.dims[:first]) if all(isinstance(e, slice) for e in index[:first]) else []
    after = list(array.dims[len(index) :])
    dims = (*before, *shape, *after)

    def place(outer: Sequence[str]) -> str:
        inner: list[str] = []
        chosen = outer[len(before) : len(before) + len(shape)]
        for i in range(len(array.dims)):
            if i in choosers:
                spread = broadcast(body, choosers[i], shape)
                c = cast(spread.at(chosen), INT, spread.item)
                inner.append(f"({c} < 0 ? {c} + {array.dims[i]} : {c})")
            elif i in numbers:
                inner.append(numbers[i])
            elif i < first:
                inner.append(outer[i])
            else:
                inner.append(outer[len(before) + len(shape) + i - len(index)])
        return array.at(inner)

    order: tuple[int, ...] = ()
    if before:
        # NumPy's copy has the chosen axes first
        end = len(before) + len(shape)
        axes = [*range(len(before), end), *range(len(before)), *range(end, len(dims))]
        order = UNKNOWN if array.order else ordered(axes)
    return Arr(array.item, dims, place, bases=array.bases, order=order)


def _check_indices(body: Body, chooser: Arr, length: Dim, axis: int) -> None:
    with indices(body, chooser.dims) as at:
        c = body.temporary("int64_t", cast(chooser.at(at), INT, chooser.item))
        body.check(
            f"-(int64_t)({length}) <= {c} && {c} < {length}",
            "IndexError",
            f"index %lld is out of bounds for axis {axis} with size %lld",
            f"(long long){c}",
            f"(long long){length}",
        )


def _masked(body: Body, array: Arr, mask: Arr) -> Arr:
    """Returns array[mask]: a copy of the chosen elements."""
    rest = array.dims[len(mask.dims) :]
    if rest:
        raise body.refuse("a mask of fewer axes than the array is not translated")
    mask = broadcast(body, mask, array.dims)
    whole = " * ".join(str(dim) for dim in array.dims)
    result = scratch(body, array.item, (f"({whole})",))
    count = body.c_variable("n", "int64_t")
    body.emit(f"{count} = 0;")
    with indices(body, array.dims) as at:
        found = mask.at(at)
        body.emit(f"if ({found}) {result.pointer}[{count}++] = {array.at(at)};")
    made = storage.memory_array(array.item, (count,), result.pointer)
    return made


def assign(body: Body, array: Arr, index: Sequence[Any], value: Value) -> None:
    """array[index] = value."""
    writable(body, array)
    value = body.plain(value)
    if len(index) == 1 and isinstance(index[0], Value):
        chooser = body.plain(index[0])
        if isinstance(chooser, Arr) and chooser.item.kind == "b":
            _assign_masked(body, array, chooser, value)
            return
    target = subscript(body, array, index)
    if isinstance(target, Num):
        number = fitting.number(body, body.as_num(value, "an element"), array.item)
        body.emit(f"{target.c} = {cast(number.c, array.item, number.number)};")
        return
    assert isinstance(target, Arr)
    fitting.check(body, value, array.item)
    given = as_array(body, value)
    if reads(given, target):
        given = fresh(body, given)
    copy_elements(body, given, target)


def reads(value: Arr, array: Arr) -> bool:
    """Returns whether storing an array element by element may change what is read later."""
    if value.is_read_only:
        return False
    if value.pointer and value.root == array.root and value.key == array.key:
        return False
    is_known = EVERYWHERE not in value.bases and EVERYWHERE not in array.bases
    return not is_known or bool(value.bases & array.bases)


def _assign_masked(body: Body, array: Arr, mask: Arr, value: Value) -> None:
    mask = fresh(body, broadcast(body, mask, array.dims))
    number = as_number(value)
    if number is not None and not number.number.is_numpy:
        fitting.check(body, value, array.item)
    given = as_array(body, value)
    if len(given.dims) == 0:
        with indices(body, array.dims) as at:
            c = cast(given.at(()), array.item, given.item)
            body.emit(f"if ({mask.at(at)}) {array.at(at)} = {c};")
        return
    given = fresh(body, given)
    count = body.c_variable("n", "int64_t")
    body.emit(f"{count} = 0;")
    with indices(body, array.dims) as at:
        c = cast(given.at([count]), array.item, given.item)
        with body.block(f"if ({mask.at(at)}) {{"):
            body.check(f"{count} < {given.dims[0]}", "ValueError", "too few values for the mask")
            body.emit(f"{array.at(at)} = {c}; {count}++;")


def writable(body: Body, array: Arr) -> None:
    """Raises Refusal if an array can't be changed."""
    if array.is_foreign:
        raise body.refuse(
            "a method has returned this array, which may be a part of self: write .copy() before"
            " it is changed"
        )
    if array.is_read_only:
        if array.root is not None and array.root[0] == "attribute":
            body.program.add_state(array.root[1])
        raise body.refuse("this array is the same for all environments: copy it first")
    if not array.is_place:
        raise body.refuse("this array is not kept in memory: give it a name first")
    body.changed(array)


# ------------------------------------------------------------------------------- reductions --


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
        with indices(body, array.dims) as at:
            found = array.at(at)
            c = cast(found, item, array.item)
            body.emit(f"{total} = ({item.c})((uint64_t){total} + (uint64_t){c});")
        return Num(item, total)
    known = [dim for dim in array.dims if isinstance(dim, int)]
    if len(known) == len(array.dims) and int(np.prod(known)) < 8:
        total = body.c_variable("t", item.c)
        # NumPy's sums start with -0 or with 0, which differs for nothing but a sum of -0
        body.emit(f"{total} = 0;")
        with indices(body, array.dims) as at:
            found = array.at(at)
            body.emit(f"{total} += {found};")
        return Num(item, total)
    array = in_memory(body, array)
    count = " * ".join(str(dim) for dim in array.dims)
    name = "pp_python_sum" if item.bits == 64 else "pp_python_sum_float"
    name = "pp_python_sum_converted" if is_converted else name
    return body.number(
        item,
        f"{name}((const char *){array.pointer}, {count}, (int64_t)sizeof({item.c}))",
    )


def _sum_along(body: Body, array: Arr, axis: int, item: Number) -> Arr:
    dims = array.dims[:axis] + array.dims[axis + 1 :]
    result = _new(body, item, dims)
    last = axis == len(array.dims) - 1
    if item.kind == "f" and last:
        array = in_memory(body, array)
        with indices(body, dims) as at:
            first = array.at([*at, "0"])
            name = "pp_python_sum" if item.bits == 64 else "pp_python_sum_float"
            c = f"{name}((const char *)&{first}, {array.dims[-1]}, (int64_t)sizeof({item.c}))"
            body.emit(f"{result.at(at)} = {c};")
        return result
    with indices(body, dims) as at:
        body.emit(f"{result.at(at)} = 0;")
    with indices(body, array.dims) as at:
        found = array.at(at)
        inner = [*at[:axis], *at[axis + 1 :]]
        body.emit(f"{result.at(inner)} += {cast(found, item, array.item)};")
    return result


def _new(body: Body, item: Number, dims: Sequence[Dim]) -> Arr:
    if all(isinstance(dim, int) for dim in dims):
        place = body.variable("a", Array(item, tuple(dims)))  # type: ignore[arg-type]
        return storage.memory_array(item, dims, f"{place}.v")
    return scratch(body, item, dims)


def filled(body: Body, item: Number, dims: Sequence[Dim], c: str) -> Arr:
    """Returns an array of equal elements."""
    return Arr(item, tuple(dims), lambda at: c, bases=NOWHERE)


def extreme(body: Body, array: Arr, name: str, axis: int | None = None) -> Value:
    """np.max and np.min."""
    if axis is not None and len(array.dims) > 1:
        axis %= len(array.dims)
        dims = array.dims[:axis] + array.dims[axis + 1 :]
        result = _new(body, array.item, dims)
        array = array if array.is_place else fresh(body, array)
        is_last = axis == len(dims)
        with indices(body, dims) as at:
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
    array = in_memory(body, array)
    count = " * ".join(str(dim) for dim in array.dims) or "1"
    return body.program.numpy_fold(body, f"{name}imum", array, count)


def _extreme_of(body: Body, array: Arr, name: str) -> Num:
    """np.max and np.min, one element after another."""
    _not_empty(body, array, f"zero-size array to reduction operation {name}imum")
    best = body.c_variable("t", array.item.c)
    body.emit(f"{best} = {array.at(['0'] * len(array.dims))};")
    with indices(body, array.dims) as at:
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
        result = _new(body, NP_INT, dims)
        array = array if array.is_place else fresh(body, array)
        with indices(body, dims) as at:
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
    with indices(body, array.dims) as at:
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
        result = _new(body, NP_BOOL, dims)
        with indices(body, dims) as at:
            body.emit(f"{result.at(at)} = {'false' if is_any else 'true'};")
        with indices(body, array.dims) as at:
            found = cast(array.at(at), NP_BOOL, array.item)
            target = result.at([*at[:axis], *at[axis + 1 :]])
            body.emit(f"{target} = {target} {'||' if is_any else '&&'} {found};")
        return result
    found = body.c_variable("t", "bool")
    body.emit(f"{found} = {'false' if is_any else 'true'};")
    with indices(body, array.dims) as at:
        each = cast(array.at(at), NP_BOOL, array.item)
        body.emit(
            f"if ({'' if is_any else '!'}({each})) {found} = {'true' if is_any else 'false'};"
        )
    return Num(NP_BOOL, found)


def with_steps(body: Body, array: Arr, item: Number, is_dot: bool = False) -> tuple[str, list[str]]:
    """Returns a pointer to an array for NumPy's loops, and its steps in elements."""
    if array.has_steps and not array.pointer and array.item.c == item.c:
        view = _steps_of_view(array)
        return _forwards(body, array, view) if is_dot else view
    if not array.order or len(array.dims) < 2:
        found = in_memory(body, array, item)
        return found.pointer, [str(each) for each in (*found.dims[1:], 1)]
    if array.order == UNKNOWN or array.item.c != item.c:
        raise body.refuse("@ of an array that was transposed is not translated: write .copy()")
    found = in_memory(body, transposed(array), item)
    return found.pointer, ["1", str(found.dims[1])]


def _steps_of_view(array: Arr) -> tuple[str, list[str]]:
    none = ["0"] * len(array.dims)
    first = f"&{array.at(none)}"
    steps = []
    for axis in range(len(none)):
        one = ["1" if i == axis else "0" for i in range(len(none))]
        steps.append(f"(&{array.at(one)} - {first})")
    return first, steps


def _forwards(body: Body, array: Arr, view: tuple[str, list[str]]) -> tuple[str, list[str]]:
    """Returns a pointer and steps as np.dot() has them: it copies an array that goes backwards."""
    if len(array.dims) != 1:
        return view
    step = body.temporary("int64_t", view[1][0])
    pointer = body.c_variable("p", f"const {array.item.c} *")
    body.emit(f"{pointer} = {view[0]};")
    with body.block(f"if ({step} < 0) {{"):
        body.emit(f"{pointer} = {fresh(body, array).pointer};")
        body.emit(f"{step} = 1;")
    return pointer, [step]


def product(body: Body, one: Arr, other: Arr, is_dot: bool = False) -> Value:
    """one @ other."""
    item = promoted(one.item, other.item)
    for each in (one, other):
        if is_dot and len(each.dims) > 1 and not each.pointer and item.kind == "f":
            raise body.refuse("np.dot() of a part of an array is not translated: write @")
    if item.kind == "f":
        return body.program.numpy_matmul(body, one, other, item, is_dot)
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
