"""NumPy: methods of arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parallel_pool._translator import (
    arrays,
    containers,
    fitting,
    indexing,
    numpy_arrays,
    numpy_calls,
    numpy_elements,
    numpy_reductions,
)
from parallel_pool._translator.arguments import bound
from parallel_pool._translator.displays import ListDisplay
from parallel_pool._translator.numpy_arguments import (
    Keywords,
    as_python,
    dtype_of,
)
from parallel_pool._translator.types import (
    List,
    Number,
)
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Value,
    cast,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

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
        flat = numpy_arrays.flattened(body, value)
        return body.fresh(flat) if name == "flatten" else flat
    if name == "reshape":
        return numpy_arrays.reshaped(body, value, given)
    if name == "fill":
        indexing.writable(body, value)
        number = fitting.number(body, body.as_num(given[0]), value.item)
        c = body.temporary(value.item.c, cast(number.c, value.item, number.number))
        with arrays.indices(body, value.dims) as at:
            body.emit(f"{value.at(at)} = {c};")
        return Fixed(None)
    if name == "item":
        if given:
            found = indexing.subscript(body, value, list(given))
            number = body.as_num(found)
        else:
            number = body.as_num(value)
        return as_python(number)
    if name == "tolist":
        return _to_list(body, value)
    if name == "sort":
        indexing.writable(body, value)
        numpy_calls.sort_in_place(body, value)
        return Fixed(None)
    if name == "nonzero":
        return numpy_elements.nonzero(body, [value], {})
    if name in ("dot",):
        return arrays.product(body, value, body.array(given[0]), is_dot=True)
    if name == "clip":
        return numpy_elements.clip(body, [value, *given], keywords)
    if name == "round":
        return numpy_elements.rounded(body, [value, *given], keywords)
    if name == "repeat":
        return numpy_arrays.repeat(body, [value, *given], keywords)
    if name == "transpose":
        return numpy_arrays.transpose(body, [value, *given], keywords)
    if name == "squeeze":
        return numpy_arrays.squeeze(body, [value], {})
    if name == "take":
        return indexing.subscript(body, value, [body.plain(given[0])])
    return numpy_reductions.reduce(body, name, value, given, keywords)


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
