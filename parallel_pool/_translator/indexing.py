"""Indexing: the elements and parts of arrays that indices choose, and what is stored there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import arrays, fitting, storage
from parallel_pool._translator.types import INT
from parallel_pool._translator.values import (
    EVERYWHERE,
    UNKNOWN,
    Arr,
    Dim,
    Fixed,
    Num,
    Value,
    as_number,
    cast,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


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
    return arrays.ordered(added + [places[axis] for axis in array.order if axis in places])


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
    chooser = arrays.as_array(body, index[at])
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
    choosers = {i: arrays.in_memory(body, arrays.as_array(body, index[i])) for i in arrays_at}
    for i, each in choosers.items():
        _check_indices(body, each, array.dims[i], i)
    numbers = {
        i: element_index(body, each, array.dims[i], i)
        for i, each in enumerate(index)
        if isinstance(each, Value) and i not in arrays_at
    }
    shape = arrays.common_shape(body, [each.dims for each in choosers.values()])
    first = arrays_at[0]
    before = list(array.dims[:first]) if all(isinstance(e, slice) for e in index[:first]) else []
    after = list(array.dims[len(index) :])
    dims = (*before, *shape, *after)

    def place(outer: Sequence[str]) -> str:
        inner: list[str] = []
        chosen = outer[len(before) : len(before) + len(shape)]
        for i in range(len(array.dims)):
            if i in choosers:
                spread = arrays.broadcast(body, choosers[i], shape)
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
        order = UNKNOWN if array.order else arrays.ordered(axes)
    return Arr(array.item, dims, place, bases=array.bases, order=order)


def _check_indices(body: Body, chooser: Arr, length: Dim, axis: int) -> None:
    with arrays.indices(body, chooser.dims) as at:
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
    mask = arrays.broadcast(body, mask, array.dims)
    whole = " * ".join(str(dim) for dim in array.dims)
    result = arrays.scratch(body, array.item, (f"({whole})",))
    count = body.c_variable("n", "int64_t")
    body.emit(f"{count} = 0;")
    with arrays.indices(body, array.dims) as at:
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
    given = arrays.as_array(body, value)
    if reads(given, target):
        given = arrays.fresh(body, given)
    arrays.copy_elements(body, given, target)


def reads(value: Arr, array: Arr) -> bool:
    """Returns whether storing an array element by element may change what is read later."""
    if value.is_read_only:
        return False
    if value.pointer and value.root == array.root and value.key == array.key:
        return False
    is_known = EVERYWHERE not in value.bases and EVERYWHERE not in array.bases
    return not is_known or bool(value.bases & array.bases)


def _assign_masked(body: Body, array: Arr, mask: Arr, value: Value) -> None:
    mask = arrays.fresh(body, arrays.broadcast(body, mask, array.dims))
    number = as_number(value)
    if number is not None and not number.number.is_numpy:
        fitting.check(body, value, array.item)
    given = arrays.as_array(body, value)
    if len(given.dims) == 0:
        with arrays.indices(body, array.dims) as at:
            c = cast(given.at(()), array.item, given.item)
            body.emit(f"if ({mask.at(at)}) {array.at(at)} = {c};")
        return
    given = arrays.fresh(body, given)
    count = body.c_variable("n", "int64_t")
    body.emit(f"{count} = 0;")
    with arrays.indices(body, array.dims) as at:
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
            body.program.attributes.add_state(array.root[1])
        raise body.refuse("this array is the same for all environments: copy it first")
    if not array.is_place:
        raise body.refuse("this array is not kept in memory: give it a name first")
    body.changed(array)
