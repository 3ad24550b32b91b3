"""Calls of Python's own functions, and of those of copy and dataclasses."""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import enum
import sys
from collections import deque
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
    folding,
    loops,
    operators,
    ordering,
    seeding,
    storage,
    texts,
)
from parallel_pool._translator.arguments import Handler
from parallel_pool._translator.displays import EmptyDict, ListDisplay
from parallel_pool._translator.refusal import OVERFLOW
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
)
from parallel_pool._translator.values import (
    Arr,
    Fixed,
    Flat,
    Generator,
    Lst,
    Mapping,
    Mem,
    Num,
    Opt,
    Rec,
    Self,
    Span,
    Tup,
    Txt,
    Uni,
    Value,
    as_number,
    cast,
    is_iterator,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


Arguments = tuple[list[Value], dict[str, Value]]


def _range(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    given = [body.plain(each) for each in given]
    for each in given:
        body.as_int(each, "the bound of a range")
    known_step = given[2].value if len(given) == 3 and isinstance(given[2], Fixed) else 1
    if folding.all_fixed(given) and known_step and not range(*(int(each.value) for each in given)):  # type: ignore[attr-defined]
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
        return body.number(INT, body.program.texts.length(value.c))
    items = body.items(value)
    if items is not None:
        return Fixed(len(items))
    found = loops.source(body, value)
    if found is not None and isinstance(value, Span):
        body.check(f"{found[0]} < INT64_MAX", "OverflowError", OVERFLOW)
    if found is not None:
        return body.number(INT, found[0])
    raise body.refuse(f"len() of {value.type} is not translated")


def int_of(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    if not given:
        return Fixed(0)
    if isinstance(given[0], Fixed):
        return folding.known_result(body, int, given)
    if isinstance(given[0], Txt):
        return texts.number(body, given[0])
    number = body.as_num(given[0])
    if number.number.kind != "f":
        return Num(INT, cast(number.c, INT, number.number), number.attribute)
    return fitting.whole(body, number)


def float_of(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
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
    if folding.all_fixed(values):
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
                body.apply(mapped, list(item.items) if len(parts) > 1 else [item])  # type: ignore[attr-defined]
            ),
        )
        return
    if isinstance(value, Flat) and value.kind == "call":
        body.program.functions.inline_generator(body, value, function)
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
        return folding.known_result(body, round, [given[0], *([] if digits is None else [digits])])
    number = body.as_num(given[0])
    if number.number.kind != "f":
        return _round_int(body, number, digits)
    c = cast(number.c, FLOAT, number.number)
    if digits is None or (isinstance(digits, Fixed) and digits.value is None):
        return int_of(body, [Num(FLOAT, f"nearbyint({c})")], {})
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
            return Tup(tuple(body.kept(body.apply(value.parts[0], [each])) for each in items))
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
            return containers.copied_map(body, value, is_plain=True)
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
    if folding.all_fixed(given) and not keywords:
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
        return body.program.attributes.read(body, "__class__")
    if isinstance(given[0], Fixed):
        return Fixed(type(given[0].value))
    raise body.refuse("type() of what changes is not translated: use isinstance()")


def _print(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    return Fixed(None)


def member(body: Body, cls: type[enum.Enum], value: Value) -> Value:
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


def named_tuple(body: Body, cls: Any, given: list[Value], keywords: dict[str, Value]) -> Value:
    items = list(given)
    for name in cls._fields[len(given) :]:
        if name in keywords:
            items.append(keywords[name])
        else:
            items.append(Fixed(cls._field_defaults[name]))
    return Tup(tuple(body.kept(each) for each in items), cls)


def of_space(body: Body, space: Any, name: str, given: list[Value]) -> Value:
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


def _generator(name: str) -> Callable[..., Value]:
    return lambda body, given, keywords: seeding.made(body, name, given)


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


def fields_of(body: Body, value: Value) -> Rec:
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


def _refused(text: str) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
        raise body.refuse(text)

    return translate


def _ord(body: Body, given: list[Value], keywords: dict[str, Value]) -> Value:
    value = given[0]
    if isinstance(value, Fixed):
        return Fixed(ord(value.value))
    if isinstance(value, Txt):
        return body.number(INT, body.program.texts.table(value.c, lambda t: ord(t[0]) if t else 0))
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


# what they take, and what translates them
FUNCTIONS: dict[Any, tuple[str, Handler]] = {
    range: ("start stop? step?", _range),
    len: ("obj", _len),
    int: ("x?", int_of),
    float: ("x?", float_of),
    bool: ("x?", _bool),
    abs: ("x", _abs),
    max: ("* | key default", _extreme("max")),
    min: ("* | key default", _extreme("min")),
    sum: ("iterable start?", _sum),
    any: ("x", _any_or_all(True)),
    all: ("x", _any_or_all(False)),
    round: ("number ndigits?", _round),
    divmod: ("x y", _divmod),
    pow: ("base exp", _pow),
    tuple: ("iterable?", _tuple),
    list: ("iterable?", _list),
    deque: ("iterable? maxlen?", _deque),
    set: ("iterable?", _set),
    frozenset: ("iterable?", _set),
    dict: ("mapping? | **", _dict),
    dict.fromkeys: ("iterable value?", _fromkeys),
    enumerate: ("iterable start?", _flat("enumerate")),
    zip: ("* | strict", _flat("zip")),
    reversed: ("x", _flat("reversed")),
    iter: ("x", lambda body, given, keywords: _iter(body, given[0])),
    map: ("function iterable *", _map),
    sorted: ("iterable | key reverse", _sorted),
    isinstance: ("obj classes", _isinstance),
    type: ("x", _type),
    print: ("* | **", _print),
    ord: ("x", _ord),
    str: ("x", _str),
    next: ("iterator default?", _next),
    dataclasses.astuple: ("x", lambda body, given, keywords: Tup(fields_of(body, given[0]).items)),
    dataclasses.asdict: ("x", lambda body, given, keywords: fields_of(body, given[0])),
    getattr: ("object name default?", lambda body, given, keywords: _getattr(body, given)),
    hasattr: ("obj name", lambda body, given, keywords: _hasattr(body, given)),
    dataclasses.replace: ("obj | **", _replace),
    copy.copy: ("x", _copy),
    copy.deepcopy: ("x", _deep_copy),
    gymnasium.Env.reset: ("* | **", _super_reset),
    seeders.np_random: ("seed?", _generator("np_random")),
    np.random.default_rng: ("seed?", _generator("default_rng")),
    builtins.input: ("* | **", _refused("input() is not translated")),
}
