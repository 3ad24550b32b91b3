"""Linear algebra: np.linalg by NumPy's own loops, which call the user's LAPACK, for its bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import arrays
from parallel_pool._translator.arguments import all_taking
from parallel_pool._translator.types import NP_FLOAT, Number
from parallel_pool._translator.values import Arr, Dim, Num, Tup, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

Keywords = dict[str, Value]
DOUBLE = 8


def _matrix(body: Body, value: Value, name: str) -> Arr:
    array = body.array(value)
    if len(array.dims) != 2:
        raise body.refuse(f"np.linalg.{name} of an array with {len(array.dims)} axes")
    return array


def _square(body: Body, value: Value, name: str) -> Arr:
    array = _matrix(body, value, name)
    rows, columns = array.dims
    if rows != columns:
        text = "Last 2 dimensions of the array must be square"
        if isinstance(rows, int) and isinstance(columns, int):
            raise body.refuse(f"np.linalg.{name} of {rows} times {columns} numbers: {text}")
        _check(body, f"{rows} == {columns}", text)
    return array


def _check(body: Body, condition: str, text: str) -> None:
    body.program.exceptions_by_name.setdefault("LinAlgError", np.linalg.LinAlgError)
    body.check(condition, "LinAlgError", text)


def _result_item(parts: Sequence[Arr]) -> Number:
    """Returns the type of results: NumPy computes float32 in float64, and rounds."""
    single = all(each.item.kind == "f" and each.item.bits == 32 for each in parts)
    return parts[0].item if single else NP_FLOAT


def _call(
    body: Body,
    name: str,
    parts: Sequence[Arr],
    counts: Sequence[Dim],
    dims: Sequence[tuple[Dim, ...]],
    failure: str,
) -> list[Arr]:
    """Calls NumPy's loop of a function of matrices.

    Args:
        name: of the function in NumPy's module.
        parts: what it takes.
        counts: of the axes of its signature, in their order.
        dims: of its results.
        failure: what LinAlgError says when LAPACK fails; "" where it can't.
    """
    given = [arrays.in_memory(body, each, NP_FLOAT) for each in parts]
    results = [arrays.new(body, NP_FLOAT, each) for each in dims]
    index = body.program.numpy.index(f"linalg.{name}", NP_FLOAT, len(parts), len(results))
    every = [*given, *results]
    pointers = ", ".join(f"(char *)(uintptr_t){each.pointer}" for each in every)
    strides = ["0"] * len(every)
    for each in every:
        inner = [f"{dim} * {DOUBLE}" for dim in each.dims[1:]]
        strides += [*inner, str(DOUBLE)] if each.dims else []
    call = (
        f"numpy_linalg(&numpy_loops[{index}], (char *[]){{{pointers}}},"
        f" (const intptr_t[]){{1, {', '.join(map(str, counts))}}},"
        f" (const intptr_t[]){{{', '.join(strides)}}})"
    )
    if failure:
        worked = body.c_variable("t", "bool")
        body.emit(f"{worked} = {call};")
        _check(body, worked, failure)
    else:
        body.emit(f"{call};")
    return [arrays.converted(each, _result_item(parts)) for each in results]


def _solve(body: Body, given: list[Value], keywords: Keywords) -> Value:
    matrix, other = _square(body, given[0], "solve"), body.array(given[1])
    size = matrix.dims[0]
    if len(other.dims) not in (1, 2):
        raise body.refuse(f"np.linalg.solve for an array with {len(other.dims)} axes")
    theirs = other.dims[0]
    if theirs != size:
        text = "solve: mismatch of the numbers of rows"
        if isinstance(theirs, int) and isinstance(size, int):
            raise body.refuse(f"{text}, {size} and {theirs}")
        body.check(f"{theirs} == {size}", "ValueError", text)
    name = "solve1" if len(other.dims) == 1 else "solve"
    counts = [size, *other.dims[1:]]
    return _call(body, name, [matrix, other], counts, [other.dims], "Singular matrix")[0]


def _inv(body: Body, given: list[Value], keywords: Keywords) -> Value:
    matrix = _square(body, given[0], "inv")
    return _call(body, "inv", [matrix], matrix.dims[:1], [matrix.dims], "Singular matrix")[0]


def _det(body: Body, given: list[Value], keywords: Keywords) -> Value:
    matrix = _square(body, given[0], "det")
    (result,) = _call(body, "det", [matrix], matrix.dims[:1], [()], "")
    return Num(result.item, result.at(()))


def _cholesky(body: Body, given: list[Value], keywords: Keywords) -> Value:
    matrix = _square(body, given[0], "cholesky")
    text = "Matrix is not positive definite"
    return _call(body, "cholesky_lo", [matrix], matrix.dims[:1], [matrix.dims], text)[0]


def _svd(body: Body, given: list[Value], keywords: Keywords) -> Value:
    """Both square factors and the singular values between them."""
    matrix = _matrix(body, given[0], "svd")
    rows, columns = matrix.dims
    if rows == columns:
        shorter = rows
    elif isinstance(rows, int) and isinstance(columns, int):
        shorter = min(rows, columns)
    else:
        raise body.refuse("np.linalg.svd of a matrix whose shape changes is not translated")
    dims = [(rows, rows), (shorter,), (columns, columns)]
    counts = [rows, columns, shorter]
    return Tup(tuple(_call(body, "svd_f", [matrix], counts, dims, "SVD did not converge")))


HANDLERS: dict[Any, Callable[..., Value]] = {
    np.linalg.solve: _solve,
    np.linalg.inv: _inv,
    np.linalg.det: _det,
    np.linalg.cholesky: _cholesky,
    np.linalg.svd: _svd,
}
TAKES: dict[Any, str] = {
    np.linalg.solve: "a b",
    np.linalg.inv: "a",
    np.linalg.det: "a",
    np.linalg.cholesky: "a | upper=False",
    np.linalg.svd: "a | full_matrices=True compute_uv=True hermitian=False",
}
FUNCTIONS = all_taking(TAKES, HANDLERS)
