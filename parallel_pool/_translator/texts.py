"""Texts: what is computed of the texts of the program, which are known: by tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator.types import BOOL, INT
from parallel_pool._translator.values import Fixed, Num, Txt, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

# ints whose texts are parts of the program
MAX_TEXT_INT = 99
# methods by what they return; others could make texts without end
TRUTHS = ("startswith", "endswith", "isupper", "islower", "isdigit", "isalpha", "isspace")
NUMBERS = ("find", "rfind", "count")
TEXTS = (
    *("lower", "upper", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix"),
    *("capitalize", "title", "swapcase"),
)
PARTS = ("split", "rsplit", "partition", "rpartition")


@dataclass
class Parts(Value):
    """The parts of a text, as split() returns them.

    Attributes:
        c: the C expression of the text.
        function: returns the parts of a text.
    """

    c: str
    function: Callable[[str], Sequence[str]]


def method(body: Body, value: Txt, name: str, given: Sequence[Value]) -> Value:
    """Returns what a method of a text returns."""
    program = body.program
    if not all(isinstance(each, Fixed) for each in given):
        raise body.refuse(f"{name}() of a text with values that change is not translated")
    arguments = [each.value for each in given]  # type: ignore[attr-defined]

    def call(text: str) -> Any:
        return getattr(text, name)(*arguments)

    if name in TRUTHS:
        return Num(BOOL, f"({program.texts.table(value.c, lambda text: int(call(text)))} != 0)")
    if name in NUMBERS:
        return Num(INT, f"(int64_t){program.texts.table(value.c, call)}")
    if name in TEXTS:
        return _text(body, value.c, call)
    if name in PARTS:
        return Parts(value.c, call)
    raise body.refuse(f"{name}() of a text is not translated")


def _text(body: Body, c: str, function: Callable[[str], str]) -> Txt:
    program = body.program
    table = program.texts.table(c, lambda text: program.texts.number(function(text)))
    return Txt(body.temporary("int32_t", table))


def number(body: Body, value: Txt) -> Num:
    """Returns int(text); raises ValueError in the program if it is none."""
    is_one = body.program.texts.table(value.c, lambda text: int(_as_int(text) is not None))
    body.check(is_one, "ValueError", "int() of a text that is no number of 32 bits")
    table = body.program.texts.table(value.c, lambda text: _as_int(text) or 0)
    return body.number(INT, table)


def _as_int(text: str) -> int | None:
    try:
        found = int(text)
    except ValueError:
        return None
    return found if abs(found) < 2**31 else None


def of_int(body: Body, c: str, before: str = "", behind: str = "") -> Txt:
    """Returns the text of a small int between others: the texts of other ints are not known."""
    program = body.program
    numbers = [program.texts.number(f"{before}{i}{behind}") for i in range(MAX_TEXT_INT + 1)]
    table = program.tables.array(np.array(numbers, np.int32))
    at = body.temporary("int64_t", c)
    body.check(
        f"{at} >= 0 && {at} <= {MAX_TEXT_INT}",
        "NotImplementedError",
        f"str() of the int %lld: the texts of ints from 0 to {MAX_TEXT_INT} are translated",
        f"(long long){at}",
    )
    return Txt(body.temporary("int32_t", table.at([at])))


def part(body: Body, value: Parts, key: Value) -> Txt:
    """Returns a part; raises IndexError in the program if there is none."""
    if not isinstance(key, Fixed) or not isinstance(key.value, int):
        raise body.refuse("a part of a text by an index that changes is not translated")
    at = int(key.value)

    def has(text: str) -> int:
        count = len(value.function(text))
        return int(-count <= at < count)

    body.check(body.program.texts.table(value.c, has), "IndexError", "list index out of range")
    return _text(body, value.c, lambda text: value.function(text)[at] if has(text) else "")


def unpacked(body: Body, value: Parts, count: int) -> tuple[Value, ...]:
    """Returns the parts that are assigned to several names."""
    table = body.program.texts.table(value.c, lambda text: len(value.function(text)))
    body.check(f"{table} == {count}", "ValueError", f"{count} values were expected")
    return tuple(part(body, value, Fixed(i)) for i in range(count))


def piece(body: Body, value: Txt, bounds: slice) -> Txt:
    """Returns text[start:stop:step]."""
    parts = (bounds.start, bounds.stop, bounds.step)
    if not all(each is None or isinstance(each, Fixed) for each in parts):
        raise body.refuse("a slice of a text with values that change is not translated")
    known = slice(*(None if each is None else each.value for each in parts))
    return _text(body, value.c, lambda text: text[known])


def has(body: Body, value: Txt, item: str) -> str:
    """Returns the C condition under which a text contains another."""
    return f"({body.program.texts.table(value.c, lambda text: int(item in text))} != 0)"


def is_text(value: Value) -> bool:
    return isinstance(value, Txt) or (isinstance(value, Fixed) and isinstance(value.value, str))


def rank(body: Body, value: Value) -> str:
    """Returns the C expression of a text's place among all texts, in Python's order."""
    program = body.program
    return program.texts.table(program.texts.c(value), lambda text: program.texts.rank(text))


def place(body: Body, value: Txt, among: Sequence[str]) -> str:
    """Returns the C expression of the place of a text among known ones; -1: it is none of them."""
    places = {text: at for at, text in reversed(list(enumerate(among)))}
    return body.program.texts.table(value.c, lambda text: places.get(text, -1))
