"""NumPy: which of its functions are translated; those that sort, search and compare arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    arrays,
    linalg,
    numpy_arrays,
    numpy_elements,
    numpy_reductions,
    operators,
)
from parallel_pool._translator.arguments import all_taking, taking
from parallel_pool._translator.numpy_arguments import (
    Keywords,
    argument,
    scalar,
)
from parallel_pool._translator.types import (
    BOOL,
    FLOAT,
    NP_FLOAT,
    NP_INT,
)
from parallel_pool._translator.values import (
    Arr,
    Dim,
    Fixed,
    Num,
    Tup,
    Value,
    cast,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


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


def _dot(body: Body, given: list[Value], keywords: Keywords) -> Value:
    return arrays.product(body, body.array(given[0]), body.array(given[1]), is_dot=True)


def _sort(body: Body, given: list[Value], keywords: Keywords) -> Value:
    array = body.fresh(body.array(given[0]))
    sort_in_place(body, array)
    return array


def sort_in_place(body: Body, array: Arr) -> None:
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


HANDLERS: dict[Any, Callable[..., Value]] = {
    np.array_equal: _array_equal,
    np.dot: _dot,
    np.sort: _sort,
    np.unravel_index: _unravel,
    np.searchsorted: _searchsorted,
    np.diff: _diff,
    np.interp: lambda body, given, keywords: _interp(body, given),
}
TAKES: dict[Any, str] = {
    np.array_equal: "a1 a2",
    np.dot: "a b",
    np.sort: "a",
    np.unravel_index: "indices shape",
    np.searchsorted: "a v side?",
    np.diff: "a | n=1",
    np.interp: "x xp fp",
}
FUNCTIONS = {
    **numpy_arrays.FUNCTIONS,
    **numpy_elements.FUNCTIONS,
    **numpy_reductions.FUNCTIONS,
    **linalg.FUNCTIONS,
    **all_taking(TAKES, HANDLERS),
}


def find(function: Any) -> Callable[..., Value] | None:
    """Returns what translates a function of NumPy; None for others."""
    try:
        found = FUNCTIONS.get(function)
    except TypeError:
        return None
    if found is not None:
        return found
    if isinstance(function, np.ufunc):
        return numpy_elements.ufunc(function)
    if isinstance(function, type) and issubclass(function, np.generic):
        return taking(
            "value?",
            lambda body, given, keywords: scalar(
                body, Fixed(function), given[0] if given else Fixed(0)
            ),
        )
    return None
