"""NumPy: functions that make arrays, join them, or give them another shape or order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    arrays,
    fitting,
    storage,
)
from parallel_pool._translator.arguments import all_taking
from parallel_pool._translator.numpy_arguments import (
    Keywords,
    argument,
    axis_of,
    dtype_of,
    shape_of,
)
from parallel_pool._translator.types import (
    INT,
    NP_FLOAT,
    Array,
    DynamicArray,
    Number,
)
from parallel_pool._translator.values import (
    UNKNOWN,
    Arr,
    Dim,
    Fixed,
    Lst,
    Num,
    Tup,
    Value,
    as_number,
    cast,
    literal,
    promoted,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def _filled(default: int) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: Keywords) -> Value:
        dims = shape_of(body, argument(given, keywords, 0, "shape") or Fixed(()))
        item = dtype_of(body, argument(given, keywords, 1, "dtype"), NP_FLOAT)
        assert item is not None
        return arrays.filled(body, item, dims, literal(default, item))

    return translate


def _full(body: Body, given: list[Value], keywords: Keywords) -> Value:
    dims = shape_of(body, given[0])
    value = argument(given, keywords, 1, "fill_value")
    assert value is not None
    source = body.array(value)
    item = dtype_of(body, argument(given, keywords, 2, "dtype"), source.item)
    assert item is not None
    number = as_number(value)
    if number is not None and number.number.kind == "i":
        fitting.check(body, value, item)
    if not source.dims:
        c = body.temporary(item.c, cast(source.at(()), item, source.item))
        return arrays.filled(body, item, dims, c)
    return arrays.converted(arrays.broadcast(body, source, dims), item)


def _like(default: int | None) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: Keywords) -> Value:
        of = body.array(given[0])
        value = default
        at = 1 if default is not None else 2
        item = dtype_of(body, argument(given, keywords, at, "dtype"), of.item)
        assert item is not None
        if value is None:
            number = body.as_num(given[1])
            if number.number.kind == "i":
                number = fitting.number(body, number, item)
            c = body.temporary(item.c, cast(number.c, item, number.number))
            return arrays.filled(body, item, of.dims, c)
        return arrays.filled(body, item, of.dims, literal(value, item))

    return translate


def _wanted(body: Body, given: list[Value], keywords: Keywords) -> tuple[Value, Arr, Number]:
    """Returns what an array is made of, as it is and as an array, and the wanted numbers."""
    value = body.plain(given[0])
    found = body.array(value)
    item = dtype_of(body, argument(given, keywords, 1, "dtype"), found.item)
    assert item is not None
    fitting.check(body, value, item)
    return value, found, item


def _array(body: Body, given: list[Value], keywords: Keywords) -> Value:
    value, found, item = _wanted(body, given, keywords)
    made = arrays.converted(found, item)
    if isinstance(value, (Arr, Lst)) or found.is_read_only:
        return body.fresh(made)
    return made


def _asarray(body: Body, given: list[Value], keywords: Keywords) -> Value:
    _, found, item = _wanted(body, given, keywords)
    if found.item.c == item.c and found.item.kind == item.kind:
        return found
    return arrays.converted(found, item)


def _arange(body: Body, given: list[Value], keywords: Keywords) -> Value:
    if len(given) > 3:
        given, keywords = given[:3], {"dtype": given[3]}
    if any(body.as_num(each).number.kind == "f" for each in given):
        if all(isinstance(each, Fixed) for each in given):
            return body.program.tables.array(np.arange(*(each.value for each in given)))  # type: ignore[attr-defined]
        raise body.refuse("np.arange of floats is not translated: use np.linspace")
    if all(isinstance(each, Fixed) for each in given):
        made = body.program.tables.array(np.arange(*(each.value for each in given)))  # type: ignore[attr-defined]
    else:
        start, stop, step = "0", "", "1"
        if len(given) == 1:
            stop = body.as_int(given[0])
            if isinstance(given[0], Num) and given[0].attribute:
                count = int(body.known(given[0], "a length"))
                made = arrays.arange(body, "0", str(count), "1", count)
                return _typed(body, made, keywords)
        else:
            start, stop = body.as_int(given[0]), body.as_int(given[1])
        if len(given) == 3:
            step = str(body.known(given[2], "the step of np.arange"))
        made = arrays.arange(body, start, stop, step)
    return _typed(body, made, keywords)


def _typed(body: Body, made: Arr, keywords: Keywords) -> Arr:
    item = dtype_of(body, keywords.get("dtype"), made.item)
    assert item is not None
    return arrays.converted(made, item)


def _linspace(body: Body, given: list[Value], keywords: Keywords) -> Value:
    if all(isinstance(each, Fixed) for each in (*given, *keywords.values())):
        named = {name: each.value for name, each in keywords.items()}  # type: ignore[attr-defined]
        found = np.linspace(*(each.value for each in given), **named)  # type: ignore[attr-defined]
        return body.program.tables.array(found)
    raise body.refuse("np.linspace of numbers that change is not translated")


def _eye(body: Body, given: list[Value], keywords: Keywords) -> Value:
    item = dtype_of(body, argument(given, keywords, 3, "dtype"), NP_FLOAT)
    assert item is not None
    rows, columns = body.dim(given[0]), argument(given, keywords, 1, "M")
    above = argument(given, keywords, 2, "k")
    first = 0 if above is None else int(body.known(above, "k"))
    if columns is None or (isinstance(columns, Fixed) and columns.value is None):
        dims = (rows, rows)
    else:
        dims = (rows, body.dim(columns))
    return Arr(item, dims, lambda at: f"(({item.c})({at[0]} + {first} == {at[1]}))")


def _concatenate(body: Body, given: list[Value], keywords: Keywords) -> Value:
    value = body.plain(given[0])
    axis = axis_of(body, argument(given, keywords, 1, "axis") or Fixed(0)) or 0
    parts = body.items(value)
    if parts is None and isinstance(value, Lst) and axis == 0:
        return _concatenated(body, value)
    if parts is None:
        raise body.refuse("np.concatenate of a list whose length is not known is not translated")
    return _joined(body, [body.array(each) for each in parts], axis)


def _concatenated(body: Body, value: Lst) -> Arr:
    """Returns the arrays of a list, one behind the other."""
    of = value.list_type.item
    if not isinstance(of, (Array, DynamicArray)):
        raise body.refuse(f"np.concatenate of {value.type} is not translated: make it an array")
    body.check(f"{value.c}->count > 0", "ValueError", "need at least one array to concatenate")

    def part(i: str) -> Arr:
        found = storage.load(body, of, f"{value.c}->v[{i}]")
        assert isinstance(found, Arr)
        return found

    total, index = body.c_variable("n", "int64_t"), body.c_variable("i", "int64_t")
    head = f"for ({index} = 0; {index} < {value.c}->count; {index}++) {{"
    inner = part("0").dims[1:]
    body.emit(f"{total} = 0;")
    with body.block(head):
        for dim, wanted in zip(part(index).dims[1:], inner, strict=True):
            text = "all the input array dimensions except for the concatenation axis must match"
            body.check(f"{dim} == {wanted}", "ValueError", text)
        body.emit(f"{total} += {part(index).dims[0]};")
    result = arrays.new(body, of.item, (body.temporary("int64_t", total), *inner))
    body.emit(f"{total} = 0;")
    with body.block(head):
        each = part(index)
        with arrays.indices(body, each.dims) as at:
            body.emit(f"{result.at([f'({total} + {at[0]})', *at[1:]])} = {each.at(at)};")
        body.emit(f"{total} += {each.dims[0]};")
    return result


def _joined(body: Body, parts: Sequence[Arr], axis: int) -> Arr:
    item = parts[0].item
    for part in parts[1:]:
        item = promoted(item, part.item)
    count = len(parts[0].dims)
    axis %= count
    total: Dim = 0
    for part in parts:
        dim = part.dims[axis]
        total = (
            total + dim if isinstance(total, int) and isinstance(dim, int) else f"{total} + {dim}"
        )
    dims = list(parts[0].dims)
    dims[axis] = total if isinstance(total, int) else body.temporary("int64_t", total)
    result = arrays.new(body, item, dims)
    result.order = UNKNOWN if any(part.order for part in parts) else ()
    first: Dim = 0
    for part in parts:
        with arrays.indices(body, part.dims) as at:
            found = part.at(at)
            inner = list(at)
            inner[axis] = f"({at[axis]} + {first})" if first != 0 else at[axis]
            body.emit(f"{result.at(inner)} = {cast(found, item, part.item)};")
        dim = part.dims[axis]
        first = (
            first + dim if isinstance(first, int) and isinstance(dim, int) else f"{first} + {dim}"
        )
    return result


def in_a_row(body: Body, parts: Sequence[Arr]) -> Arr:
    """Returns the elements of arrays and numbers, one after another."""
    rows = [_expanded(each, 0) if not each.dims else each for each in parts]
    return _joined(body, [flattened(body, body.in_memory(each)) for each in rows], 0)


def _stack(default_axis: int) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: Keywords) -> Value:
        parts = body.items(body.plain(given[0]))
        if parts is None:
            raise body.refuse("np.stack of a list whose length is not known is not translated")
        axis = axis_of(body, argument(given, keywords, 1, "axis")) or default_axis
        made = [body.array(each) for each in parts]
        axis %= len(made[0].dims) + 1
        rows = [_expanded(part, axis) for part in made]
        return _joined(body, rows, axis)

    return translate


def _hstack(body: Body, given: list[Value], keywords: Keywords) -> Value:
    parts = [body.array(each) for each in body.items(body.plain(given[0])) or ()]
    parts = [_expanded(each, 0) if not each.dims else each for each in parts]
    return _joined(body, parts, 0 if len(parts[0].dims) == 1 else 1)


def _vstack(body: Body, given: list[Value], keywords: Keywords) -> Value:
    parts = [body.array(each) for each in body.items(body.plain(given[0])) or ()]
    parts = [_expanded(each, 0) if len(each.dims) == 1 else each for each in parts]
    return _joined(body, parts, 0)


def _expanded(array: Arr, axis: int) -> Arr:
    dims = (*array.dims[:axis], 1, *array.dims[axis:])
    order = UNKNOWN if array.order else ()
    view = _view(array, dims, lambda at: array.at([*at[:axis], *at[axis + 1 :]]))
    return replace(view, order=order, is_view=False)


def _view(array: Arr, dims: tuple[Dim, ...], at: Callable[[Sequence[str]], str]) -> Arr:
    """Returns an array that shows the elements of another one."""
    key = f"{array.key}.view" if array.key else ""
    return replace(array, dims=dims, at=at, pointer="", key=key)


def flattened(body: Body, array: Arr) -> Arr:
    """array.ravel(), which refers to the array."""
    if len(array.dims) == 1:
        return array
    if not array.pointer:
        array = body.fresh(array)
    size: Dim = 1
    for dim in array.dims:
        size = size * dim if isinstance(size, int) and isinstance(dim, int) else f"{size} * {dim}"
    if isinstance(size, str):
        size = body.temporary("int64_t", size)
    made = storage.memory_array(array.item, (size,), array.pointer, array.root)
    made.is_read_only, made.is_foreign = array.is_read_only, array.is_foreign
    made.is_place = array.is_place
    made.key = array.key + ".ravel" if array.key else ""
    return made


def reshaped(body: Body, array: Arr, shape: Sequence[Value]) -> Arr:
    if len(shape) == 1 and as_number(shape[0]) is None:
        shape = body.items(body.plain(shape[0])) or ()
    wanted = [int(body.known(each, "a shape")) for each in shape]
    known = [dim for dim in array.dims if isinstance(dim, int)]
    if len(array.dims) == 1 and not array.pointer and array.is_place and -1 not in wanted:
        dims = tuple(wanted)
        return _view(array, dims, lambda at: array.at([storage.flat_index(dims, at)]))
    flat = flattened(body, array)
    if -1 in wanted:
        if len(known) != len(array.dims):
            if len(wanted) == 1:
                return flat
            raise body.refuse("reshape(-1) of an array whose shape is not known is not translated")
        rest = int(np.prod([each for each in wanted if each != -1], dtype=np.int64))
        wanted[wanted.index(-1)] = int(np.prod(known, dtype=np.int64)) // max(1, rest)
    made = storage.memory_array(array.item, wanted, flat.pointer, flat.root)
    if not flat.pointer:
        dims = tuple(wanted)
        made = Arr(array.item, dims, lambda at: flat.at([f"({storage.flat_index(dims, at)})"]))
        return made
    made.is_place = flat.is_place
    made.is_read_only, made.is_foreign = array.is_read_only, array.is_foreign
    return made


def _times(body: Body, value: Value) -> int:
    """Returns how often something is repeated."""
    found = body.known(value, "the number of repeats")
    if not isinstance(found, (int, np.integer)):
        raise body.refuse("a number of repeats for each element is not translated: write a loop")
    if found < 0:
        body.fail("ValueError", "repeats may not contain negative values.")
    return max(0, int(found))


def repeat(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    times = _times(body, given[1])
    axis = axis_of(body, argument(given, keywords, 2, "axis"))
    if axis is None:
        array, axis = flattened(body, array), 0
    dims = list(array.dims)
    dim = dims[axis]
    dims[axis] = dim * times if isinstance(dim, int) else f"({dim} * {times})"
    return Arr(
        array.item,
        tuple(dims),
        lambda at: array.at([*at[:axis], f"({at[axis]} / {times})", *at[axis + 1 :]]),
    )


def _tile(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    times = _times(body, given[1])
    if len(array.dims) != 1 or not isinstance(array.dims[0], int):
        raise body.refuse("np.tile of this is not translated")
    length = array.dims[0]
    return Arr(array.item, (length * times,), lambda at: array.at([f"({at[0]} % {length})"]))


def _pad(body: Body, given: list[Value], keywords: Keywords) -> Value:
    """np.pad with a constant."""
    array = body.array(given[0])
    array = array if array.is_place else body.fresh(array)
    mode = argument(given, keywords, 2, "mode") or Fixed("constant")
    if not isinstance(mode, Fixed) or mode.value != "constant":
        raise body.refuse("np.pad with another mode than 'constant' is not translated")
    width = body.known(given[1], "the width of np.pad")
    sides = np.broadcast_to(np.asarray(width), (len(array.dims), 2)).tolist()
    number = body.kept(body.as_num(argument(given, keywords, 3, "constant_values") or Fixed(0)))
    assert isinstance(number, Num)
    value = cast(number.c, array.item, number.number)
    dims = tuple(
        dim + sum(side) if isinstance(dim, int) else f"({dim} + {sum(side)})"
        for dim, side in zip(array.dims, sides, strict=True)
    )

    def at(index: Sequence[str]) -> str:
        inner = [f"({each} - {first})" for each, (first, _) in zip(index, sides, strict=True)]
        ends = zip(inner, array.dims, strict=True)
        inside = " && ".join(f"{each} >= 0 && {each} < {dim}" for each, dim in ends)
        return f"({inside} ? {array.at(inner)} : {value})"

    return body.fresh(Arr(array.item, dims, at, order=array.order))


def _roll(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    array = array if array.is_place else body.fresh(array)
    axis = axis_of(body, argument(given, keywords, 2, "axis"))
    if axis is None and len(array.dims) > 1:
        raise body.refuse("np.roll without an axis is translated for one axis only")
    axis = (axis or 0) % len(array.dims)
    length = array.dims[axis]
    shift = body.temporary("int64_t", f"pp_numpy_mod({body.as_int(given[1])}, {length})")

    def at(index: Sequence[str]) -> str:
        inner = list(index)
        inner[axis] = f"(({index[axis]} + {length} - {shift}) % {length})"
        return array.at(inner)

    return body.fresh(Arr(array.item, array.dims, at, order=array.order))


def _flip(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    axis = axis_of(body, argument(given, keywords, 1, "axis"))
    chosen = range(len(array.dims)) if axis is None else [axis % len(array.dims)]

    def at(index: Sequence[str]) -> str:
        inner = list(index)
        for each in chosen:
            inner[each] = f"({array.dims[each]} - 1 - {index[each]})"
        return array.at(inner)

    return Arr(
        array.item,
        array.dims,
        at,
        is_place=array.is_place,
        root=array.root,
        is_read_only=array.is_read_only,
        order=array.order,
        is_part=True,
    )


def _rot90(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    times = 1
    if (count := argument(given, keywords, 1, "k")) is not None:
        if not isinstance(count, Fixed):
            return _rotated(body, array, count)
        times = int(count.value)
    for _ in range(times % 4):
        previous, rows = array, array.dims[1]
        array = Arr(
            previous.item,
            (previous.dims[1], previous.dims[0]),
            lambda at, previous=previous, rows=rows: previous.at(  # type: ignore[misc]
                [at[1], f"({rows} - 1 - {at[0]})"]
            ),
            is_place=previous.is_place,
            root=previous.root,
            is_read_only=previous.is_read_only,
            order=arrays.transposed(previous).order,
            is_part=True,
        )
    return array


def _rotated(body: Body, array: Arr, count: Value) -> Arr:
    """np.rot90 of a square array, by a number of turns that changes."""
    if len(array.dims) != 2 or array.dims[0] != array.dims[1]:
        raise body.refuse("np.rot90 by a number that changes is translated for squares only")
    turns = body.temporary("int64_t", f"pp_python_mod({body.as_int(count)}, 4)")
    last = f"{array.dims[0]} - 1"

    def at(index: Sequence[str]) -> str:
        i, j = index
        rows = (i, j, f"{last} - {i}", f"{last} - {j}")
        columns = (j, f"{last} - {i}", f"{last} - {j}", i)
        return array.at([_by_turns(turns, each) for each in (rows, columns)])

    return Arr(
        array.item,
        array.dims,
        at,
        is_place=array.is_place,
        root=array.root,
        is_read_only=array.is_read_only,
        order=UNKNOWN,
    )


def _by_turns(turns: str, cases: Sequence[str]) -> str:
    """Returns the C expression of one of four cases."""
    first, second, third, last = cases
    return f"({turns} == 0 ? {first} : {turns} == 1 ? {second} : {turns} == 2 ? {third} : {last})"


def transpose(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    if given[1:] and not (isinstance(given[1], Fixed) and given[1].value is None):
        raise body.refuse("transpose with an order of axes is not translated")
    return arrays.transposed(array)


def _unary_shape(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    return Tup(tuple(Fixed(d) if isinstance(d, int) else Num(INT, d) for d in array.dims))


def _copy(body: Body, given: list[Value], keywords: Keywords) -> Value:
    return body.fresh(body.array(given[0]))


def _expand(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    axis = int(body.known(argument(given, keywords, 1, "axis") or Fixed(0), "an axis"))
    return _expanded(array, axis % (len(array.dims) + 1))


def _at_least(count: int) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: Keywords) -> Value:
        array = body.array(given[0])
        while len(array.dims) < count:
            array = _expanded(array, 0)
        return array

    return translate


def squeeze(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    kept = [i for i, dim in enumerate(array.dims) if dim != 1]
    count = len(array.dims)

    def at(index: Sequence[str]) -> str:
        inner = ["0"] * count
        for place, each in zip(kept, index, strict=True):
            inner[place] = each
        return array.at(inner)

    return Arr(array.item, tuple(array.dims[i] for i in kept), at)


def _zeros_diag(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    if len(array.dims) != 2:
        raise body.refuse("np.diag of this is not translated")
    rows, columns = array.dims
    if not (isinstance(rows, int) and isinstance(columns, int)):
        raise body.refuse("np.diag of this is not translated")
    return Arr(array.item, (min(rows, columns),), lambda at: array.at([at[0], at[0]]))


HANDLERS: dict[Any, Callable[..., Value]] = {
    np.zeros: _filled(0),
    np.empty: _filled(0),
    np.ones: _filled(1),
    np.full: _full,
    np.zeros_like: _like(0),
    np.empty_like: _like(0),
    np.ones_like: _like(1),
    np.full_like: _like(None),
    np.array: _array,
    np.asarray: _asarray,
    np.ascontiguousarray: _asarray,
    np.arange: _arange,
    np.linspace: _linspace,
    np.eye: _eye,
    np.identity: _eye,
    np.concatenate: _concatenate,
    np.stack: _stack(0),
    np.column_stack: _stack(1),
    np.hstack: _hstack,
    np.vstack: _vstack,
    np.ravel: lambda body, given, keywords: flattened(body, body.array(given[0])),
    np.reshape: lambda body, given, keywords: reshaped(body, body.array(given[0]), given[1:]),
    np.repeat: repeat,
    np.tile: _tile,
    np.pad: _pad,
    np.roll: _roll,
    np.flip: _flip,
    np.fliplr: lambda body, given, keywords: _flip(body, given, {"axis": Fixed(1)}),
    np.flipud: lambda body, given, keywords: _flip(body, given, {"axis": Fixed(0)}),
    np.rot90: _rot90,
    np.transpose: transpose,
    np.shape: _unary_shape,
    np.copy: _copy,
    np.expand_dims: _expand,
    np.atleast_1d: _at_least(1),
    np.atleast_2d: _at_least(2),
    np.squeeze: squeeze,
    np.diag: _zeros_diag,
    np.append: lambda body, given, keywords: in_a_row(
        body, [body.array(given[0]), body.array(given[1])]
    ),
}
TAKES: dict[Any, str] = {
    np.zeros: "shape dtype? | order='C'",
    np.empty: "shape dtype? | order='C'",
    np.ones: "shape dtype? | order='C'",
    np.full: "shape fill_value dtype? | order='C'",
    np.zeros_like: "a dtype?",
    np.empty_like: "a dtype?",
    np.ones_like: "a dtype?",
    np.full_like: "a fill_value dtype?",
    np.array: "object dtype? | copy=True ndmin=0",
    np.asarray: "a dtype?",
    np.ascontiguousarray: "a dtype?",
    np.arange: "start stop? step? dtype?",
    np.linspace: "start stop num? endpoint? retstep? dtype?",
    np.eye: "N M? k? dtype?",
    np.identity: "N | dtype",
    np.concatenate: "arrays axis?",
    np.stack: "arrays axis?",
    np.column_stack: "arrays",
    np.hstack: "arrays",
    np.vstack: "arrays",
    np.ravel: "a | order='C'",
    np.reshape: "a shape | order='C'",
    np.repeat: "a repeats axis?",
    np.tile: "A reps",
    np.pad: "array pad_width mode? constant_values?",
    np.roll: "a shift axis?",
    np.flip: "m axis?",
    np.fliplr: "m",
    np.flipud: "m",
    np.rot90: "m k?",
    np.transpose: "a axes?",
    np.shape: "a",
    np.copy: "a",
    np.atleast_1d: "a",
    np.atleast_2d: "a",
    np.expand_dims: "a axis",
    np.squeeze: "a",
    np.diag: "v | k=0",
    np.append: "arr values",
}
FUNCTIONS = all_taking(TAKES, HANDLERS)
