"""NumpyLoops: NumPy's own inner loops, which a program calls where their bits are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parallel_pool._translator import arrays
from parallel_pool._translator.types import Number
from parallel_pool._translator.values import UNKNOWN, Arr, Num, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


class NumpyLoops:
    """The loops that a program calls.

    Attributes:
        functions: the function of each, and its signature; their places are their numbers.
    """

    def __init__(self) -> None:
        self.functions: list[tuple[str, str]] = []

    def call(self, body: Body, name: str, of: Number, *cs: str) -> Num:
        """Returns what NumPy's own inner loop of a function makes of numbers."""
        if of.bits not in (32, 64) or of.kind != "f":
            raise body.refuse(f"np.{name} of {of} is not translated")
        function = getattr(np, name, None)
        code = "d" if of.bits == 64 else "f"
        signature = code * len(cs) + "->" + code
        if not isinstance(function, np.ufunc) or signature not in function.types:
            raise body.refuse(f"np.{name} of {of} is not translated")
        key = (name, signature)
        if key not in self.functions:
            self.functions.append(key)
        index = self.functions.index(key)
        caller = f"numpy_{'two' if len(cs) == 2 else 'one'}_{of.c}"
        c = f"{caller}(&numpy_loops[{index}], {', '.join(cs)})"
        return body.number(of, c)

    def index(self, name: str, of: Number, count: int, num_results: int = 1) -> int:
        """Returns the place of NumPy's inner loop of a function of floats."""
        code = "d" if of.bits == 64 else "f"
        key = (name, code * count + "->" + code * num_results)
        if key not in self.functions:
            self.functions.append(key)
        return self.functions.index(key)

    def fold(self, body: Body, name: str, array: Arr, count: str) -> Num:
        """Returns what NumPy's loop of two makes of all floats in memory."""
        index = self.index(name, array.item, 2)
        function = f"numpy_fold_{array.item.c}"
        return body.number(
            array.item, f"{function}(&numpy_loops[{index}], {array.pointer}, {count})"
        )

    def power(self, body: Body, of: Number, c: str, exponent: str) -> Num:
        """Returns what NumPy's loop makes of an element to the power of one number."""
        index = self.index("power", of, 2)
        return body.number(of, f"numpy_power_{of.c}(&numpy_loops[{index}], {c}, {exponent})")

    def matmul(self, body: Body, one: Arr, other: Arr, item: Number, is_dot: bool = False) -> Value:
        """Returns one @ other of floats, or np.dot(): NumPy's loop calls the user's BLAS, for its
        bits."""
        if len(one.dims) not in (1, 2) or len(other.dims) not in (1, 2):
            raise body.refuse("@ of arrays with more than two axes is not translated")
        (a, a_steps), (b, b_steps) = (
            _with_steps(body, each, item, is_dot) for each in (one, other)
        )
        index = self.index("matmul", item, 2)
        inner, theirs = one.dims[-1], other.dims[0]
        if isinstance(inner, int) and isinstance(theirs, int):
            if inner != theirs:
                raise body.refuse(f"@ of arrays whose axes have {inner} and {theirs} elements")
        else:
            body.check(f"{inner} == {theirs}", "ValueError", "matmul: mismatch of the inner axes")
        rows = one.dims[0] if len(one.dims) == 2 else 1
        columns = other.dims[1] if len(other.dims) == 2 else 1
        dims = (*one.dims[:-1], *other.dims[1:])
        result = arrays.new(body, item, dims)
        steps = a_steps if len(a_steps) == 2 else ["0", *a_steps]
        steps = [*steps, *(b_steps if len(b_steps) == 2 else [*b_steps, "0"])]
        steps += [str(columns) if len(one.dims) == 2 else "0", "1" if len(other.dims) == 2 else "0"]
        body.emit(
            f"numpy_matmul_{item.c}(&numpy_loops[{index}], {a}, {b}, {result.pointer}, {rows},"
            f" {inner}, {columns}, (const int64_t[]){{{', '.join(steps)}}});"
        )
        return result if dims else Num(item, result.at(()))

    def norm(self, body: Body, array: Arr) -> Value:
        """Returns np.linalg.norm of an array with one axis: the root of its product with itself."""
        item = array.item if array.item.kind == "f" else Number("f", 64, True)
        array = body.in_memory(array, item)
        square = self.matmul(body, array, array, item)
        assert isinstance(square, Num)
        return body.number(item, f"{'sqrt' if item.bits == 64 else 'sqrtf'}({square.c})")


def _with_steps(
    body: Body, array: Arr, item: Number, is_dot: bool = False
) -> tuple[str, list[str]]:
    """Returns a pointer to an array for NumPy's loops, and its steps in elements."""
    if array.has_steps and not array.pointer and array.item.c == item.c:
        view = _steps_of_view(array)
        return _forwards(body, array, view) if is_dot else view
    if not array.order or len(array.dims) < 2:
        found = arrays.in_memory(body, array, item)
        return found.pointer, [str(each) for each in (*found.dims[1:], 1)]
    if array.order == UNKNOWN or array.item.c != item.c:
        raise body.refuse("@ of an array that was transposed is not translated: write .copy()")
    found = arrays.in_memory(body, arrays.transposed(array), item)
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
        body.emit(f"{pointer} = {arrays.fresh(body, array).pointer};")
        body.emit(f"{step} = 1;")
    return pointer, [step]
