"""Calls of the functions of math."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import folding, operators, python_calls
from parallel_pool._translator.arguments import Handler
from parallel_pool._translator.types import BOOL, FLOAT, INT
from parallel_pool._translator.values import Fixed, Num, Value, cast

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def _math(name: str) -> Callable[..., Value]:
    function = getattr(math, name)
    is_range = name in ("exp", "sinh", "cosh", "expm1")

    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        if folding.all_fixed(given):
            return folding.known_result(body, function, given, 0.0)
        numbers = [body.as_num(each) for each in given]
        cs = [body.temporary("double", cast(each.c, FLOAT, each.number)) for each in numbers]
        result = body.number(FLOAT, f"{name}({', '.join(cs)})")
        nan, infinite = (" || ".join(f"{test}({c})" for c in cs) for test in ("isnan", "!isfinite"))
        # CPython raises where the C library makes NaN of numbers, or an infinity of finite ones
        domain = "ValueError", "math domain error"
        large = ("OverflowError", "math range error") if is_range else domain
        with body.block(f"if (__builtin_expect(!isfinite({result.c}), 0)) {{"):
            body.check(f"!isnan({result.c}) || {nan}", *domain)
            body.check(f"!isinf({result.c}) || {infinite}", *large)
        return result

    return translate


def _math_log(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    """math.log: with a base, the quotient of two."""
    logs = [_math("log")(body, [each], {}) for each in given]
    return logs[0] if len(logs) == 1 else operators.binary(body, ast.Div(), *logs)


def _math_plain(name: str) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        numbers = [body.as_num(each) for each in given]
        cs = [cast(each.c, FLOAT, each.number) for each in numbers]
        return body.number(FLOAT, f"{name}({', '.join(cs)})")

    return translate


def _math_round(name: str) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        if isinstance(given[0], Fixed):
            return folding.known_result(body, getattr(math, name), given)
        number = body.as_num(given[0])
        if number.number.kind != "f":
            return Num(INT, cast(number.c, INT, number.number))
        rounded = Num(FLOAT, f"{name}({cast(number.c, FLOAT, number.number)})")
        return python_calls.int_of(body, [rounded], {})

    return translate


def _math_test(c: str) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        number = body.as_num(given[0])
        return Num(BOOL, f"({c}({cast(number.c, FLOAT, number.number)}) != 0)")

    return translate


def _scaled(by: float) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        return operators.binary(body, ast.Mult(), python_calls.float_of(body, given, {}), Fixed(by))

    return translate


def _math_pow(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    numbers = [body.as_num(each) for each in given]
    cs = [body.temporary("double", cast(each.c, FLOAT, each.number)) for each in numbers]
    result = body.number(FLOAT, f"pp_python_power({', '.join(cs)})")
    finite = " && ".join(f"isfinite({c})" for c in cs)
    domain = "ValueError", "math domain error"
    body.check(f"!isnan({result.c}) || !({finite})", *domain)
    body.check(f"!isinf({result.c}) || !({finite}) || {cs[0]} != 0", *domain)
    body.check(f"!isinf({result.c}) || !({finite})", "OverflowError", "math range error")
    return result


def _math_hypot(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if folding.all_fixed(given):
        return Fixed(math.hypot(*(each.value for each in given)))  # type: ignore[attr-defined]
    numbers = [body.as_num(each) for each in given]
    return _hypot_of(body, [cast(each.c, FLOAT, each.number) for each in numbers])


def _hypot_of(body: Body, numbers: Sequence[str]) -> Num:
    """Returns math.hypot of C expressions."""
    values = body.c_variable("h", "double *")
    count = len(numbers)
    body.emit(f"{values} = pp_python_memory(c, {max(1, count)} * sizeof(double));")
    body.check(f"{values} != NULL", "MemoryError", "")
    for i, each in enumerate(numbers):
        body.emit(f"{values}[{i}] = {each};")
    is_old = "true" if sys.version_info < (3, 12) else "false"
    result = body.number(FLOAT, f"pp_python_hypot({values}, {count}, {is_old})")
    return result


def _math_dist(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    sides = [body.items(body.plain(each)) for each in given]
    if sides[0] is None or sides[1] is None or len(sides[0]) != len(sides[1]):
        raise body.refuse("math.dist of points whose number of coordinates is not known")
    differences = []
    for one, other in zip(sides[0], sides[1], strict=True):
        a, b = body.as_num(one), body.as_num(other)
        differences.append(f"({cast(a.c, FLOAT, a.number)} - {cast(b.c, FLOAT, b.number)})")
    return _hypot_of(body, differences)


def _math_gcd(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    a, b = (body.as_int(each) for each in given)
    return body.number(INT, f"pp_python_gcd({a}, {b})")


# what they take, and what translates them
FUNCTIONS: dict[Any, tuple[str, Handler]] = {
    math.sqrt: ("x", _math("sqrt")),
    math.exp: ("x", _math("exp")),
    math.log: ("x base?", _math_log),
    math.log2: ("x", _math("log2")),
    math.log10: ("x", _math("log10")),
    math.log1p: ("x", _math("log1p")),
    math.expm1: ("x", _math("expm1")),
    math.sin: ("x", _math("sin")),
    math.cos: ("x", _math("cos")),
    math.tan: ("x", _math("tan")),
    math.asin: ("x", _math("asin")),
    math.acos: ("x", _math("acos")),
    math.sinh: ("x", _math("sinh")),
    math.cosh: ("x", _math("cosh")),
    math.fmod: ("x y", _math("fmod")),
    math.atan: ("x", _math_plain("atan")),
    math.tanh: ("x", _math_plain("tanh")),
    math.atan2: ("y x", _math_plain("atan2")),
    math.fabs: ("x", _math_plain("fabs")),
    math.copysign: ("x y", _math_plain("copysign")),
    math.degrees: ("x", _scaled(180.0 / math.pi)),
    math.radians: ("x", _scaled(math.pi / 180.0)),
    math.floor: ("x", _math_round("floor")),
    math.ceil: ("x", _math_round("ceil")),
    math.trunc: ("x", _math_round("trunc")),
    math.isnan: ("x", _math_test("isnan")),
    math.isinf: ("x", _math_test("isinf")),
    math.isfinite: ("x", _math_test("isfinite")),
    math.pow: ("x y", _math_pow),
    math.hypot: ("*", _math_hypot),
    math.gcd: ("a b", _math_gcd),
    math.dist: ("p q", _math_dist),
}
