"""Operators: arithmetic, comparisons and truth, by the rules of CPython and NumPy."""

from __future__ import annotations

import ast
import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parallel_pool._translator import (
    arrays,
    displays,
    fitting,
    reset_options,
    seeding,
    storage,
    texts,
)
from parallel_pool._translator.refusal import OVERFLOW
from parallel_pool._translator.types import (
    BOOL,
    FLOAT,
    INT,
    NP_BOOL,
    NP_FLOAT,
    Number,
)
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Lst,
    Mapping,
    Mem,
    Num,
    Opt,
    Options,
    Rec,
    SeedArgument,
    Tup,
    Txt,
    Uni,
    Value,
    as_number,
    cast,
    literal,
    promoted,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

PYTHON = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.MatMult: operator.matmul,
}
COMPARISONS: dict[type, tuple[str, Any]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
OWN_UNARY: dict[type, str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
CHECKED = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
BITS = {ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&"}


# ------------------------------------------------------------------------------------ truth --


def truth(body: Body, value: Value) -> str | bool:
    """Returns whether a value counts as true."""
    displays.check_read(body, value)
    if isinstance(value, Uni):
        found = body.spread([value], lambda given: as_bool(truth(body, given[0])))
        return truth(body, found)
    if isinstance(value, Fixed):
        return bool(value.value)
    if isinstance(value, Opt):
        inner = truth(body, storage.held(body, value))
        return both(body, value.some, inner)
    if isinstance(value, Options):
        return reset_options.truth(body, value)
    if isinstance(value, (Lst, Mapping)):
        if value.is_always_empty:
            return False
        return f"({value.c}->count != 0)"
    if isinstance(value, (Tup, Rec)):
        own = body.special(value, "bool") or body.special(value, "len")
        if own is not None:
            return truth(body, own)
        return bool(value.items) or (isinstance(value, Rec) and value.cls is not None)
    if isinstance(value, Arr):
        if all(dim == 1 for dim in value.dims):
            element = body.as_num(value)
            return truth(body, element)
        raise body.refuse(
            "the truth value of an array with more than one element is ambiguous: use a.any() or"
            " a.all()"
        )
    if isinstance(value, Txt):
        return f"({value.c} != {body.program.texts.c(Fixed(''))})"
    if isinstance(value, Mem) and not issubclass(value.member.cls, int):
        return True
    number = as_number(value)
    if number is None:
        raise body.refuse(f"whether {value.type} counts as true is not translated")
    if number.c in ("true", "false"):
        return number.c == "true"
    return number.c if number.number.kind == "b" else f"({number.c} != 0)"


def negated(found: str | bool) -> str | bool:
    if isinstance(found, bool):
        return not found
    return f"(!{found})" if found.startswith("(") or found.isidentifier() else f"(!({found}))"


def both(body: Body, one: str | bool, other: str | bool) -> str | bool:
    if one is True:
        return other
    if one is False or other is False:
        return False
    return one if other is True else f"({one} && {other})"


def either(body: Body, one: str | bool, other: str | bool) -> str | bool:
    if one is False:
        return other
    if one is True or other is True:
        return True
    return one if other is False else f"({one} || {other})"


def c_truth(found: str | bool) -> str:
    """Returns a condition in C."""
    return found if isinstance(found, str) else "true" if found else "false"


def as_bool(found: str | bool) -> Value:
    return Fixed(found) if isinstance(found, bool) else Num(BOOL, found)


# ------------------------------------------------------------------------------- arithmetic --


def binary(body: Body, op: ast.operator, one: Value, other: Value) -> Value:
    """Returns one OP other."""
    one, other = body.plain(one), body.plain(other)
    if isinstance(one, Uni) or isinstance(other, Uni):
        return body.spread([one, other], lambda given: binary(body, op, *given))
    if isinstance(one, Fixed) and isinstance(other, Fixed):
        return _of_known(body, op, one.value, other.value)
    found = body.own_operator(op, one, other)
    if found is not None:
        return found
    if isinstance(op, ast.MatMult):
        return arrays.product(body, body.array(one), body.array(other))
    has_array = isinstance(one, Arr) or isinstance(other, Arr)
    if not has_array and (isinstance(one, (Lst, Tup)) or isinstance(other, (Lst, Tup))):
        return body.of_containers(op, one, other)
    if (
        (isinstance(one, Fixed) and isinstance(one.value, (str, tuple, list)))
        or (isinstance(other, Fixed) and isinstance(other.value, (str, tuple, list)))
    ) and not (isinstance(one, Arr) or isinstance(other, Arr)):
        return body.of_containers(op, one, other)
    if not isinstance(op, ast.Div):
        one, other = fitting.operands(body, [one, other])
    if isinstance(one, Arr) or isinstance(other, Arr) or _is_array(one) or _is_array(other):
        right = exponent(body, one, other) if isinstance(op, ast.Pow) else other
        return arrays.elementwise(
            body,
            [one, other],
            lambda a, b: of_numbers(body, op, a, b, right, in_array=True),
        )
    a, b = as_number(one), as_number(other)
    if a is None or b is None:
        raise body.refuse(f"{one.type} {_sign(op)} {other.type} is not translated")
    return of_numbers(body, op, a, b, other)


def _is_array(value: Value) -> bool:
    import numpy as np

    return isinstance(value, Fixed) and isinstance(value.value, np.ndarray)


def _sign(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))[2:-2]


def _of_known(body: Body, op: ast.operator, one: Any, other: Any) -> Value:
    try:
        return Fixed(PYTHON[type(op)](one, other))
    except ArithmeticError as error:
        body.fail(type(error).__name__, str(error))
        return Fixed(0.0)
    except (TypeError, ValueError) as error:
        raise body.refuse(str(error)) from None


def of_numbers(
    body: Body, op: ast.operator, one: Num, other: Num, right: Value, in_array: bool = False
) -> Num:
    """Returns the result for numbers. in_array: elements of arrays, which never raise."""
    of = promoted(one.number, other.number)
    kind = type(op)
    if kind is ast.Div:
        of = _float_of(of)
    elif of.kind == "b" and kind not in BITS:
        _refuse_mixed(body, of)
        if of.is_numpy and kind in (ast.Add, ast.Mult):
            sign = "||" if kind is ast.Add else "&&"
            return body.number(NP_BOOL, f"{one.c} {sign} {other.c}")
        if of.is_numpy and kind is ast.Sub:
            raise body.refuse("NumPy does not subtract booleans: use ^, or convert them to int")
        of = Number("i", 8, True) if of.is_numpy else INT
    if kind is ast.Pow and of.kind in "iu" and not of.is_numpy:
        return _int_power(body, one, other, right)
    if kind is ast.Div and one.number == INT and other.number == INT:
        return _divided(body, one, other, right)
    a, b = cast(one.c, of, one.number), cast(other.c, of, other.number)
    if of.may_be_int and kind not in (ast.Add, ast.Sub):
        _refuse_int_or_float(body, op, one, other)
    if kind is ast.Pow and in_array and of.kind == "f":
        return _array_power(body, of, a, b, right, one.number.kind == "f")
    if of.kind == "f":
        return _of_floats(body, op, of, a, b, right, in_array)
    if of.kind == "b":
        return (
            body.number(of, f"({a} {BITS[kind]} {b})")
            if not in_array
            else Num(
                of,
                f"({a} {BITS[kind]} {b})",
            )
        )
    if of.is_numpy:
        return _of_numpy_ints(body, op, of, a, b, in_array)
    return _of_ints(body, op, a, b, other)


def _float_of(of: Number) -> Number:
    if of.kind == "f":
        return replace(of, may_be_int=False)
    return NP_FLOAT if of.is_numpy else Number("f", 64, False, of.is_mixed)


def _of_ints(body: Body, op: ast.operator, a: str, b: str, other: Num) -> Num:
    kind = type(op)
    if kind in CHECKED:
        name = body.c_variable("t", "int64_t")
        body.check(f"!__builtin_{CHECKED[kind]}_overflow({a}, {b}, &{name})", *_overflow())
        return Num(INT, name)
    if kind in BITS:
        return body.number(INT, f"{a} {BITS[kind]} {b}")
    if kind in (ast.FloorDiv, ast.Mod):
        if not _is_never_zero(body, other):
            text = (
                "integer division or modulo by zero"
                if kind is ast.FloorDiv
                else "integer modulo by zero"
            )
            body.check(f"{b} != 0", "ZeroDivisionError", text)
        if kind is ast.FloorDiv and not other.c.isdigit():
            body.check(f"{b} != -1 || {a} != INT64_MIN", *_overflow())
        name = "floordiv" if kind is ast.FloorDiv else "mod"
        return body.number(INT, f"pp_python_{name}({a}, {b})")
    if kind in (ast.LShift, ast.RShift):
        body.check(f"{b} >= 0", "ValueError", "negative shift count")
        if kind is ast.RShift:
            return body.number(INT, f"{a} >> ({b} > 63 ? 63 : {b})")
        name = body.c_variable("t", "int64_t")
        body.check(f"pp_python_shift({a}, {b}, &{name})", *_overflow())
        return Num(INT, name)
    raise body.refuse(f"the operator {_sign(op)} is not translated")


def _divided(body: Body, one: Num, other: Num, right: Value) -> Num:
    """Returns the quotient of two ints, which CPython rounds once."""
    if not _is_never_zero(body, right):
        body.check(f"{other.c} != 0", "ZeroDivisionError", "division by zero")
    return body.number(FLOAT, f"pp_python_divide({one.c}, {other.c})")


def _overflow() -> tuple[str, str]:
    return "OverflowError", OVERFLOW


def _of_numpy_ints(body: Body, op: ast.operator, of: Number, a: str, b: str, in_array: bool) -> Num:
    kind = type(op)
    wide = f"uint{of.bits}_t"
    if kind in CHECKED:
        # small types become int in C, whose products may leave 32 bits
        wide = wide if of.bits > 32 else "uint32_t"
        c = f"({of.c})(({wide}){a} {SIGNS[kind]} ({wide}){b})"
    elif kind in BITS:
        c = f"({of.c})({a} {BITS[kind]} {b})"
    elif kind in (ast.FloorDiv, ast.Mod) and of.kind == "i":
        name = "floordiv" if kind is ast.FloorDiv else "mod"
        c = f"({of.c})pp_numpy_{name}({a}, {b})"
    elif kind in (ast.FloorDiv, ast.Mod):
        c = f"({of.c})({b} ? {a} {'/' if kind is ast.FloorDiv else '%'} {b} : 0)"
    elif kind is ast.Pow:
        c = f"({of.c})pp_numpy_pow({a}, {b})"
        if not in_array:
            body.check(
                f"{b} >= 0", "ValueError", "Integers to negative integer powers are not allowed."
            )
    elif kind is ast.LShift:
        c = f"({of.c})((uint64_t){b} < {of.bits} ? ({wide}){a} << {b} : 0)"
    elif kind is ast.RShift:
        most = "0" if of.kind == "u" else f"{a} >> {of.bits - 1}"
        c = f"({of.c})((uint64_t){b} < {of.bits} ? {a} >> {b} : {most})"
    else:
        raise body.refuse(f"the operator {_sign(op)} is not translated")
    return Num(of, f"({c})") if in_array else body.number(of, c)


def _of_floats(
    body: Body, op: ast.operator, of: Number, a: str, b: str, right: Value, in_array: bool
) -> Num:
    kind = type(op)
    wide = of.bits == 64
    if kind in (ast.Add, ast.Sub, ast.Mult) or (kind is ast.Div and of.is_numpy):
        c = f"({a} {SIGNS[kind]} {b})"
        return Num(of, c) if in_array else body.number(of, c)
    if not of.is_numpy and kind in (ast.Div, ast.FloorDiv, ast.Mod):
        if not _is_never_zero(body, right):
            text = {
                ast.Div: "float division by zero",
                ast.FloorDiv: "float floor division by zero",
                ast.Mod: "float modulo",
            }[kind]
            body.check(f"{b} != 0", "ZeroDivisionError", text)
        if kind is ast.Div:
            return body.number(of, f"{a} / {b}")
        name = "floordiv" if kind is ast.FloorDiv else "mod"
        return body.number(of, f"pp_python_float_{name}({a}, {b})")
    if kind in (ast.FloorDiv, ast.Mod):
        name = "floordiv" if kind is ast.FloorDiv else "mod"
        c = f"pp_numpy_float_{name}{'' if wide else '_float'}({a}, {b})"
        return Num(of, c) if in_array else body.number(of, c)
    if kind is ast.Pow:
        if of.is_numpy:
            name = "power" if wide else "power_float"
            return body.number(of, f"pp_python_{name}({a}, {b})")
        return _float_power(body, a, b)
    raise body.refuse(f"the operator {_sign(op)} is not translated for floats")


def _is_never_zero(body: Body, value: Value) -> bool:
    """Returns whether a divisor is known; one that never changes is, when a pool is made."""
    if isinstance(value, Fixed):
        return bool(value.value != 0)
    if isinstance(value, Num) and value.attribute:
        return body.program.attributes.never_zero(value.attribute)
    return value.c.isdigit() and bool(int(value.c)) if isinstance(value, Num) else False


def exponent(body: Body, one: Value, other: Value) -> Value:
    """Returns the exponent of all elements of an array; () if each has its own."""
    _check_exponents(body, one, other)
    if as_number(other) is not None:
        return other
    is_one = all(dim == 1 for dim in body.array(other).dims)
    base = body.array(one)
    return other if is_one and any(dim != 1 for dim in base.dims) else Tup(())


def _check_exponents(body: Body, one: Value, other: Value) -> None:
    """Raises what NumPy raises for the powers of arrays; one of the values is one."""
    base, exponent = (body.array(each) for each in (one, other))
    if base.item.kind in "iu" and exponent.item.kind == "i":
        with arrays.indices(body, exponent.dims) as at:
            condition = f"{exponent.at(at)} >= 0"
            text = "Integers to negative integer powers are not allowed."
            body.check(condition, "ValueError", text)
    dims = arrays.common_shape(body, [base.dims, exponent.dims])
    is_one = all(dim == 1 for dim in exponent.dims)
    is_float = "f" in (base.item.kind, exponent.item.kind)
    is_spread = len(exponent.dims) < len(dims) or 1 in exponent.dims
    if is_float and not is_one and is_spread:
        raise body.refuse("these powers are not translated: give the exponents the array's shape")


def _array_power(body: Body, of: Number, a: str, b: str, right: Value, is_float: bool) -> Num:
    """Returns an element to a power. NumPy takes other ways for one exponent of all elements."""
    number = as_number(right)
    if isinstance(right, Tup):
        return body.program.numpy.call(body, "power", of, a, b)
    a = a if a.isidentifier() else body.temporary(of.c, a)
    if not is_float or number is None or number.number.is_numpy:
        return body.program.numpy.power(body, of, a, b)
    ways = {2: f"({a} * {a})", 1: a, 0.5: f"sqrt{'' if of.bits == 64 else 'f'}({a})"}
    ways |= {0: literal(1.0, of), -1: f"({literal(1.0, of)} / {a})"}
    if isinstance(right, Fixed):
        way = ways.get(right.value)
        return Num(of, way) if way else body.program.numpy.power(body, of, a, b)
    result = body.program.numpy.power(body, of, a, b)
    for exponent, way in ways.items():
        body.emit(f"if ({b} == {exponent}) {result.c} = {way};")
    return result


def _float_power(body: Body, a: str, b: str) -> Num:
    a, b = body.temporary("double", a), body.temporary("double", b)
    body.check(
        f"{a} != 0 || !({b} < 0) || isinf({b})",
        "ZeroDivisionError",
        "0.0 cannot be raised to a negative power",
    )
    body.check(
        f"!({a} < 0) || !isfinite({a}) || !isfinite({b}) || floor({b}) == {b}",
        "NotImplementedError",
        "a complex number is not translated",
    )
    result = body.number(FLOAT, f"pp_python_power({a}, {b})")
    body.check(
        f"isfinite({result.c}) || !isfinite({a}) || !isfinite({b})",
        "OverflowError",
        "(34, 'Numerical result out of range')",
    )
    return result


def _int_power(body: Body, one: Num, other: Num, right: Value) -> Num:
    a, b = cast(one.c, INT, one.number), cast(other.c, INT, other.number)
    if isinstance(right, Fixed):
        if right.value < 0:
            return _float_power(body, f"(double){a}", f"(double)({b})")
        if right.value == 2:
            return _of_ints(body, ast.Mult(), a, a, one)
    else:
        body.check(f"{b} >= 0", "ValueError", "an int to a negative power would be a float")
    name = body.c_variable("t", "int64_t")
    body.check(f"pp_python_pow({a}, {b}, &{name})", *_overflow())
    return Num(INT, name)


def _refuse_int_or_float(body: Body, op: ast.operator, one: Num, other: Num) -> None:
    """Raises Refusal unless a result is the same for an int and a float: an int has no -0."""
    is_times = isinstance(op, ast.Mult)
    if is_times and any(each.c.isdigit() and int(each.c) > 0 for each in (one, other)):
        return
    raise body.refuse(
        f"{one.number} {_sign(op)} {other.number} is an int or a float, which are computed"
        " differently: write floats from the beginning, as 0.0 for 0, or convert it by float()"
    )


def _refuse_mixed(body: Body, number: Number) -> None:
    if number.is_mixed:
        raise body.refuse(f"this is {number}, which differ here: convert it by bool()")


def unary(body: Body, op: ast.unaryop, value: Value) -> Value:
    if isinstance(op, ast.Not):
        return as_bool(negated(truth(body, value)))
    value = body.plain(value)
    if isinstance(value, Uni):
        return body.spread([value], lambda given: unary(body, op, *given))
    if isinstance(value, Fixed):
        names: dict[type, Any] = {
            ast.USub: operator.neg,
            ast.UAdd: operator.pos,
            ast.Invert: operator.invert,
        }
        return Fixed(names[type(op)](value.value))
    found = body.special(value, OWN_UNARY[type(op)])
    if found is not None:
        return found
    if isinstance(value, Arr):
        return arrays.elementwise(body, [value], lambda a: _unary_of_number(body, op, a, True))
    return _unary_of_number(body, op, body.as_num(value), False)


def _unary_of_number(body: Body, op: ast.unaryop, one: Num, in_array: bool) -> Num:
    number = one.number
    if isinstance(op, ast.Invert):
        if number.kind == "b" and number.is_numpy:
            return Num(number, f"(!{one.c})")
        if number.kind == "b":
            _refuse_mixed(body, number)
        return Num(number if number.kind != "b" else INT, f"(~{one.c})")
    if number.kind == "b":
        _refuse_mixed(body, number)
        if number.is_numpy:
            raise body.refuse("NumPy has no negative of a boolean: use ~")
        number = INT
    if isinstance(op, ast.UAdd):
        return Num(number, cast(one.c, number, one.number))
    c = cast(one.c, number, one.number)
    if number.may_be_int:
        raise body.refuse(
            f"the negative of what is {number} is not translated, as the int 0 has none: write a"
            " float from the beginning, as 0.0 for 0, or convert it by float()"
        )
    if number.kind == "f":
        return Num(number, f"(-{c})")
    if number.is_numpy or in_array:
        return Num(number, f"(({number.c})(0 - (uint64_t){c}))")
    return _of_ints(body, ast.Sub(), "0", c, one)


# ------------------------------------------------------------------------------ comparisons --


def compare(body: Body, op: ast.cmpop, one: Value, other: Value) -> Value:
    """Returns one OP other."""
    if isinstance(one, Options) or isinstance(other, Options):
        return reset_options.compare(body, op, one, other)
    if isinstance(op, (ast.Is, ast.IsNot)):
        found = _is(body, one, other)
        return as_bool(negated(found) if isinstance(op, ast.IsNot) else found)
    if isinstance(op, (ast.In, ast.NotIn)):
        found = body.contains(body.plain(other), one)
        return as_bool(negated(found) if isinstance(op, ast.NotIn) else found)
    if isinstance(op, (ast.Eq, ast.NotEq)) and (isinstance(one, Opt) or isinstance(other, Opt)):
        found = _optional_equal(body, one, other)
        return as_bool(negated(found) if isinstance(op, ast.NotEq) else found)
    one, other = body.plain(one), body.plain(other)
    if isinstance(one, Uni) or isinstance(other, Uni):
        return body.spread([one, other], lambda given: compare(body, op, *given))
    sign, python = COMPARISONS[type(op)]
    if isinstance(one, Fixed) and isinstance(other, Fixed):
        return Fixed(python(one.value, other.value))
    if isinstance(one, Arr) or isinstance(other, Arr) or _is_array(one) or _is_array(other):
        return arrays.elementwise(
            body, [one, other], lambda a, b: Num(NP_BOOL, compared(sign, a, b))
        )
    a, b = as_number(one), as_number(other)
    if a is not None and b is not None:
        is_numpy = a.number.is_numpy or b.number.is_numpy
        return Num(NP_BOOL if is_numpy else BOOL, compared(sign, a, b))
    own = body.own_operator(op, one, other)
    if own is not None:
        return own
    if isinstance(op, (ast.Eq, ast.NotEq)):
        found = equal(body, one, other)
        return as_bool(negated(found) if isinstance(op, ast.NotEq) else found)
    if texts.is_text(one) and texts.is_text(other):
        return Num(BOOL, f"({texts.rank(body, one)} {sign} {texts.rank(body, other)})")
    mine, theirs = _ordered_items(body, one), _ordered_items(body, other)
    if mine is not None and theirs is not None:
        return as_bool(_ordered(body, op, mine, theirs))
    raise body.refuse(f"{one.type} {sign} {other.type} is not translated")


def compared(sign: str, a: Num, b: Num) -> str:
    """Returns a comparison of numbers in C."""
    of = promoted(a.number, b.number)
    kinds, bits = {a.number.kind, b.number.kind}, max(a.number.bits, b.number.bits)
    if kinds <= {"i", "u"} and bits == 64 and Number("u", 64, True) in (a.number, b.number):
        return _compared_wide(sign, a, b)
    if kinds <= {"i", "u", "b"} and bits == 64:
        # NumPy compares an int of Python's that does not fit, too
        of = INT
    if _is_exact(a, b):
        return f"(pp_python_order({a.c}, {b.c}) {sign} 0)"
    if _is_exact(b, a):
        return f"(0 {sign} pp_python_order({b.c}, {a.c}))"
    one, other = cast(a.c, of, a.number), cast(b.c, of, b.number)
    return f"({one} {sign} {other})"


def _compared_wide(sign: str, a: Num, b: Num) -> str:
    """Returns a comparison of a uint64 with another integer."""
    if a.number.kind == b.number.kind:
        return f"({a.c} {sign} {b.c})"
    if a.number.kind == "i":
        return f"(0 {sign} pp_numpy_order({b.c}, {a.c}))"
    return f"(pp_numpy_order({a.c}, {b.c}) {sign} 0)"


def _is_exact(a: Num, b: Num) -> bool:
    """Returns whether a number is an int of Python's that must not be rounded to be compared."""
    is_large = not a.c.lstrip("-").isdigit() or abs(int(a.c)) > 2**53
    return a.number == INT and is_large and b.number.kind == "f" and not b.number.is_numpy


def _is(body: Body, one: Value, other: Value) -> str | bool:
    for a, b in ((one, other), (other, one)):
        if isinstance(b, Fixed) and b.value is None:
            if isinstance(a, SeedArgument):
                raise body.refuse(seeding.WHY)
            if isinstance(a, Opt):
                return f"(!{a.some})"
            return isinstance(a, Fixed) and a.value is None
    if isinstance(one, Fixed) and isinstance(other, Fixed):
        return one.value is other.value
    for a, b in ((one, other), (other, one)):
        if isinstance(b, Fixed) and isinstance(b.value, bool):
            found = as_number(body.plain(a))
            if found is not None and found.number.kind == "b" and not found.number.is_numpy:
                _refuse_mixed(body, found.number)
                return truth(body, found) if b.value else negated(truth(body, found))
            return False
    if isinstance(one, Mem) or isinstance(other, Mem):
        return equal(body, one, other)
    one, other = body.plain(one), body.plain(other)
    if isinstance(one, Rec) and isinstance(other, Rec):
        return body.is_same(one, other)
    raise body.refuse("`is` is translated for None, True, False and members of enums: write ==")


def _optional_equal(body: Body, one: Value, other: Value) -> str | bool:
    if not isinstance(one, Opt):
        one, other = other, one
    assert isinstance(one, Opt)
    if isinstance(other, Fixed) and other.value is None:
        return f"(!{one.some})"
    inner = storage.held(body, one)
    if isinstance(other, Opt):
        theirs = storage.held(body, other)
        some = one.some
        same = equal(body, inner, theirs)
        if same is True:
            return f"({some} == {other.some})"
        return f"({some} == {other.some} && (!{some} || {same}))"
    return both(body, one.some, equal(body, inner, other))


def equal(body: Body, one: Value, other: Value) -> str | bool:
    """Returns whether two values are equal, one bool."""
    one, other = body.plain(one), body.plain(other)
    displays.check_read(body, one, other)
    if isinstance(one, Uni) or isinstance(other, Uni):
        same = body.spread([one, other], lambda given: as_bool(equal(body, *given)))
        return truth(body, same)
    if isinstance(one, Fixed) and isinstance(other, Fixed):
        return bool(one.value == other.value)
    if isinstance(one, Txt) or isinstance(other, Txt):
        for each in (one, other):
            if not isinstance(each, Txt) and not (
                isinstance(each, Fixed) and isinstance(each.value, (str, bytes))
            ):
                return False
        return f"({body.program.texts.c(one)} == {body.program.texts.c(other)})"
    for a, b in ((one, other), (other, one)):
        if isinstance(a, Mem):
            if isinstance(b, Mem) and b.member == a.member:
                return f"({a.c} == {b.c})"
            if isinstance(b, Fixed) and isinstance(b.value, a.member.cls):
                return f"({a.c} == {body.program.member_id(a.member, b)})"
            if not issubclass(a.member.cls, int):
                return False
    x, y = as_number(one), as_number(other)
    if x is not None and y is not None:
        return compared("==", x, y)
    if isinstance(one, Arr) or isinstance(other, Arr):
        raise body.refuse(
            "whether arrays are equal is a truth value for each element: use np.array_equal"
        )
    found = body.objects_equal(one, other)
    if found is not None:
        return found
    if not body.may_be_equal(one, other):
        return False
    mine, theirs = body.items(one), body.items(other)
    if mine is not None and theirs is not None:
        if len(mine) != len(theirs):
            return False
        result: str | bool = True
        for left, right in zip(mine, theirs, strict=True):
            result = both(body, result, equal(body, left, right))
        return result
    if isinstance(one, Lst) or isinstance(other, Lst):
        return body.lists_equal(one, other)
    return False


def _ordered_items(body: Body, value: Value) -> tuple[Value, ...] | None:
    """Returns what decides on the order of a value; None if it has none."""
    if not isinstance(value, Rec):
        return body.items(value)
    parameters = getattr(value.cls, "__dataclass_params__", None)
    return value.items if parameters is not None and parameters.order else None


def _ordered(
    body: Body, op: ast.cmpop, one: tuple[Value, ...], other: tuple[Value, ...]
) -> str | bool:
    """Compares tuples: by the first items that differ."""
    _, python = COMPARISONS[type(op)]
    if not one or not other:
        return bool(python(len(one), len(other)))
    strict = {ast.LtE: ast.Lt, ast.GtE: ast.Gt}.get(type(op), type(op))()
    first = truth(body, compare(body, strict, one[0], other[0]))
    same = equal(body, one[0], other[0])
    rest = _ordered(body, op, one[1:], other[1:])
    return either(body, first, both(body, same, rest))


def absolute(one: Num) -> Num:
    number = one.number
    if number.kind == "f":
        return Num(number, f"{'fabs' if number.bits == 64 else 'fabsf'}({one.c})")
    if number.kind in "bu":
        return Num(INT if number.kind == "b" and not number.is_numpy else number, one.c)
    return Num(number, f"({number.c})({one.c} < 0 ? 0 - (uint64_t){one.c} : (uint64_t){one.c})")
