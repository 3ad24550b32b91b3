"""NumPy: functions of each element, and those that choose elements."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    arrays,
    fitting,
    numpy_arrays,
    operators,
    storage,
)
from parallel_pool._translator.arguments import all_taking
from parallel_pool._translator.numpy_arguments import (
    Keywords,
    argument,
)
from parallel_pool._translator.types import (
    FLOAT,
    INT,
    NP_BOOL,
    NP_FLOAT,
    NP_INT,
    Number,
)
from parallel_pool._translator.values import (
    Arr,
    Fixed,
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


def _where(body: Body, given: list[Value], keywords: Keywords) -> Value:
    if len(given) == 1:
        return nonzero(body, given, keywords)
    if len(given) != 3:
        raise body.refuse("np.where takes a condition, or a condition and two values")
    given = [body.array(given[0]), *given[1:]]
    return arrays.elementwise(body, [body.plain(each) for each in given], _chosen)


def _chosen(condition: Num, one: Num, other: Num) -> Num:
    of = promoted(one.number, other.number)
    a, b = cast(one.c, of, one.number), cast(other.c, of, other.number)
    return Num(of, f"({condition.c} ? {a} : {b})")


def nonzero(body: Body, given: list[Value], keywords: Keywords) -> Value:
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
    found = _argwhere(body, [numpy_arrays.flattened(body, body.array(given[0]))], {})
    assert isinstance(found, Arr)
    return storage.memory_array(NP_INT, (found.dims[0],), found.pointer)


def clip(body: Body, given: list[Value], keywords: Keywords) -> Value:
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
        return Num(arrays.as_numpy(value.number), value.c)
    if isinstance(value, Fixed):
        number = body.as_num(value)
        return Num(arrays.as_numpy(number.number), number.c)
    return value


def _two(body: Body, name: str, one: Value, other: Value) -> Value:
    """np.maximum and np.minimum, and both of np.clip."""

    def function(a: Num, b: Num) -> Num:
        of = promoted(a.number, b.number)
        if not of.is_numpy:
            of = arrays.as_numpy(of)
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


def ufunc(function: np.ufunc) -> Callable[..., Value]:
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
            right = as_numpy(number) if number is not None else right
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
        return lambda a: operators.absolute(as_numpy(a))
    if function is np.square:
        return lambda a: _square(body, as_numpy(a))
    if function is np.sign:
        return lambda a: _sign(as_numpy(a))
    if function is np.negative:
        return lambda a: operators._unary_of_number(body, ast.USub(), as_numpy(a), True)
    if function in (np.logical_and, np.logical_or, np.logical_xor):
        sign = {"logical_and": "&&", "logical_or": "||", "logical_xor": "!="}[name]
        return lambda a, b: Num(
            NP_BOOL, f"({cast(a.c, NP_BOOL, a.number)} {sign} {cast(b.c, NP_BOOL, b.number)})"
        )
    if function is np.logical_not:
        return lambda a: Num(NP_BOOL, f"(!{cast(a.c, NP_BOOL, a.number)})")
    if function is np.invert:
        return lambda a: operators._unary_of_number(body, ast.Invert(), as_numpy(a), True)
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
        return body.program.numpy.call(body, name, of, *cs)

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
    return body.program.numpy.power(body, of, cast(a.c, of, a.number), cast(b.c, of, b.number))


# one result in every precision
EXACT = (np.sqrt, np.floor, np.ceil, np.trunc, np.rint, np.fabs, np.copysign)


def as_numpy(one: Num) -> Num:
    return Num(arrays.as_numpy(one.number), one.c)


def _square(body: Body, one: Num) -> Num:
    c = one.c if one.c.isidentifier() else body.temporary(one.number.c, one.c)
    if one.number.kind in "iu":
        return Num(one.number, f"(({one.number.c})((uint64_t){c} * (uint64_t){c}))")
    return Num(one.number, f"({c} * {c})")


def _sign(one: Num) -> Num:
    if one.number.kind == "f":
        return Num(one.number, f"({one.number.c})pp_numpy_sign({one.c})")
    return Num(one.number, f"(({one.number.c})(({one.c} > 0) - ({one.c} < 0)))")


def _isclose(body: Body, given: list[Value], keywords: Keywords) -> Value:
    raise body.refuse("np.isclose and np.allclose are not translated: write abs(a - b) < limit")


def rounded(body: Body, given: list[Value], keywords: Keywords) -> Value:
    digits = argument(given, keywords, 1, "decimals")
    places = 0 if digits is None else int(body.known(digits, "decimals"))

    def one(a: Num) -> Num:
        if a.number.kind != "f":
            return as_numpy(a)
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
    np.where: _where,
    np.nonzero: nonzero,
    np.argwhere: _argwhere,
    np.flatnonzero: _flatnonzero,
    np.clip: clip,
    np.isclose: _isclose,
    np.allclose: _isclose,
    np.round: rounded,
    np.around: rounded,
}
TAKES: dict[Any, str] = {
    np.where: "condition x? y?",
    np.nonzero: "a",
    np.argwhere: "a",
    np.flatnonzero: "a",
    np.clip: "a a_min? a_max? | min max",
    np.isclose: "a b | **",
    np.allclose: "a b | **",
    np.round: "a decimals?",
    np.around: "a decimals?",
}
FUNCTIONS = all_taking(TAKES, HANDLERS)
