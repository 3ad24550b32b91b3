"""NumPy: its functions, and the methods of arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    arrays,
    containers,
    fitting,
    linalg,
    operators,
    storage,
    unions,
)
from parallel_pool._translator.arguments import all_taking, bound, taking
from parallel_pool._translator.displays import ListDisplay
from parallel_pool._translator.types import (
    BOOL,
    FLOAT,
    INT,
    NP_BOOL,
    NP_FLOAT,
    NP_INT,
    Array,
    DynamicArray,
    List,
    Number,
    of_dtype,
)
from parallel_pool._translator.values import (
    UNKNOWN,
    Arr,
    Dim,
    Fixed,
    Generator,
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

Keywords = dict[str, Value]
BUILTIN_DTYPES = {float: np.float64, int: np.int64, bool: np.bool_}


def find(function: Any) -> Callable[..., Value] | None:
    """Returns what translates a function of NumPy; None for others."""
    try:
        found = FUNCTIONS.get(function)
    except TypeError:
        return None
    if found is not None:
        return found
    if isinstance(function, np.ufunc):
        return _ufunc(function)
    if isinstance(function, type) and issubclass(function, np.generic):
        return taking(
            "value?",
            lambda body, given, keywords: scalar(
                body, Fixed(function), given[0] if given else Fixed(0)
            ),
        )
    return None


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


# ----------------------------------------------------------------------------------- making --


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


def _array(body: Body, given: list[Value], keywords: Keywords) -> Value:
    value = body.plain(given[0])
    found = body.array(value)
    item = dtype_of(body, argument(given, keywords, 1, "dtype"), found.item)
    assert item is not None
    fitting.check(body, value, item)
    made = arrays.converted(found, item)
    if isinstance(value, (Arr, Lst)) or found.is_read_only:
        return body.fresh(made)
    return made


def _asarray(body: Body, given: list[Value], keywords: Keywords) -> Value:
    value = body.plain(given[0])
    found = body.array(value)
    item = dtype_of(body, argument(given, keywords, 1, "dtype"), found.item)
    assert item is not None
    fitting.check(body, value, item)
    if found.item.c == item.c and found.item.kind == item.kind:
        return found
    return arrays.converted(found, item)


def _arange(body: Body, given: list[Value], keywords: Keywords) -> Value:
    if len(given) > 3:
        given, keywords = given[:3], {"dtype": given[3]}
    if any(body.as_num(each).number.kind == "f" for each in given):
        if all(isinstance(each, Fixed) for each in given):
            return body.program.table(np.arange(*(each.value for each in given)))  # type: ignore[attr-defined]
        raise body.refuse("np.arange of floats is not translated: use np.linspace")
    if all(isinstance(each, Fixed) for each in given):
        made = body.program.table(np.arange(*(each.value for each in given)))  # type: ignore[attr-defined]
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
        return body.program.table(found)
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
    result = arrays._new(body, of.item, (body.temporary("int64_t", total), *inner))
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
    result = arrays._new(body, item, dims)
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


def _reshaped(body: Body, array: Arr, shape: Sequence[Value]) -> Arr:
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


def _repeat(body: Body, given: list[Value], keywords: Keywords) -> Value:
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


def _transpose(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    if given[1:] and not (isinstance(given[1], Fixed) and given[1].value is None):
        raise body.refuse("transpose with an order of axes is not translated")
    return arrays.transposed(array)


# --------------------------------------------------------------------------------- choosing --


def _where(body: Body, given: list[Value], keywords: Keywords) -> Value:
    if len(given) == 1:
        return _nonzero(body, given, keywords)
    if len(given) != 3:
        raise body.refuse("np.where takes a condition, or a condition and two values")
    given = [body.array(given[0]), *given[1:]]
    return arrays.elementwise(body, [body.plain(each) for each in given], _chosen)


def _chosen(condition: Num, one: Num, other: Num) -> Num:
    of = promoted(one.number, other.number)
    a, b = cast(one.c, of, one.number), cast(other.c, of, other.number)
    return Num(of, f"({condition.c} ? {a} : {b})")


def _nonzero(body: Body, given: list[Value], keywords: Keywords) -> Value:
    found = _argwhere(body, [given[0]], {})
    assert isinstance(found, Arr)
    count = found.dims[1]
    assert isinstance(count, int)
    parts = tuple(
        Arr(NP_INT, (found.dims[0],), lambda at, i=i: found.at([at[0], str(i)]))  # type: ignore[misc]
        for i in range(count)
    )
    return Tup(parts)


def _argwhere(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    count = len(array.dims)
    whole = " * ".join(str(dim) for dim in array.dims)
    made = arrays.scratch(body, NP_INT, (f"({whole})", count))
    number = body.c_variable("n", "int64_t")
    body.emit(f"{number} = 0;")
    with arrays.indices(body, array.dims) as at:
        found = cast(array.at(at), NP_BOOL, array.item)
        with body.block(f"if ({found}) {{"):
            for i, each in enumerate(at):
                body.emit(f"{made.pointer}[{number} * {count} + {i}] = {each};")
            body.emit(f"{number}++;")
    return storage.memory_array(NP_INT, (number, count), made.pointer)


def _flatnonzero(body: Body, given: list[Value], keywords: Keywords) -> Value:
    found = _argwhere(body, [flattened(body, body.array(given[0]))], {})
    assert isinstance(found, Arr)
    return storage.memory_array(NP_INT, (found.dims[0],), found.pointer)


def _clip(body: Body, given: list[Value], keywords: Keywords) -> Value:
    value = body.plain(given[0])
    low = argument(given, keywords, 1, "a_min") or keywords.get("min")
    high = argument(given, keywords, 2, "a_max") or keywords.get("max")
    bounds = [
        (name, body.plain(each))
        for name, each in (("maximum", low), ("minimum", high))
        if each is not None and not (isinstance(each, Fixed) and each.value is None)
    ]
    both = {"maximum": "clip_low", "minimum": "clip_high"}
    for name, limit in bounds:
        if len(bounds) == 1:
            value = _two(body, name, value, limit)
        else:
            value = _two(body, both[name], value, _clamped(body, limit, value))
    return _as_scalar(body, value)


def _clamped(body: Body, bound: Value, value: Value) -> Value:
    """Returns a bound of np.clip within the type of what is clipped."""
    found, item = as_number(bound), value.item if isinstance(value, Arr) else value.type
    is_int = found is not None and found.number.kind == "i" and not found.number.is_numpy
    if found is None or not is_int or not isinstance(item, Number) or item.kind not in "iu":
        return bound
    if not item.is_numpy or (item.kind == "i" and item.bits == 64):
        return bound
    least, most = np.iinfo(item.dtype).min, min(np.iinfo(item.dtype).max, 2**63 - 1)
    c = body.temporary("int64_t", found.c)
    return Num(INT, f"({c} < {least} ? {least} : {c} > INT64_C({most}) ? INT64_C({most}) : {c})")


def _as_scalar(body: Body, value: Value) -> Value:
    if isinstance(value, Num) and not value.number.is_numpy:
        return Num(arrays._as_numpy(value.number), value.c)
    if isinstance(value, Fixed):
        number = body.as_num(value)
        return Num(arrays._as_numpy(number.number), number.c)
    return value


def _two(body: Body, name: str, one: Value, other: Value) -> Value:
    """np.maximum and np.minimum, and both of np.clip."""

    def function(a: Num, b: Num) -> Num:
        of = promoted(a.number, b.number)
        if not of.is_numpy:
            of = arrays._as_numpy(of)
        x, y = cast(a.c, of, a.number), cast(b.c, of, b.number)
        if of.kind == "f":
            return Num(of, f"pp_numpy_{name}_{of.c}({x}, {y})")
        sign = ">" if name in ("maximum", "clip_low") else "<"
        return Num(of, f"({x} {sign} {y} ? {x} : {y})")

    one, other = fitting.operands(body, [body.plain(one), body.plain(other)])
    if as_number(one) is not None and as_number(other) is not None:
        a, b = as_number(one), as_number(other)
        assert a is not None and b is not None
        result = function(body.kept(a), body.kept(b))  # type: ignore[arg-type]
        return body.number(result.number, result.c)
    return arrays.elementwise(body, [one, other], function)


# -------------------------------------------------------------------------------- functions --

PLAIN = {
    np.add: ast.Add,
    np.subtract: ast.Sub,
    np.multiply: ast.Mult,
    np.divide: ast.Div,
    np.floor_divide: ast.FloorDiv,
    np.mod: ast.Mod,
    np.power: ast.Pow,
    np.bitwise_and: ast.BitAnd,
    np.bitwise_or: ast.BitOr,
    np.bitwise_xor: ast.BitXor,
}
COMPARED = {
    np.equal: "==",
    np.not_equal: "!=",
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
}
# functions of float64 that NumPy takes from the C library, or that have one result
LIBRARY = {
    np.sqrt: "sqrt",
    np.sin: "sin",
    np.cos: "cos",
    np.floor: "floor",
    np.ceil: "ceil",
    np.trunc: "trunc",
    np.rint: "rint",
    np.fabs: "fabs",
    np.copysign: "copysign",
    np.fmod: "fmod",
}
TESTS = {np.isnan: "isnan", np.isinf: "isinf", np.isfinite: "isfinite", np.signbit: "signbit"}


def _ufunc(function: np.ufunc) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: Keywords) -> Value:
        if keywords or len(given) != function.nin:
            raise body.refuse(
                f"np.{function.__name__} is translated for {function.nin} arguments, and none more"
            )
        values = [body.plain(each) for each in given]
        if all(isinstance(each, Fixed) and as_number(each) is not None for each in values):
            with np.errstate(all="ignore"):
                return Fixed(function(*(each.value for each in values)))  # type: ignore[attr-defined]
        if function in (np.maximum, np.minimum):
            return _two(body, function.__name__, *values)
        if function in PLAIN and function is not np.divide:
            values = fitting.operands(body, values)
        scalars = all(as_number(each) is not None for each in values)
        right = values[-1]
        if function is np.power and not scalars:
            right = operators.exponent(body, *values)
            number = as_number(right)
            right = _np(number) if number is not None else right
        one = _of_elements(body, function, right, not scalars)
        if scalars:
            numbers = [body.kept(body.as_num(each)) for each in values]
            if not any(each.number.is_numpy for each in numbers):  # type: ignore[attr-defined]
                numbers = [_as_scalar(body, each) for each in numbers]
            result = one(*numbers)
            return body.number(result.number, result.c)
        return arrays.elementwise(body, values, one)

    return translate


def _of_elements(
    body: Body, function: np.ufunc, right: Value, in_array: bool
) -> Callable[..., Num]:
    """Returns what a ufunc does to numbers."""
    name = function.__name__
    if function in PLAIN:
        op = PLAIN[function]()
        if function is np.power and not in_array:
            return lambda a, b: _power(body, a, b)
        return lambda a, b: operators.of_numbers(
            body, op, a, b, right if in_array else Fixed(None), in_array=in_array
        )
    if function in COMPARED:
        return lambda a, b: Num(NP_BOOL, operators.compared(COMPARED[function], a, b))
    if function in TESTS:
        return lambda a: Num(NP_BOOL, f"({TESTS[function]}({cast(a.c, FLOAT, a.number)}) != 0)")
    if function is np.absolute:
        return lambda a: operators.absolute(_np(a))
    if function is np.square:
        return lambda a: _square(body, _np(a))
    if function is np.sign:
        return lambda a: _sign(_np(a))
    if function is np.negative:
        return lambda a: operators._unary_of_number(body, ast.USub(), _np(a), True)
    if function in (np.logical_and, np.logical_or, np.logical_xor):
        sign = {"logical_and": "&&", "logical_or": "||", "logical_xor": "!="}[name]
        return lambda a, b: Num(
            NP_BOOL, f"({cast(a.c, NP_BOOL, a.number)} {sign} {cast(b.c, NP_BOOL, b.number)})"
        )
    if function is np.logical_not:
        return lambda a: Num(NP_BOOL, f"(!{cast(a.c, NP_BOOL, a.number)})")
    if function is np.invert:
        return lambda a: operators._unary_of_number(body, ast.Invert(), _np(a), True)
    if function in (np.deg2rad, np.radians):
        return lambda a: _times_pi(body, a, lambda pi, half: pi / half)
    if function in (np.rad2deg, np.degrees):
        return lambda a: _times_pi(body, a, lambda pi, half: half / pi)

    def of_floats(*numbers: Num) -> Num:
        of = numbers[0].number
        for each in numbers[1:]:
            of = promoted(of, each.number)
        if of.kind != "f":
            if function in (np.floor, np.ceil, np.trunc, np.rint) and of.kind in "iu":
                return Num(Number(of.kind, of.bits, True), numbers[0].c)
            of = _float_of(body, of)
        of = Number("f", of.bits, True)
        cs = [cast(each.c, of, each.number) for each in numbers]
        if function in LIBRARY and (of.bits == 64 or function in EXACT):
            suffix = "" if of.bits == 64 else "f"
            return Num(of, f"{LIBRARY[function]}{suffix}({', '.join(cs)})")
        return body.program.numpy_loop(body, name, of, *cs)

    return of_floats


def _float_of(body: Body, of: Number) -> Number:
    """Returns the floats that a function of NumPy makes of numbers."""
    if of.kind == "f" or of.bits > 16 or not of.is_numpy:
        return of if of.kind == "f" else NP_FLOAT
    if of.bits == 16:
        return Number("f", 32, True)
    raise body.refuse(f"this function makes float16 of {of}: write .astype(np.float64)")


def _times_pi(body: Body, one: Num, factor: Callable[[Any, Any], Any]) -> Num:
    """np.radians and np.degrees: the factor has the precision of the numbers."""
    of = _float_of(body, one.number)
    of = Number("f", of.bits, True)
    number = factor(of.dtype.type(np.pi), of.dtype.type(180))
    return Num(of, f"({cast(one.c, of, one.number)} * {literal(number, of)})")


def _power(body: Body, a: Num, b: Num) -> Num:
    """np.power of two numbers: NumPy's loop takes other ways for some exponents."""
    of = promoted(a.number, b.number)
    if of.kind != "f":
        return operators.of_numbers(body, ast.Pow(), a, b, Fixed(None))
    return body.program.numpy_power(body, of, cast(a.c, of, a.number), cast(b.c, of, b.number))


# one result in every precision
EXACT = (np.sqrt, np.floor, np.ceil, np.trunc, np.rint, np.fabs, np.copysign)


def _np(one: Num) -> Num:
    return Num(arrays._as_numpy(one.number), one.c)


def _square(body: Body, one: Num) -> Num:
    c = one.c if one.c.isidentifier() else body.temporary(one.number.c, one.c)
    if one.number.kind in "iu":
        return Num(one.number, f"(({one.number.c})((uint64_t){c} * (uint64_t){c}))")
    return Num(one.number, f"({c} * {c})")


def _sign(one: Num) -> Num:
    if one.number.kind == "f":
        return Num(one.number, f"({one.number.c})pp_numpy_sign({one.c})")
    return Num(one.number, f"(({one.number.c})(({one.c} > 0) - ({one.c} < 0)))")


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
        arrays.check_size(body, array)
    if name in ("sum", "count_nonzero"):
        if name == "count_nonzero":
            old = array
            array = Arr(NP_BOOL, old.dims, lambda at: cast(old.at(at), NP_BOOL, old.item))
        item, of = dtype_of(body, argument([Fixed(None), *given], keywords, 2, "dtype")), array.item
        if item is not None:
            array = arrays.converted(array, item)
        result = arrays.sum_of(body, array, axis, of)
        if name == "count_nonzero" and isinstance(result, Num):
            return Num(INT, result.c)
        return result
    if name in ("max", "amax", "min", "amin"):
        return arrays.extreme(body, array, name[-3:], axis)
    if name in ("argmax", "argmin"):
        if axis is None and len(array.dims) > 1:
            pass
        return arrays.place_of_extreme(body, array, name[-3:], axis)
    if name in ("any", "all"):
        return arrays.any_or_all(body, array, name == "any", axis)
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
        high, low = arrays.extreme(body, array, "max"), arrays.extreme(body, array, "min")
        return operators.binary(body, ast.Sub(), high, low)
    raise body.refuse(f"{name}() of an array is not translated")


def _float_item(item: Number) -> Number:
    return item if item.kind == "f" else NP_FLOAT


def _mean(body: Body, array: Arr, axis: int | None, ddof: int = 0) -> Value:
    item = _float_item(array.item)
    total = arrays.sum_of(body, arrays.converted(array, item), axis, array.item)
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
    result = arrays._new(body, item, array.dims[:axis] + array.dims[axis + 1 :])
    with arrays.indices(body, result.dims) as at:
        body.emit(f"{result.at(at)} = 1;")
    with arrays.indices(body, array.dims) as at:
        found = cast(array.at(at), item, array.item)
        body.emit(f"{result.at([*at[:axis], *at[axis + 1 :]])} *= {found};")
    return result


def _cumsum(body: Body, array: Arr) -> Value:
    array = flattened(body, array)
    item = array.item if array.item.kind == "f" else NP_INT
    result = arrays._new(body, item, array.dims)
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


def _array_equal(body: Body, given: list[Value], keywords: Keywords) -> Value:
    one, other = body.array(given[0]), body.array(given[1])
    if len(one.dims) != len(other.dims):
        return Fixed(False)
    conditions = []
    for a, b in zip(one.dims, other.dims, strict=True):
        if isinstance(a, int) and isinstance(b, int):
            if a != b:
                return Fixed(False)
        else:
            conditions.append(f"{a} == {b}")
    found = body.c_variable("t", "bool")
    body.emit(f"{found} = {' && '.join(conditions) or 'true'};")
    with body.block(f"if ({found}) {{"), arrays.indices(body, one.dims) as at:
        mine, theirs = Num(one.item, one.at(at)), Num(other.item, other.at(at))
        body.emit(f"if (!{operators.compared('==', mine, theirs)}) {found} = false;")
    return Num(BOOL, found)


def _norm(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    order = argument(given, keywords, 1, "ord")
    axis = axis_of(body, argument(given, keywords, 2, "axis"))
    if order is None or (isinstance(order, Fixed) and order.value in (None, 2)):
        if len(array.dims) == 1 and axis is None:
            return body.program.numpy_norm(body, array)
        if axis is not None and "keepdims" not in keywords:
            return _norms(body, array, axis)
    if axis is None and _is_frobenius(array, order):
        if array.order == UNKNOWN:
            raise body.refuse("np.linalg.norm of an array that was transposed: write .copy()")
        # as NumPy reads it, in the order of memory
        inner = arrays.transposed(array) if array.order else array
        return body.program.numpy_norm(body, flattened(body, inner))
    if order is None or (isinstance(order, Fixed) and order.value in (None, 2)):
        raise body.refuse("this np.linalg.norm is not translated: write np.sqrt((a * a).sum())")
    if isinstance(order, Fixed) and order.value == 1 and len(array.dims) == 1:
        item = _float_item(array.item)
        positive = arrays.elementwise(body, [array], lambda a: operators.absolute(_np(a)))
        return arrays.sum_of(body, arrays.converted(positive, item))
    if isinstance(order, Fixed) and order.value == np.inf and len(array.dims) == 1:
        positive = arrays.elementwise(body, [array], lambda a: operators.absolute(_np(a)))
        item = _float_item(array.item)
        return arrays.extreme(body, arrays.converted(positive, item), "max")
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
    root = find(np.sqrt)
    assert root is not None
    return root(body, [total], {})


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


def _squeeze(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    kept = [i for i, dim in enumerate(array.dims) if dim != 1]
    count = len(array.dims)

    def at(index: Sequence[str]) -> str:
        inner = ["0"] * count
        for place, each in zip(kept, index, strict=True):
            inner[place] = each
        return array.at(inner)

    return Arr(array.item, tuple(array.dims[i] for i in kept), at)


def _dot(body: Body, given: list[Value], keywords: Keywords) -> Value:
    return arrays.product(body, body.array(given[0]), body.array(given[1]), is_dot=True)


def _sort(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.fresh(body.array(given[0]))
    _sort_in_place(body, array)
    return array


def _sort_in_place(body: Body, array: Arr) -> None:
    if len(array.dims) != 1:
        raise body.refuse("sort() of an array with several axes is not translated")
    i, j = body.c_variable("i", "int64_t"), body.c_variable("i", "int64_t")
    kept = body.c_variable("t", array.item.c)
    with body.block(f"for ({i} = 1; {i} < {array.dims[0]}; {i}++) {{"):
        body.emit(f"{kept} = {array.at([i])};")
        # NaN is sorted behind all numbers
        less = f"{kept} < {array.at([f'({j} - 1)'])}"
        if array.item.kind == "f":
            less = f"({less} || ({kept} == {kept} && isnan({array.at([f'({j} - 1)'])})))"
        before = array.at([f"({j} - 1)"])
        body.emit(f"for ({j} = {i}; {j} > 0 && {less}; {j}--) {array.at([j])} = {before};")
        body.emit(f"{array.at([j])} = {kept};")
    if array.item.kind == "f":
        # which of equal numbers comes first depends on NumPy's vector instructions
        before, each = array.at([f"({i} - 1)"]), array.at([i])
        with body.block(f"for ({i} = 1; {i} < {array.dims[0]}; {i}++) {{"):
            body.check(
                f"{each} != 0 || {before} != 0 || !signbit({before}) == !signbit({each})",
                "NotImplementedError",
                "sort() of 0.0 and -0.0 in one array is not translated: add 0.0 before",
            )


def _unravel(body: Body, given: list[Value], keywords: Keywords) -> Value:
    dims = [body.dim(each) for each in body.items(body.plain(given[1])) or ()]
    at = body.temporary("int64_t", body.as_int(given[0]))
    whole = " * ".join(map(str, dims))
    body.check(f"0 <= {at} && {at} < {whole}", "ValueError", "index out of bounds")
    parts: list[Value] = []
    for i in range(len(dims)):
        rest = " * ".join(map(str, dims[i + 1 :])) or "1"
        parts.append(Num(NP_INT, body.temporary("int64_t", f"{at} / ({rest}) % {dims[i]}")))
    return Tup(tuple(parts))


def _zeros_diag(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    if len(array.dims) != 2:
        raise body.refuse("np.diag of this is not translated")
    rows, columns = array.dims
    if not (isinstance(rows, int) and isinstance(columns, int)):
        raise body.refuse("np.diag of this is not translated")
    return Arr(array.item, (min(rows, columns),), lambda at: array.at([at[0], at[0]]))


def _searchsorted(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    array = array if array.is_place else body.fresh(array)
    side = argument(given, keywords, 2, "side")
    sign = "<=" if isinstance(side, Fixed) and side.value == "right" else "<"
    number = body.as_num(given[1])
    kept = body.kept(number)
    assert isinstance(kept, Num)
    at = body.c_variable("t", "int64_t")
    found = operators.compared(sign, Num(array.item, array.at([at])), kept)
    body.emit(f"for ({at} = 0; {at} < {array.dims[0]} && {found}; {at}++) {{}}")
    return Num(NP_INT, at)


def _diff(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.array(given[0])
    if len(array.dims) != 1:
        raise body.refuse("np.diff of an array with several axes is not translated")
    array = array if array.is_place else body.fresh(array)
    dim = array.dims[0]
    count: Dim = dim - 1 if isinstance(dim, int) else body.temporary("int64_t", f"{dim} - 1")
    return Arr(
        array.item, (count,), lambda at: f"({array.at([f'({at[0]} + 1)'])} - {array.at(at)})"
    )


def _interp(body: Body, given: list[Value]) -> Value:
    """np.interp of one number, in NumPy's order of operations."""
    x = body.kept(body.as_num(given[0]))
    assert isinstance(x, Num)
    points = body.in_memory(body.array(given[1]), NP_FLOAT)
    values = body.in_memory(body.array(given[2]), NP_FLOAT)
    count = points.dims[0]
    return body.number(
        NP_FLOAT,
        f"pp_numpy_interp({cast(x.c, FLOAT, x.number)}, {points.pointer}, {values.pointer},"
        f" {count})",
    )


def _isclose(body: Body, given: list[Value], keywords: Keywords) -> Value:
    raise body.refuse("np.isclose and np.allclose are not translated: write abs(a - b) < limit")


def _round(body: Body, given: list[Value], keywords: Keywords) -> Value:
    digits = argument(given, keywords, 1, "decimals")
    places = 0 if digits is None else int(body.known(digits, "decimals"))

    def one(a: Num) -> Num:
        if a.number.kind != "f":
            return _np(a)
        of = Number("f", a.number.bits, True)
        suffix = "" if of.bits == 64 else "f"
        if places == 0:
            return Num(of, f"rint{suffix}({a.c})")
        scale = literal(10.0 ** abs(places), of)
        if places > 0:
            return Num(of, f"(rint{suffix}({a.c} * {scale}) / {scale})")
        return Num(of, f"(rint{suffix}({a.c} / {scale}) * {scale})")

    value = body.plain(given[0])
    number = as_number(value)
    if number is not None:
        result = one(body.kept(number))  # type: ignore[arg-type]
        return body.number(result.number, result.c)
    return arrays.elementwise(body, [value], one)


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
    np.reshape: lambda body, given, keywords: _reshaped(body, body.array(given[0]), given[1:]),
    np.repeat: _repeat,
    np.tile: _tile,
    np.pad: _pad,
    np.roll: _roll,
    np.flip: _flip,
    np.fliplr: lambda body, given, keywords: _flip(body, given, {"axis": Fixed(1)}),
    np.flipud: lambda body, given, keywords: _flip(body, given, {"axis": Fixed(0)}),
    np.rot90: _rot90,
    np.transpose: _transpose,
    np.where: _where,
    np.nonzero: _nonzero,
    np.argwhere: _argwhere,
    np.flatnonzero: _flatnonzero,
    np.clip: _clip,
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
    np.array_equal: _array_equal,
    np.linalg.norm: _norm,
    np.shape: _unary_shape,
    np.copy: _copy,
    np.expand_dims: _expand,
    np.atleast_1d: _at_least(1),
    np.atleast_2d: _at_least(2),
    np.squeeze: _squeeze,
    np.dot: _dot,
    np.sort: _sort,
    np.unravel_index: _unravel,
    np.diag: _zeros_diag,
    np.searchsorted: _searchsorted,
    np.diff: _diff,
    np.isclose: _isclose,
    np.allclose: _isclose,
    np.interp: lambda body, given, keywords: _interp(body, given),
    np.append: lambda body, given, keywords: in_a_row(
        body, [body.array(given[0]), body.array(given[1])]
    ),
    np.round: _round,
    np.around: _round,
    **linalg.FUNCTIONS,
}
REDUCTION = "a axis? | keepdims=False"
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
    np.where: "condition x? y?",
    np.nonzero: "a",
    np.argwhere: "a",
    np.flatnonzero: "a",
    np.clip: "a a_min? a_max? | min max",
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
    np.array_equal: "a1 a2",
    np.linalg.norm: "x ord? axis? | keepdims=False",
    np.shape: "a",
    np.copy: "a",
    np.atleast_1d: "a",
    np.atleast_2d: "a",
    np.expand_dims: "a axis",
    np.squeeze: "a",
    np.dot: "a b",
    np.sort: "a",
    np.unravel_index: "indices shape",
    np.diag: "v | k=0",
    np.searchsorted: "a v side?",
    np.diff: "a | n=1",
    np.isclose: "a b | **",
    np.allclose: "a b | **",
    np.interp: "x xp fp",
    np.append: "arr values",
    np.round: "a decimals?",
    np.around: "a decimals?",
    **linalg.TAKES,
}
FUNCTIONS = all_taking(TAKES, HANDLERS)

# arguments of methods of arrays; other methods are reductions
METHODS = {
    "astype": "dtype | copy",
    "copy": "| order='C'",
    "ravel": "| order='C'",
    "flatten": "| order='C'",
    "reshape": "* | order='C'",
    "fill": "value",
    "item": "*",
    "tolist": "",
    "sort": "",
    "nonzero": "",
    "dot": "b",
    "clip": "min? max?",
    "round": "decimals?",
    "repeat": "repeats axis?",
    "transpose": "*",
    "squeeze": "",
    "take": "indices",
    "sum": "axis? dtype? | keepdims=False",
    "cumsum": "axis?",
    "std": "axis? | ddof keepdims=False",
    "var": "axis? | ddof keepdims=False",
}


def method(body: Body, value: Arr, name: str, given: list[Value], keywords: Keywords) -> Value:
    """Returns array.name(...)."""
    given, keywords = bound(body, METHODS.get(name, "axis? | keepdims=False"), given, keywords)
    if name == "astype":
        item = dtype_of(body, given[0])
        assert item is not None
        if value.item.may_be_int and item.kind in "iu" and item.bits < 64:
            raise body.refuse("these are ints or floats: write .astype(np.float64) before")
        is_copy = bool(body.known(keywords.get("copy", Fixed(True)), "copy"))
        if item.dtype == value.item.dtype and not is_copy:
            return value
        return (
            body.fresh(arrays.converted(value, item))
            if value.is_place
            else arrays.converted(value, item)
        )
    if name == "copy":
        return replace(body.fresh(value), order=())
    if name in ("ravel", "flatten"):
        flat = flattened(body, value)
        return body.fresh(flat) if name == "flatten" else flat
    if name == "reshape":
        return _reshaped(body, value, given)
    if name == "fill":
        arrays.writable(body, value)
        number = fitting.number(body, body.as_num(given[0]), value.item)
        c = body.temporary(value.item.c, cast(number.c, value.item, number.number))
        with arrays.indices(body, value.dims) as at:
            body.emit(f"{value.at(at)} = {c};")
        return Fixed(None)
    if name == "item":
        if given:
            found = arrays.subscript(body, value, list(given))
            number = body.as_num(found)
        else:
            number = body.as_num(value)
        return as_python(number)
    if name == "tolist":
        return _to_list(body, value)
    if name == "sort":
        arrays.writable(body, value)
        _sort_in_place(body, value)
        return Fixed(None)
    if name == "nonzero":
        return _nonzero(body, [value], {})
    if name in ("dot",):
        return arrays.product(body, value, body.array(given[0]), is_dot=True)
    if name == "clip":
        return _clip(body, [value, *given], keywords)
    if name == "round":
        return _round(body, [value, *given], keywords)
    if name == "repeat":
        return _repeat(body, [value, *given], keywords)
    if name == "transpose":
        return _transpose(body, [value, *given], keywords)
    if name == "squeeze":
        return _squeeze(body, [value], {})
    if name == "take":
        return arrays.subscript(body, value, [body.plain(given[0])])
    return reduce(body, name, value, given, keywords)


def _to_list(body: Body, value: Arr) -> Value:
    plain = Number(value.item.kind, 64 if value.item.kind != "b" else 8)
    if len(value.dims) == 1 and isinstance(value.dims[0], int) and value.dims[0] <= 16:
        return ListDisplay(
            tuple(
                body.number(plain, cast(value.at([str(i)]), plain, value.item))
                for i in range(value.dims[0])
            ),
        )
    if len(value.dims) == 2:
        value = value if value.is_place else body.fresh(value)
        outer = containers.new_list(body, List(List(plain)), f"{value.dims[0]} + 1")
        index = body.c_variable("i", "int64_t")
        with body.block(f"for ({index} = 0; {index} < {value.dims[0]}; {index}++) {{"):
            inner = containers.new_list(body, List(plain), f"{value.dims[1]} + 1")
            with arrays.indices(body, value.dims[1:]) as at:
                c = cast(value.at([index, *at]), plain, value.item)
                body.emit(f"{inner.c}->v[{at[0]}] = {c};")
            body.emit(f"{inner.c}->count = {value.dims[1]};")
            body.emit(f"{outer.c}->v[{index}] = {inner.c};")
        body.emit(f"{outer.c}->count = {value.dims[0]};")
        return outer
    if len(value.dims) != 1:
        raise body.refuse("tolist() of an array with three axes is not translated")
    made = containers.new_list(body, List(plain), f"{value.dims[0]} + 1")
    with arrays.indices(body, value.dims) as at:
        body.emit(f"{made.c}->v[{at[0]}] = {cast(value.at(at), plain, value.item)};")
    body.emit(f"{made.c}->count = {value.dims[0]};")
    return made
