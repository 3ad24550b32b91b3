"""Calls: built-in functions, methods of values, functions of the user's."""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import enum
import inspect
import math
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding as seeders

from parallel_pool._translator import (
    arrays,
    containers,
    displays,
    fitting,
    library,
    loops,
    numpy_calls,
    objects,
    operators,
    ordering,
    random_draws,
    records,
    reset_options,
    seeding,
    storage,
    texts,
)
from parallel_pool._translator.arguments import bound
from parallel_pool._translator.choice import Choice
from parallel_pool._translator.displays import EmptyDict, ListDisplay
from parallel_pool._translator.refusal import OVERFLOW, Dead, Wider
from parallel_pool._translator.types import (
    BOOL,
    FLOAT,
    INT,
    NP_INT,
    Constant,
    Empty,
    List,
    Member,
    Number,
    Optional,
    Type,
    Union,
    unbounded,
)
from parallel_pool._translator.values import (
    Arr,
    Bound,
    Fixed,
    Flat,
    Functions,
    Generator,
    Lambda,
    Lst,
    Mapping,
    Mem,
    Method,
    Num,
    Opt,
    Options,
    Rec,
    Rng,
    Self,
    Span,
    Tup,
    Txt,
    Uni,
    Value,
    as_number,
    cast,
    is_iterator,
    is_number,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

Arguments = tuple[list[Value], dict[str, Value]]


def call(body: Body, tree: ast.Call) -> Value:
    """Translates a call."""
    if isinstance(tree.func, ast.Name) and tree.func.id == "super":
        return Self(body.function.owner)
    trees = [*tree.args, *(each.value for each in tree.keywords)]
    function = body.before(body.value(tree.func), trees)
    arguments: list[Value] = []
    for i, each in enumerate(tree.args):
        later = trees[i + 1 :]
        if isinstance(each, ast.Starred):
            found = body.items(body.plain(body.value(each.value)))
            if found is None:
                raise body.refuse("* of something whose length is not known is not translated")
            arguments.extend(body.before(one, later) for one in found)
        elif _is_for_once(function, each):
            with body.without_notes():
                arguments.append(body.value(each))
        else:
            arguments.append(body.before(body.value(each), later))
    if len(arguments) > 1:
        arguments = [body.kept(a) if is_number(a) else a for a in arguments]
    keywords: dict[str, Value] = {}
    for i, keyword in enumerate(tree.keywords, len(tree.args)):
        if keyword.arg is None:
            held = body.record(body.value(keyword.value))
            if held is None:
                raise body.refuse("** of this is not translated")
            keywords.update(zip(held.keys, held.items, strict=True))
        else:
            keywords[keyword.arg] = body.before(body.value(keyword.value), trees[i + 1 :])
    return apply(body, function, arguments, keywords, tree)


def _is_for_once(function: Value, tree: ast.expr) -> bool:
    """Returns whether an argument is a list that is joined of others and only copied from."""
    copying = (np.concatenate, np.array)
    is_copying = isinstance(function, Fixed) and any(function.value is each for each in copying)
    is_joined = isinstance(tree, ast.BinOp) and isinstance(tree.left, ast.List)
    return is_copying and is_joined and not any(isinstance(e, ast.Call) for e in ast.walk(tree))


def apply(
    body: Body,
    function: Value,
    arguments: list[Value],
    keywords: dict[str, Value],
    tree: ast.Call | None = None,
) -> Value:
    """Returns function(*arguments, **keywords)."""
    if isinstance(function, Bound):
        return body.program.call(body, function, arguments, keywords)
    if isinstance(function, Method):
        return _method_of_types(body, function, arguments, keywords, tree)
    if isinstance(function, Lambda):
        return body.called_lambda(function, arguments)
    if isinstance(function, Functions):
        return _one_of_functions(body, function, arguments, keywords)
    if (cls := objects.class_of(function)) and (own := objects.written(cls, "__call__")):
        method = body.program.method_of(own, function)
        return body.program.call(body, method, arguments, keywords)
    if isinstance(function, Self):
        raise body.refuse("the environment can't be called")
    if isinstance(function, Fixed):
        return known(body, function.value, arguments, keywords)
    raise body.refuse(f"{function.type} can't be called")


def _one_of_functions(
    body: Body, function: Functions, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    """Calls the function that is chosen when the program runs."""
    first, *others = function.items

    def call_first() -> Value:
        return apply(body, first, arguments, keywords)

    if not others:
        return call_first()
    rest = Functions(tuple(others), function.at, function.first + 1)
    chosen = Choice(body)
    chosen.branch(
        f"({function.at} == {function.first})",
        call_first,
        lambda: apply(body, rest, arguments, keywords),
    )
    return chosen.value()


# functions whose result does not depend on the order of what they are given
ORDERLESS = (sorted, min, max, any, all, set, frozenset, len)


def known(body: Body, function: Any, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """Calls a function that is known before the program runs."""
    is_sum = function is sum and _is_set_of_ints(body.plain(arguments[0]))
    if is_sum or (_is_hashable(function) and function in ORDERLESS and "key" not in keywords):
        with body.any_order():
            return _known(body, function, arguments, keywords)
    return _known(body, function, arguments, keywords)


def _is_set_of_ints(value: Value) -> bool:
    of = value.list_type if isinstance(value, Lst) else None
    return of is not None and of.is_set and isinstance(of.item, Number) and of.item.kind in "bi"


# classes of the library that people use for what else can be written
UNKNOWN: dict[Any, str] = {
    defaultdict: "a defaultdict is not translated: make a dict, and read it by .get(key, 0)",
    Counter: "a Counter is not translated: make a dict, and read it by .get(key, 0)",
    OrderedDict: "an OrderedDict is not translated: a dict keeps its order, too",
}


def _known(body: Body, function: Any, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    own = PYTHON.get(function) if _is_hashable(function) else None
    if own is not None:
        arguments, keywords = bound(body, TAKES.get(function, "x"), arguments, keywords)
    if own is not None and function in KEEPING:
        return own(body, arguments, keywords)
    if own is not None:
        return _of_types(body, own, arguments, keywords)
    if isinstance(function, type) and issubclass(function, enum.Enum):
        return _member(body, function, arguments[0])
    found = numpy_calls.find(function)
    if found is not None:
        arguments = numpy_calls.of_one_type(body, function, arguments, keywords)
        return _of_types(body, found, arguments, keywords)
    if isinstance(function, type) and issubclass(function, BaseException):
        return Fixed(function)
    if (written := library.written(function)) is not None:
        return body.program.call_function(body, written, arguments, keywords)
    if function in UNKNOWN:
        raise body.refuse(UNKNOWN[function])
    if isinstance(function, records.Maker):
        return Rec(function.names, tuple(map(body.kept, arguments)), cls=function.cls)
    if records.is_class(function):
        return body.program.make_object(body, function, arguments, keywords)
    if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
        return _named_tuple(body, function, arguments, keywords)
    if inspect.isfunction(function) and not function.__module__.startswith("numpy"):
        return body.program.call_function(body, function, arguments, keywords)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, gymnasium.Space):
        return _of_space(body, owner, function.__name__, arguments)
    if (
        all(isinstance(each, Fixed) for each in (*arguments, *keywords.values()))
        and (
            owner is None
            or isinstance(owner, (str, tuple, frozenset, int, float, dict, list))
            or inspect.ismodule(owner)
        )
        and _is_pure(function, owner)
    ):
        try:
            result = function(
                *(each.value for each in arguments),  # type: ignore[attr-defined]
                **{k: v.value for k, v in keywords.items()},  # type: ignore[attr-defined]
            )
            if isinstance(owner, dict) and function.__name__ in ("keys", "values", "items"):
                result = tuple(result)
            return Fixed(result)
        except Exception as error:
            raise body.refuse(f"{type(error).__name__}: {error}") from None
    if isinstance(owner, (str, *HELD)):
        return _method(body, Method(Fixed(owner), function.__name__), arguments, keywords, None)
    if (
        isinstance(function, type)
        and inspect.isclass(function)
        and function.__module__
        not in (
            "builtins",
            "numpy",
        )
    ):
        return body.program.make_object(body, function, arguments, keywords)
    name = getattr(function, "__qualname__", repr(function))
    module = getattr(function, "__module__", "") or ""
    raise body.refuse(f"{module + '.' if module else ''}{name}() is not translated")


def _of_types(
    body: Body, function: Callable[..., Value], given: list[Value], keywords: dict[str, Value]
) -> Value:
    """Calls a function for each type that an argument may have."""
    count = len(given)

    def called(values: list[Value]) -> Value:
        return function(body, values[:count], dict(zip(keywords, values[count:], strict=True)))

    return body.spread([*given, *keywords.values()], called)


def _method_of_types(
    body: Body,
    method: Method,
    given: list[Value],
    keywords: dict[str, Value],
    tree: ast.Call | None,
) -> Value:
    """Calls a method for each type that the value, and numbers among the arguments, may have."""
    if not isinstance(method.receiver, (Arr, Num, Rng, Uni)):
        return _method(body, method, given, keywords, tree)

    def called(body: Body, values: list[Value], keywords: dict[str, Value]) -> Value:
        return _method(body, Method(values[0], method.name), values[1:], keywords, tree)

    return _of_types(body, called, [method.receiver, *given], keywords)


HELD = (dict, list, tuple, frozenset)
PURE_TYPES = (str, tuple, frozenset, int, float)


def _is_pure(function: Any, owner: Any) -> bool:
    if isinstance(owner, PURE_TYPES) or owner is math:
        return True
    if isinstance(owner, (dict, list)):
        return function.__name__ in ("get", "keys", "values", "items", "index", "count", "copy")
    return (
        function
        in (
            *(
                len,
                range,
                tuple,
                list,
                dict,
                set,
                frozenset,
                sorted,
                zip,
                enumerate,
                str,
                int,
                float,
            ),
            *(bool, min, max, sum, abs, round, ord, chr, divmod, isinstance, type, map, reversed),
            *(hasattr, getattr, callable, issubclass, repr, hash),
        )
        or getattr(function, "__module__", "") == "math"
    )


def _is_hashable(function: Any) -> bool:
    try:
        hash(function)
    except TypeError:
        return False
    return True


# ----------------------------------------------------------------------------- Python's own --


def _all_fixed(values: Sequence[Value]) -> bool:
    return all(isinstance(each, Fixed) for each in values)


def _range(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    given = [body.plain(each) for each in given]
    for each in given:
        body.as_int(each, "the bound of a range")
    known_step = given[2].value if len(given) == 3 and isinstance(given[2], Fixed) else 1
    if _all_fixed(given) and known_step and not range(*(int(each.value) for each in given)):  # type: ignore[attr-defined]
        return Fixed(range(*(int(each.value) for each in given)))  # type: ignore[attr-defined]
    start: Value = Fixed(0)
    step = 1
    if len(given) == 1:
        stop = given[0]
    else:
        start, stop = given[0], given[1]
        if len(given) == 3:
            step = int(body.known(given[2], "the step of a range"))
            if step == 0:
                body.fail("ValueError", "range() arg 3 must not be zero")
                step = 1
    return Span(
        body.kept(start) if isinstance(start, Num) else start,
        body.kept(stop) if isinstance(stop, Num) else stop,
        step,
    )


def _len(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    value = body.plain(given[0])
    own = body.special(value, "len")
    if own is not None:
        return own
    if isinstance(value, (Lst, Mapping)):
        return Fixed(0) if value.is_always_empty else Num(INT, f"{value.c}->count")
    if isinstance(value, Arr):
        dim = value.dims[0]
        return Fixed(dim) if isinstance(dim, int) else Num(INT, dim)
    if isinstance(value, Fixed):
        return Fixed(len(value.value))
    if isinstance(value, Rec) and value.cls is None:
        return Fixed(len(value.keys))
    if isinstance(value, Txt):
        return body.number(INT, body.program.text_length(value.c))
    items = body.items(value)
    if items is not None:
        return Fixed(len(items))
    found = loops.source(body, value)
    if found is not None and isinstance(value, Span):
        body.check(f"{found[0]} < INT64_MAX", "OverflowError", OVERFLOW)
    if found is not None:
        return body.number(INT, found[0])
    raise body.refuse(f"len() of {value.type} is not translated")


def _int(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if not given:
        return Fixed(0)
    if isinstance(given[0], Fixed):
        return _known_result(body, int, given)
    if isinstance(given[0], Txt):
        return texts.number(body, given[0])
    number = body.as_num(given[0])
    if number.number.kind != "f":
        return Num(INT, cast(number.c, INT, number.number), number.attribute)
    return fitting.whole(body, number)


def _float(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if not given:
        return Fixed(0.0)
    if isinstance(given[0], Fixed):
        return Fixed(float(given[0].value))
    number = body.as_num(given[0])
    return Num(FLOAT, cast(number.c, FLOAT, number.number), number.attribute)


def _bool(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if not given:
        return Fixed(False)
    return operators.as_bool(body.truth(given[0]))


def _abs(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    value = body.plain(given[0])
    if isinstance(value, Fixed):
        return Fixed(abs(value.value))
    if isinstance(value, Arr):
        return arrays.elementwise(body, [value], operators.absolute)
    number = body.as_num(value)
    if number.number.kind == "i" and not number.number.is_numpy:
        kept = body.temporary("int64_t", number.c)
        body.check(f"{kept} != INT64_MIN", "OverflowError", OVERFLOW)
        return Num(INT, f"({kept} < 0 ? -{kept} : {kept})")
    return operators.absolute(body.kept(number))  # type: ignore[arg-type]


def _extreme(name: str) -> Callable[..., Value]:
    sign = ">" if name == "max" else "<"

    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        key = ordering.key_of(keywords)
        if key is not None:
            over = body.plain(given[0]) if len(given) == 1 else Tup(tuple(given))
            return ordering.extreme_by(body, name, over, key, keywords.get("default"))
        if len(given) > 1:
            return _of_values(body, sign, [body.plain(each) for each in given])
        value = body.plain(given[0])
        items = None if isinstance(value, (Arr, Generator, Lst)) else body.items(value)
        if items is not None and items:
            return _of_values(body, sign, list(items))
        return _of_items(body, name, sign, value, keywords.get("default"))

    return translate


def _of_values(body: Body, sign: str, values: list[Value]) -> Value:
    if _all_fixed(values):
        known_values = [each.value for each in values]  # type: ignore[attr-defined]
        return Fixed(max(known_values) if sign == ">" else min(known_values))
    of: Type = values[0].type
    for each in values[1:]:
        of = storage.join(of, each.type)
    if isinstance(of, Union):
        return _of_several_types(body, sign, of, values)
    numbers = [as_number(each) for each in values]
    if any(each is None for each in numbers) or not isinstance(of, Number):
        raise body.refuse("max and min of values that are no numbers are not translated")
    best = body.c_variable("t", of.c)
    first, *others = [each for each in numbers if each is not None]
    body.emit(f"{best} = {storage.as_item(body, first, of)};")
    for each in others:
        c = storage.as_item(body, each, of)
        c = c if c.replace(".", "").isalnum() else body.temporary(of.c, c)
        body.emit(f"if ({c} {sign} {best}) {best} = {c};")
    return Num(of, best)


def _of_several_types(body: Body, sign: str, of: Union, values: list[Value]) -> Value:
    """max and min of numbers whose types differ: the result has that of the number."""
    place = body.variable("t", of)
    first, *others = [body.kept(each) for each in values]
    storage.store(body, of, place, first)
    best = storage.load(body, of, place)
    op = ast.Gt() if sign == ">" else ast.Lt()
    for each in others:
        found = operators.c_truth(body.truth(operators.compare(body, op, each, best)))
        with body.block(f"if ({found}) {{"):
            storage.store(body, of, place, each)
    return best


def _of_items(body: Body, name: str, sign: str, value: Value, default: Value | None) -> Value:
    """max and min of something to loop over."""
    found: list[Number] = []

    def note(item: Value) -> None:
        found.append(body.as_num(item).number)

    with body.tried():
        each_item(body, value, note)
    of = found[0]
    for each in found[1:]:
        of = storage.join(of, each)  # type: ignore[assignment]
    if not isinstance(of, Number):
        raise body.refuse(f"{name}() of items that are {of} is not translated")
    best, some = body.c_variable("t", of.c), body.c_variable("t", "bool")
    body.emit(f"{some} = false;")

    def compare(item: Value) -> None:
        number = body.as_num(item)
        c = body.temporary(of.c, storage.as_item(body, number, of))
        body.emit(f"if (!{some} || {c} {sign} {best}) {best} = {c};")
        body.emit(f"{some} = true;")

    each_item(body, value, compare)
    if default is not None:
        if isinstance(default, Fixed) and default.value is None:
            place = body.variable("t", Optional(of))
            body.emit(f"{place}.some = {some}; {place}.v = {best};")
            return Opt(Optional(of), place)
        number = body.as_num(default)
        if storage.join(number.number, of) != of:
            raise body.refuse(f"{name}() with a default that is {number.number}, and items {of}")
        body.emit(f"if (!{some}) {best} = {cast(number.c, of, number.number)};")
    else:
        body.check(some, "ValueError", f"{name}() iterable argument is empty")
    return Num(of, best)


def each_item(body: Body, value: Value, function: Callable[[Value], None]) -> None:
    """Calls a function where each item of something to loop over is at hand."""
    if isinstance(value, Generator):
        containers.repeat(body, value, function)
        return
    if isinstance(value, Flat) and value.kind == "map":
        mapped, *parts = value.parts
        each_item(
            body,
            parts[0] if len(parts) == 1 else Flat("zip", tuple(parts)),
            lambda item: function(
                apply(body, mapped, list(item.items) if len(parts) > 1 else [item], {})  # type: ignore[attr-defined]
            ),
        )
        return
    if isinstance(value, Flat) and value.kind == "call":
        body.program.inline_generator(body, value, function)
        return
    kept_item: list[Value] = []
    loops.iterate(body, value, kept_item.append, lambda: function(kept_item.pop()))


def _sum(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    value = body.plain(given[0])
    start = given[1] if len(given) > 1 else keywords.get("start", Fixed(0))
    if isinstance(value, Fixed) and isinstance(start, Fixed):
        try:
            return Fixed(sum(value.value, start.value))
        except TypeError:
            pass
    found: list[Number] = []

    def note(item: Value) -> None:
        item = body.plain(item)
        number = as_number(item)
        if number is None or isinstance(item, Uni):
            raise body.refuse(f"sum() of {item.type} is not translated")
        found.append(number.number)

    with body.tried():
        each_item(body, value, note)
    if not found:
        return start
    of = found[0]
    for each in found[1:]:
        of = storage.join(of, each)  # type: ignore[assignment]
    if not isinstance(of, Number):
        raise body.refuse(f"sum() of items that are {of} is not translated")
    if of.kind == "b":
        # True is added as 1; NumPy's booleans to an int give an int64
        of = NP_INT if of.is_numpy else INT
    first = body.as_num(start)
    if first.number.kind == "f" and of.kind != "f" and not of.is_numpy:
        # a float from the start
        of = first.number
    total_type = of if of.is_numpy or of.kind == "f" else INT
    if total_type.kind != first.number.kind and first.number.kind == "f":
        raise body.refuse(f"sum() of items that are {of}, from {first.number} on: write a loop")
    total = body.c_variable("t", total_type.c)
    body.emit(f"{total} = {cast(first.c, total_type, first.number)};")
    compensated = total_type.c == "double" and not total_type.is_numpy
    compensated = compensated and sys.version_info >= (3, 12)
    if (total_type.is_mixed or total_type.may_be_int) and sys.version_info >= (3, 12):
        raise body.refuse(f"sum() adds items that are {total_type} differently: convert them")
    rest = body.c_variable("t", "double") if compensated else ""
    if compensated:
        body.emit(f"{rest} = 0;")

    def add(item: Value) -> None:
        number = body.as_num(item)
        c = cast(number.c, total_type, number.number)
        if compensated:
            body.emit(f"pp_python_add(&{total}, &{rest}, {c});")
        elif total_type == INT:
            body.check(
                f"!__builtin_add_overflow({total}, {c}, &{total})",
                "OverflowError",
                OVERFLOW,
            )
        else:
            body.emit(f"{total} += {c};")

    each_item(body, value, add)
    if compensated:
        body.emit(f"if ({rest} && isfinite({rest})) {total} += {rest};")
    return Num(total_type, total)


def _any_or_all(is_any: bool) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        value = body.plain(given[0])
        if isinstance(value, Fixed):
            return Fixed(any(value.value) if is_any else all(value.value))
        found = body.c_variable("t", "bool")
        body.emit(f"{found} = {'false' if is_any else 'true'};")
        label = body.name("found")

        def look(item: Value) -> None:
            truth = body.truth(item)
            if truth is (not is_any):
                return
            text = "true" if truth is is_any else truth
            if not is_any:
                text = f"!{truth}" if isinstance(truth, str) else "true"
            body.emit(f"if ({text}) {{ {found} = {'true' if is_any else 'false'}; goto {label}; }}")

        each_item(body, value, look)
        body.emit(f"{label}:;")
        return Num(BOOL, found)

    return translate


def _round(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    digits = given[1] if len(given) > 1 else keywords.get("ndigits")
    if isinstance(given[0], Fixed) and (digits is None or isinstance(digits, Fixed)):
        return _known_result(body, round, [given[0], *([] if digits is None else [digits])])
    number = body.as_num(given[0])
    if number.number.kind != "f":
        return _round_int(body, number, digits)
    c = cast(number.c, FLOAT, number.number)
    if digits is None or (isinstance(digits, Fixed) and digits.value is None):
        return _int(body, [Num(FLOAT, f"nearbyint({c})")], {})
    if number.number.is_numpy or number.number.is_mixed:
        raise body.refuse("round() of a NumPy number is not translated: convert it by float()")
    return body.number(FLOAT, f"pp_python_round({c}, {body.as_int(digits)})")


def _round_int(body: Body, number: Num, digits: Value | None) -> Value:
    c = cast(number.c, INT, number.number)
    if digits is None or (isinstance(digits, Fixed) and digits.value is None):
        return Num(INT, c)
    if number.number.is_numpy or number.number.is_mixed:
        raise body.refuse("round() of a NumPy number is not translated: convert it by int()")
    rounded = body.c_variable("t", "int64_t")
    call = f"pp_python_round_int({c}, {body.as_int(digits)}, &{rounded})"
    body.check(call, "OverflowError", OVERFLOW)
    return Num(INT, rounded)


def _divmod(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    one, other = (body.kept(body.plain(each)) for each in given)
    return Tup(
        (
            operators.binary(body, ast.FloorDiv(), one, other),
            operators.binary(body, ast.Mod(), one, other),
        )
    )


def _pow(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    return operators.binary(body, ast.Pow(), given[0], given[1])


def _tuple(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if not given:
        return Fixed(())
    value = body.plain(given[0])
    if isinstance(value, Fixed):
        return Fixed(tuple(value.value))
    if isinstance(value, Generator):
        unrolled = body.unrolled(value.tree)
        if unrolled is not None:
            return Tup(unrolled.items)
        made = list_from(body, value)
        return containers.as_list(body, made, replace(made.list_type, is_tuple=True))
    if isinstance(value, Flat) and value.kind == "map":
        items = body.items(value.parts[1])
        if items is not None:
            return Tup(tuple(body.kept(apply(body, value.parts[0], [each], {})) for each in items))
    items = body.items(value)
    if items is None and isinstance(value, (Lst, Flat, Mapping, Span)):
        made = list_from(body, value)
        return containers.as_list(body, made, replace(made.list_type, is_tuple=True))
    if items is None:
        raise body.refuse(f"tuple() of {value.type} is not translated")
    return Tup(tuple(body.kept(each) for each in items))


def list_from(body: Body, value: Value) -> Lst:
    """Returns list(value)."""
    if isinstance(value, Lst) and not value.list_type.is_set:
        plain = List(value.list_type.item)
        made = containers.copied(body, value)
        return Lst(plain, made.c) if made.list_type == plain else _as_plain(body, made)
    if isinstance(value, Generator):
        return containers.made_of(body, value)
    found = body.items(value) if not isinstance(value, (Arr, Lst, Mapping)) else None
    if found is not None and len(found) <= 64:
        return containers.list_of(body, found)
    kinds: list[Any] = []
    with body.tried():
        each_item(body, value, lambda item: kinds.append(storage.item_type(item)))
    item: Any = Empty()
    for each in kinds:
        item = storage.join_items(item, each)
    made = containers.new_list(body, List(item), "8")
    each_item(body, value, lambda one: containers.append(body, made, one))
    return made


def _as_plain(body: Body, value: Lst) -> Lst:
    made = containers.new_list(body, List(value.list_type.item), f"{value.c}->count + 4")
    body.emit(f"{made.c}->count = {value.c}->count;")
    body.emit(
        f"memcpy({made.c}->v, {value.c}->v, (size_t){value.c}->count * sizeof(*{made.c}->v));"
    )
    body.items_shared(made, value)
    return made


def _list(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if not given:
        return containers.list_of(body, [])
    value = body.plain(given[0])
    if isinstance(value, Fixed) and isinstance(value.value, (tuple, list, str, range, dict)):
        return ListDisplay(tuple(Fixed(each) for each in value.value))
    return list_from(body, value)


def _deque(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    most = keywords.get("maxlen", given[1] if len(given) > 1 else Fixed(None))
    limit = 0
    if not (isinstance(most, Fixed) and most.value is None):
        limit = int(body.known(most, "maxlen"))
    if not given:
        return containers.new_list(body, List(Empty(), 0, limit, True), "8")
    made = list_from(body, body.plain(given[0]))
    of = List(made.list_type.item, 0, limit, True)
    result = containers.new_list(body, of, f"{made.c}->count + 4")
    loops.iterate(body, made, lambda item: containers.append(body, result, item), lambda: None)
    return result


def set_of(body: Body, value: Value) -> Lst:
    kinds: list[Any] = []
    with body.tried():
        each_item(body, value, lambda item: kinds.append(storage.item_type(item)))
    item: Any = Empty()
    for each in kinds:
        item = storage.join_items(item, each)
    made = containers.new_list(body, List(item, is_set=True), "8")
    each_item(body, value, lambda one: containers.add(body, made, one))
    return made


def _set(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if not given:
        return containers.new_list(body, List(Empty(), is_set=True), "8")
    return set_of(body, body.plain(given[0]))


def _dict(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if given:
        value = body.plain(given[0])
        displays.check_read(body, value)
        held = body.record(value)
        if held is not None:
            keys, items = [*held.keys], [*held.items]
            for key, item in keywords.items():
                keys.append(key)
                items.append(item)
            return Rec(tuple(keys), tuple(items))
        if keywords:
            raise body.refuse("this dict() is not translated")
        if isinstance(value, Mapping):
            return containers.copied_map(body, value)
        return _of_pairs(body, body.items(value), lambda each: each_item(body, value, each))
    if not keywords:
        return EmptyDict()
    return Rec(tuple(keywords), tuple(keywords.values()))


def _of_pairs(
    body: Body,
    pairs: Sequence[Value] | None,
    each: Callable[[Callable[[Value], None]], None],
) -> Value:
    """Returns the dict of pairs; each: calls a function where the next one is at hand."""
    known_pairs = [containers.unpacked(body, pair, 2, False) for pair in pairs or ()]
    if pairs is None or not all(isinstance(key, Fixed) for key, _ in known_pairs):
        return containers.map_of(body, each)
    found = {key.value: body.kept(item) for key, item in known_pairs}  # type: ignore[attr-defined]
    return Rec(tuple(found), tuple(found.values())) if found else EmptyDict()


def _fromkeys(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    """dict.fromkeys, whose items are one object."""
    value = body.plain(given[0])
    item = given[1] if len(given) > 1 else keywords.get("value", Fixed(None))
    if body.may_change(body.unbounded(item)) and not isinstance(item, EmptyDict):
        raise body.refuse("dict.fromkeys() puts one object under all keys: write a comprehension")
    items = body.items(value)
    pairs = None if items is None else [Tup((key, item)) for key in items]
    return _of_pairs(
        body, pairs, lambda each: each_item(body, value, lambda key: each(Tup((key, item))))
    )


def _flat(kind: str) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        parts = [body.plain(each) for each in given]
        start = 0
        if kind == "enumerate":
            if len(parts) > 1:
                keywords = {**keywords, "start": parts.pop()}
            start = int(body.known(keywords.get("start", Fixed(0)), "start"))
        known_parts = [
            list_from(body, each) if isinstance(each, Generator) else each for each in parts
        ]
        return Flat(kind, tuple(known_parts), start)

    return translate


def _iter(body: Body, value: Value) -> Value:
    value = body.plain(value)
    return value if is_iterator(value) else Flat("iter", (value,))


def _map(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    return Flat("map", tuple(given))


def _sorted(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if _all_fixed(given) and not keywords:
        return Fixed(sorted(given[0].value))  # type: ignore[attr-defined]
    made = list_from(body, body.plain(given[0]))
    ordering.sort(body, made, keywords)
    return made


def _isinstance(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    value, classes = given[0], given[1]
    if not isinstance(classes, Fixed):
        raise body.refuse("isinstance() with classes that are not known is not translated")
    wanted = classes.value if isinstance(classes.value, tuple) else (classes.value,)
    if isinstance(value, Fixed):
        return Fixed(isinstance(value.value, wanted))
    sample: Any = None
    number = as_number(value)
    if isinstance(value, Mem):
        sample = next(iter(value.member.cls))
    elif number is not None:
        if len(number.number.variants()) > 1:
            raise body.refuse(f"isinstance() of {number.number} is not translated: convert it")
        sample = number.number.dtype.type(0) if number.number.is_numpy else 0
        if not number.number.is_numpy:
            sample = {"b": False, "i": 0, "f": 0.0}[number.number.kind]
    elif isinstance(value, Arr):
        sample = np.zeros(0)
    elif isinstance(value, Lst):
        sample = [] if not value.list_type.is_deque else deque()
    elif isinstance(value, Tup):
        sample = ()
    elif isinstance(value, Rec):
        sample = {}
    elif isinstance(value, Txt):
        sample = ""
    else:
        raise body.refuse(f"isinstance() of {value.type} is not translated")
    return Fixed(isinstance(sample, wanted))


def _type(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if isinstance(given[0], Self):
        return body.program.attribute(body, "__class__")
    if isinstance(given[0], Fixed):
        return Fixed(type(given[0].value))
    raise body.refuse("type() of what changes is not translated: use isinstance()")


def _print(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    return Fixed(None)


def _member(body: Body, cls: type[enum.Enum], value: Value) -> Value:
    """Cls(value)."""
    value = body.plain(value)
    if isinstance(value, Mem) and value.member.cls is cls:
        return value
    if isinstance(value, Fixed):
        return Fixed(cls(value.value))
    place = body.c_variable("t", "int32_t")
    number = body.as_num(value)
    members = [int(each.value) for each in cls]
    c = body.temporary("int64_t", cast(number.c, INT, number.number))
    body.emit(f"{place} = -1;")
    if members == list(range(len(members))):
        body.emit(f"if ({c} >= 0 && {c} < {len(members)}) {place} = (int32_t){c};")
    else:
        for i, each in enumerate(members):
            body.emit(f"if ({c} == {each}) {place} = {i};")
    body.check(
        f"{place} >= 0", "ValueError", f"%lld is not a valid {cls.__name__}", f"(long long){c}"
    )
    return Mem(Member(cls), place)


def _named_tuple(body: Body, cls: Any, given: list[Value], keywords: dict[str, Value]) -> Value:
    items = list(given)
    for name in cls._fields[len(given) :]:
        if name in keywords:
            items.append(keywords[name])
        else:
            items.append(Fixed(cls._field_defaults[name]))
    return Tup(tuple(body.kept(each) for each in items), cls)


def _of_space(body: Body, space: Any, name: str, given: list[Value]) -> Value:
    if name == "contains":
        return operators.as_bool(body.program.space_contains(body, space, given[0]))
    if name == "sample":
        raise body.refuse(
            "space.sample() draws from a generator of the space's own: draw from self.np_random"
        )
    if name == "seed":
        # nothing draws from a space
        return Fixed(None)
    raise body.refuse(f"{name}() of a space is not translated")


def _super_reset(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    # the engine seeds the generator
    return Fixed(None)


def _copy(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    """copy.copy."""
    value = body.plain(given[0])
    if isinstance(value, Arr):
        return body.fresh(value)
    if isinstance(value, Lst):
        return containers.copied(body, value)
    if isinstance(value, Mapping):
        return containers.copied_map(body, value)
    return value if isinstance(value, Fixed) else _in_memory(body, value)


def _in_memory(body: Body, value: Value) -> Value:
    """Returns a copy of a value in memory of its own; what is in it has two names."""
    of = body.unbounded(value)
    if isinstance(of, Constant) or not body.may_change(of):
        return value
    place = body.variable("t", of)
    # the object itself is new: only its parts are shared
    for part in value.items if isinstance(value, (Rec, Tup)) else ():
        body.note_stored(body.unbounded(part), f"{place}.part", part)
    with body.without_notes():
        storage.store(body, of, place, value)
    return storage.load(body, of, place)


def _deep_copy(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    """copy.deepcopy."""
    value = body.plain(given[0])
    of = body.unbounded(value)
    if isinstance(value, Fixed) and not isinstance(value.value, (list, dict, np.ndarray)):
        return value
    if isinstance(value, Lst) and not value.list_type.capacity and body.may_change(of):
        raise body.refuse("deepcopy() of a list of lists is not translated: write a comprehension")
    with body.without_notes():
        return _copy(body, [value], keywords)


def _replace(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    value = body.plain(given[0])
    if not isinstance(value, Rec):
        raise body.refuse("dataclasses.replace of this is not translated")
    items = [
        body.kept(keywords.get(key, item))
        for key, item in zip(value.keys, value.items, strict=True)
    ]
    return Rec(value.keys, tuple(items), cls=value.cls)


def _fields(body: Body, value: Value) -> Rec:
    """Returns the attributes of an object, as a dict."""
    value = body.plain(value)
    if not isinstance(value, Rec):
        raise body.refuse(f"the fields of {value.type} are not translated")
    return Rec(value.keys, tuple(body.kept(each) for each in value.items))


def _has_attribute(body: Body, name: str) -> bool:
    """Returns whether the environment has an attribute, which must be so all the time."""
    template = body.program.template
    if name in template.initial or hasattr(template.cls, name):
        return True
    if name in template.rebound or hasattr(template.env, name):
        raise body.refuse(
            f"whether self.{name} is there changes: assign it in __init__, as in self.{name} = None"
        )
    return False


def _getattr(body: Body, given: list[Value]) -> Value:
    if not isinstance(given[1], Fixed):
        raise body.refuse("getattr() with a name that changes is not translated")
    if isinstance(given[0], Self) and len(given) > 2 and not _has_attribute(body, given[1].value):
        return given[2]
    return body.attribute(given[0], given[1].value)


def _hasattr(body: Body, given: list[Value]) -> Value:
    value, name = given
    if isinstance(value, Fixed) and isinstance(name, Fixed):
        return Fixed(hasattr(value.value, name.value))
    if isinstance(value, Self) and isinstance(name, Fixed):
        return Fixed(_has_attribute(body, name.value))
    raise body.refuse("hasattr() of this is not translated")


def _known_result(
    body: Body, function: Callable[..., Any], given: list[Value], otherwise: float = 0
) -> Value:
    """Returns a function of known values; raises in the program what it raises."""
    try:
        return Fixed(function(*(each.value for each in given)))  # type: ignore[attr-defined]
    except (ArithmeticError, ValueError) as error:
        body.fail(type(error).__name__, str(error))
        return Fixed(otherwise)


def _math(name: str) -> Callable[..., Value]:
    function = getattr(math, name)
    is_range = name in ("exp", "sinh", "cosh", "expm1")

    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        if _all_fixed(given):
            return _known_result(body, function, given, 0.0)
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
            return _known_result(body, getattr(math, name), given)
        number = body.as_num(given[0])
        if number.number.kind != "f":
            return Num(INT, cast(number.c, INT, number.number))
        return _int(body, [Num(FLOAT, f"{name}({cast(number.c, FLOAT, number.number)})")], {})

    return translate


def _math_test(c: str) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        number = body.as_num(given[0])
        return Num(BOOL, f"({c}({cast(number.c, FLOAT, number.number)}) != 0)")

    return translate


def _refused(text: str) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        raise body.refuse(text)

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
    if _all_fixed(given):
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


def _ord(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    value = given[0]
    if isinstance(value, Fixed):
        return Fixed(ord(value.value))
    if isinstance(value, Txt):
        return body.number(INT, body.program.text_table(value.c, lambda t: ord(t[0]) if t else 0))
    raise body.refuse("ord() of this is not translated")


def _str(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if isinstance(given[0], Txt):
        return given[0]
    if isinstance(given[0], Fixed):
        return Fixed(str(given[0].value))
    number = as_number(body.plain(given[0]))
    if number is not None and number.number.kind == "i":
        return texts.of_int(body, cast(number.c, INT, number.number))
    raise body.refuse("texts that are made while the program runs are not translated")


def _next(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if not isinstance(given[0], Generator):
        raise body.refuse("next() without a generator expression is not translated")
    kinds: list[Type] = []
    with body.tried():
        each_item(body, given[0], lambda item: kinds.append(storage.item_type(item)))
    if not kinds:
        raise body.refuse("next() of a list that is empty so far is not translated")
    default = given[1] if len(given) > 1 else None
    of = kinds[0] if default is None else storage.join(kinds[0], default.type)
    place, label = body.variable("t", of), body.name("found")
    if default is not None:
        storage.store(body, of, place, default, "the default")

    def take(item: Value) -> None:
        storage.store(body, of, place, item, "the item")
        body.emit(f"goto {label};")

    each_item(body, given[0], take)
    if default is None:
        body.fail("StopIteration")
    body.emit(f"{label}:;")
    return storage.load(body, of, place)


# functions that take a value as it is, whatever its type
KEEPING = (max, min, tuple, list, deque, dict, len, iter, enumerate, zip, map, print)
PYTHON: dict[Any, Callable[..., Value]] = {
    range: _range,
    len: _len,
    int: _int,
    float: _float,
    bool: _bool,
    abs: _abs,
    max: _extreme("max"),
    min: _extreme("min"),
    sum: _sum,
    any: _any_or_all(True),
    all: _any_or_all(False),
    round: _round,
    divmod: _divmod,
    pow: _pow,
    tuple: _tuple,
    list: _list,
    deque: _deque,
    set: _set,
    frozenset: _set,
    dict: _dict,
    dict.fromkeys: _fromkeys,
    enumerate: _flat("enumerate"),
    zip: _flat("zip"),
    reversed: _flat("reversed"),
    iter: lambda body, given, keywords: _iter(body, given[0]),
    map: _map,
    sorted: _sorted,
    isinstance: _isinstance,
    type: _type,
    print: _print,
    ord: _ord,
    str: _str,
    next: _next,
    dataclasses.astuple: lambda body, given, keywords: Tup(_fields(body, given[0]).items),
    dataclasses.asdict: lambda body, given, keywords: _fields(body, given[0]),
    getattr: lambda body, given, keywords: _getattr(body, given),
    hasattr: lambda body, given, keywords: _hasattr(body, given),
    dataclasses.replace: lambda body, given, keywords: _replace(body, given, keywords),
    copy.copy: _copy,
    copy.deepcopy: _deep_copy,
    gymnasium.Env.reset: _super_reset,
    seeders.np_random: lambda body, given, keywords: seeding.made(body, "np_random", given),
    np.random.default_rng: lambda body, given, keywords: seeding.made(body, "default_rng", given),
    math.sqrt: _math("sqrt"),
    math.exp: _math("exp"),
    math.log: _math_log,
    math.log2: _math("log2"),
    math.log10: _math("log10"),
    math.log1p: _math("log1p"),
    math.expm1: _math("expm1"),
    math.sin: _math("sin"),
    math.cos: _math("cos"),
    math.tan: _math("tan"),
    math.asin: _math("asin"),
    math.acos: _math("acos"),
    math.sinh: _math("sinh"),
    math.cosh: _math("cosh"),
    math.fmod: _math("fmod"),
    math.atan: _math_plain("atan"),
    math.tanh: _math_plain("tanh"),
    math.atan2: _math_plain("atan2"),
    math.fabs: _math_plain("fabs"),
    math.copysign: _math_plain("copysign"),
    math.degrees: lambda body, given, keywords: operators.binary(
        body, ast.Mult(), _float(body, given, {}), Fixed(180.0 / math.pi)
    ),
    math.radians: lambda body, given, keywords: operators.binary(
        body, ast.Mult(), _float(body, given, {}), Fixed(math.pi / 180.0)
    ),
    math.floor: _math_round("floor"),
    math.ceil: _math_round("ceil"),
    math.trunc: _math_round("trunc"),
    math.isnan: _math_test("isnan"),
    math.isinf: _math_test("isinf"),
    math.isfinite: _math_test("isfinite"),
    math.pow: _math_pow,
    math.hypot: _math_hypot,
    math.gcd: _math_gcd,
    math.dist: _math_dist,
    builtins.input: _refused("input() is not translated"),
}
# what they take; others take one value
TAKES = {
    range: "start stop? step?",
    len: "obj",
    int: "x?",
    float: "x?",
    bool: "x?",
    max: "* | key default",
    min: "* | key default",
    sum: "iterable start?",
    round: "number ndigits?",
    divmod: "x y",
    pow: "base exp",
    tuple: "iterable?",
    list: "iterable?",
    deque: "iterable? maxlen?",
    set: "iterable?",
    frozenset: "iterable?",
    dict: "mapping? | **",
    dict.fromkeys: "iterable value?",
    enumerate: "iterable start?",
    zip: "* | strict",
    map: "function iterable *",
    sorted: "iterable | key reverse",
    isinstance: "obj classes",
    print: "* | **",
    next: "iterator default?",
    getattr: "object name default?",
    hasattr: "obj name",
    dataclasses.replace: "obj | **",
    gymnasium.Env.reset: "* | **",
    seeders.np_random: "seed?",
    np.random.default_rng: "seed?",
    math.log: "x base?",
    math.fmod: "x y",
    math.atan2: "y x",
    math.copysign: "x y",
    math.pow: "x y",
    math.hypot: "*",
    math.gcd: "a b",
    math.dist: "p q",
    builtins.input: "* | **",
}
# of the methods of lists, deques and sets, dicts, and texts
METHODS = {
    "append": "item",
    "add": "item",
    "appendleft": "item",
    "insert": "index item",
    "extend": "iterable",
    "update": "* | **",
    "pop": "index? default?",
    "popleft": "",
    "clear": "",
    "remove": "item",
    "discard": "item",
    "index": "item",
    "count": "item",
    "copy": "",
    "sort": "| key reverse",
    "reverse": "",
    "keys": "",
    "values": "",
    "items": "",
    "get": "key default?",
}


# ---------------------------------------------------------------------------------- methods --


def extend_with(body: Body, value: Lst, other: Value) -> None:
    """list.extend."""
    if isinstance(other, Lst):
        if other.c == value.c:
            other = containers.copied(body, other)
        containers.extend(body, value, other)
        return
    each_item(body, other, lambda item: containers.append(body, value, item))


def _method(
    body: Body,
    method: Method,
    given: list[Value],
    keywords: dict[str, Value],
    tree: ast.Call | None,
) -> Value:
    value, name = body.plain(method.receiver), method.name
    if isinstance(value, Options):
        return reset_options.method(body, value, name, given, keywords)
    if reset_options.option_of(value):
        raise body.refuse(f"{name}() of an option of reset() is not translated: it is a number")
    if isinstance(value, Rng):
        body.program.draw_from(body, value)
        return random_draws.draw(body, name, given, keywords)
    if isinstance(value, Arr):
        return numpy_calls.method(body, value, name, given, keywords)
    if isinstance(value, Num):
        if name in ("item", "copy"):
            if name == "copy":
                return value
            return numpy_calls.as_python(value)
        if name == "astype":
            return numpy_calls.scalar(body, given[0], value)
        if name == "is_integer":
            return Num(BOOL, f"(floor({value.c}) == {value.c})")
        return numpy_calls.method(body, body.array(value), name, given, keywords)
    given, keywords = bound(body, METHODS.get(name, "* | **"), given, keywords)
    if name in CHANGES:
        containers.changeable(body, value)
    if isinstance(value, Lst):
        return _of_list(body, value, name, given, keywords)
    if isinstance(value, Mapping):
        return _of_map(body, value, name, given)
    if (isinstance(value, Fixed) and isinstance(value.value, dict)) or isinstance(value, Rec):
        return _of_dict(body, value, name, given, keywords, tree)
    if isinstance(value, Fixed) and isinstance(value.value, np.ndarray):
        return numpy_calls.method(body, body.array(value), name, given, keywords)
    if isinstance(value, Fixed) and isinstance(value.value, list) and name in CHANGES:
        owner = (
            tree.func.value if tree is not None and isinstance(tree.func, ast.Attribute) else None
        )
        constant_name = body.program.constant_name(body, owner) if owner is not None else None
        if constant_name is not None:
            body.program.add_state(constant_name)
        raise body.refuse("this list is the same for all environments: copy it first")
    if isinstance(value, Txt):
        return texts.method(body, value, name, given)
    if isinstance(value, (Tup, Fixed)) and name in CHANGES:
        return _of_display(body, value, name, given, keywords, tree)
    known_texts = containers.known_texts(value)
    if name == "index" and known_texts is not None and isinstance(given[0], Txt):
        at = body.temporary("int64_t", texts.place(body, given[0], known_texts))
        body.check(f"{at} >= 0", "ValueError", "the item is not in the list")
        return Num(INT, at)
    if isinstance(value, (Tup, Fixed)) and name in ("index", "count"):
        made = containers.list_of(body, body.items(value) or ())
        return _of_list(body, made, name, given, keywords)
    if isinstance(value, (Tup, Fixed)) and name == "copy":
        return value
    if isinstance(value, Fixed) and not isinstance(value.value, (str, *HELD)):
        return known(body, getattr(value.value, name), given, keywords)
    raise body.refuse(
        f"{name}() of {value.type}, with values that change, is not translated: write a loop"
    )


CHANGES = (
    *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "appendleft"),
    *("popleft", "rotate", "add", "discard", "update", "popitem", "setdefault", "extendleft"),
)


def _of_display(
    body: Body,
    value: Value,
    name: str,
    given: list[Value],
    keywords: dict[str, Value],
    tree: ast.Call | None,
) -> Value:
    """A method that changes a list that was only written down so far: it is made now."""
    owner = tree.func.value if tree is not None and isinstance(tree.func, ast.Attribute) else None
    if not isinstance(owner, ast.Name):
        raise body.refuse(f"{name}() of {value.type} is not translated")
    if isinstance(value, ListDisplay):
        found = body.listed(owner.id)
    else:
        body.assign(owner.id, containers.list_of(body, body.items(value) or ()))
        found = body.look_up(owner.id)
    assert isinstance(found, Lst)
    return _of_list(body, found, name, given, keywords)


def _grown(body: Body, value: Lst, item: Value) -> Lst:
    """Tells the program that a list has items of another type; returns the list."""
    of = value.list_type
    wanted = storage.join_items(of.item, storage.item_type(item))
    if unbounded(wanted) == unbounded(of.item):
        return value
    if value.root is not None and value.root[0] == "attribute":
        body.program.widen_list(value.root[1], of, wanted)
    return containers.widened(body, value, Wider(value.c, wanted))


def _of_list(
    body: Body, value: Lst, name: str, given: list[Value], keywords: dict[str, Value]
) -> Value:
    of = value.list_type
    none = Fixed(None)
    if name in ("append", "add", "appendleft", "insert"):
        value = _grown(body, value, given[-1])
    if name == "append":
        containers.append(body, value, given[0])
        return none
    if name == "add":
        containers.add(body, value, given[0])
        return none
    if name == "appendleft":
        containers.insert(body, value, "0", given[0])
        return none
    if name == "insert":
        at = body.temporary(
            "int64_t", f"pp_python_bound({body.as_int(given[0])}, {value.c}->count)"
        )
        containers.insert(body, value, at, given[1])
        return none
    if name in ("extend", "update"):
        for other in given:
            other = body.plain(other)
            if of.is_set or name == "update":
                with body.any_order():
                    each_item(body, other, lambda item: containers.add(body, value, item))
            else:
                extend_with(body, _extended(body, value, other), other)
        return none
    if name in ("pop", "popleft"):
        body.check_order(value)
        empty = f"pop from an empty {_kind(of)}"
        if value.is_always_empty:
            raise Dead(empty)
        body.check(f"{value.c}->count > 0", "IndexError", empty)
        if name == "popleft":
            return containers.taken(body, value, "0")
        if given:
            return containers.taken(body, value, containers.place_in(body, value, given[0], "pop"))
        result = body.variable("t", of.item)
        body.items_moved(value)
        body.emit(f"{result} = {value.c}->v[--{value.c}->count];")
        body.item_taken(value, result)
        return storage.load(body, of.item, result)
    if name in ("clear", "sort", "reverse"):
        body.items_moved(value)
    if name == "clear":
        body.emit(f"{value.c}->count = 0;")
        return none
    if name in ("remove", "discard"):
        at = containers.find_item(body, value, body.plain(given[0]))
        if name == "remove":
            body.check(f"{at} >= 0", "KeyError" if of.is_set else "ValueError", "not in the list")
        with body.block(f"if ({at} >= 0) {{"):
            containers._shift_left(body, value, at)
        return none
    if name == "index":
        at = containers.find_item(body, value, body.plain(given[0]))
        body.check(f"{at} >= 0", "ValueError", "the item is not in the list")
        return Num(INT, at)
    if name == "count":
        count, index = body.c_variable("n", "int64_t"), body.c_variable("i", "int64_t")
        item = body.kept(given[0])
        body.emit(f"{count} = 0;")
        with body.block(f"for ({index} = 0; {index} < {value.c}->count; {index}++) {{"):
            each = storage.load(body, of.item, f"{value.c}->v[{index}]")
            same = operators.equal(body, each, item)
            body.emit(f"{count} += {'1' if same is True else '0' if same is False else same};")
        return Num(INT, count)
    if name == "copy":
        return containers.copied(body, value)
    if name == "sort":
        ordering.sort(body, value, keywords)
        return none
    if name == "reverse":
        i = body.c_variable("i", "int64_t")
        kept = body.variable("t", of.item)
        with body.block(f"for ({i} = 0; {i} < {value.c}->count / 2; {i}++) {{"):
            body.emit(f"{kept} = {value.c}->v[{i}];")
            body.emit(f"{value.c}->v[{i}] = {value.c}->v[{value.c}->count - 1 - {i}];")
            body.emit(f"{value.c}->v[{value.c}->count - 1 - {i}] = {kept};")
        return none
    if name == "rotate":
        raise body.refuse("rotate() is not translated")
    raise body.refuse(f"{name}() of {of} is not translated")


def _extended(body: Body, value: Lst, other: Value) -> Lst:
    """Returns the list after its type was widened for the items of another."""
    kinds: list[Value] = []
    with body.tried():
        each_item(body, other, kinds.append)
    for item in kinds[:1]:
        with body.buffer():
            wanted = storage.join_items(value.list_type.item, storage.item_type(item))
        if unbounded(wanted) != unbounded(value.list_type.item):
            return _grown(body, value, item)
    return value


def _kind(of: List) -> str:
    return "set" if of.is_set else "deque" if of.is_deque else "list"


def _of_map(body: Body, value: Mapping, name: str, given: list[Value]) -> Value:
    of = value.map_type
    if name in ("keys", "values", "items"):
        return Flat(name, (value,))
    if name in ("get", "pop"):
        if isinstance(of.key, Empty):
            return given[1] if len(given) > 1 else Fixed(None)
        at = containers.find_key(body, value, given[0])
        if name == "pop" and len(given) < 2:
            body.check(f"{at} >= 0", "KeyError", "the key is not in the dict")
            result = body.variable("t", of.item)
            body.emit(f"{result} = {value.c}->v[{at}];")
            containers.remove_key(body, value, at)
            body.item_taken(value, result)
            return storage.load(body, of.item, result)
        default = given[1] if len(given) > 1 else Fixed(None)
        chosen = Choice(body)
        chosen.branch(
            f"({at} >= 0)",
            lambda: storage.load(body, of.item, f"{value.c}->v[{at}]", value.root),
            lambda: default,
        )
        if name == "pop":
            with body.block(f"if ({at} >= 0) {{"):
                containers.remove_key(body, value, at)
        return chosen.value()
    if name == "clear":
        body.items_moved(value)
        body.emit(f"{value.c}->count = 0;")
        return Fixed(None)
    if name == "copy":
        return containers.copied_map(body, value)
    if name == "update" and len(given) == 1:
        containers.update(body, value, body.plain(given[0]))
        return Fixed(None)
    raise body.refuse(f"{name}() of a dict is not translated")


def _of_dict(
    body: Body,
    value: Value,
    name: str,
    given: list[Value],
    keywords: dict[str, Value],
    tree: ast.Call | None,
) -> Value:
    held = body.record(value)
    assert held is not None
    if name in ("keys", "values", "items"):
        return Flat(name, (value,))
    if name == "get":
        default = given[1] if len(given) > 1 else Fixed(None)
        if isinstance(given[0], Fixed):
            for key, item in zip(held.keys, held.items, strict=True):
                if key == given[0].value:
                    return item
            return default
        return body.by_key(held.keys, held.items, body.plain(given[0]), default)
    if name == "copy":
        return Rec(held.keys, tuple(body.kept(each) for each in held.items))
    if name == "update":
        other = body.record(body.plain(given[0])) if given else Rec((), ())
        if other is None:
            raise body.refuse("update() with this is not translated")
        owner = (
            tree.func.value if tree is not None and isinstance(tree.func, ast.Attribute) else None
        )
        assert owner is not None
        entries = {**dict(zip(other.keys, other.items, strict=True)), **keywords}
        for key, item in entries.items():
            now = body.plain(body.value(owner))
            assert isinstance(now, Rec)
            body.set_key(owner, now, key, item)
        return Fixed(None)
    raise body.refuse(f"{name}() of a dict is not translated")
