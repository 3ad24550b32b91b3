"""Values: what an expression is while it is translated."""

from __future__ import annotations

import ast
import enum
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parallel_pool._translator.reader import Function
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import (
    BOOL,
    INT,
    Array,
    Constant,
    Draws,
    DynamicArray,
    Empty,
    Given,
    List,
    Map,
    Member,
    Number,
    Optional,
    Record,
    Text,
    Tuple,
    Type,
    Union,
    constant,
    number_of,
    of_dtype,
)

EVERYWHERE = "*"
NOWHERE: frozenset[str] = frozenset()
UNKNOWN: tuple[int, ...] = (-1,)

# an axis: its length, or a C expression of an int64_t without side effects
Dim = int | str


@dataclass
class Value:
    """A value; C expressions in it have no side effects."""

    @property
    def type(self) -> Type:
        """What it is when it is kept.

        Raises:
            Refusal: it can't be kept.
        """
        raise Refusal(f"a {type(self).__name__.lower()} can't be kept here, or computed with")


@dataclass
class Fixed(Value):
    """An object that is known before the program runs."""

    value: Any

    @property
    def type(self) -> Type:
        found = number_of(self.value)
        if found is not None:
            return found
        if isinstance(self.value, np.ndarray) and (item := of_dtype(self.value.dtype)):
            return Array(item, self.value.shape)
        return constant(self.value)


@dataclass
class Num(Value):
    """A number.

    Attributes:
        attribute: the name of the read-only attribute that it was read from; "" for others. Where
            a length must be known, its value in the template is used, and the program holds for
            that value only.
        option: the name of the reset option that it was read from; "" for others.
    """

    number: Number
    c: str
    attribute: str = ""
    option: str = ""

    @property
    def type(self) -> Type:
        return self.number


@dataclass
class Arr(Value):
    """An array, in memory or computed when it is read.

    Attributes:
        dims: its axes.
        at: returns the C expression of an element, given its indices; an lvalue if `pointer` or
            `is_place` says so.
        pointer: of the first element, if the array is contiguous in memory; otherwise "".
        is_place: elements can be written.
        root: what holds the memory: ("attribute", name), ("variable", name) or None.
        is_foreign: a method has returned a part of an attribute: it must not be changed.
        is_read_only: holds for all environments.
        bases: the memories that elements are read from; EVERYWHERE in it: any.
        shared: the attributes of which it is a copy here, and a part in Python.
        order: its axes in the order of NumPy's memory, in which NumPy adds; (): as they are;
            UNKNOWN.
        is_part: NumPy's array is a part of another one, whose elements are not side by side.
        is_view: its elements lie in memory as in NumPy's array, some steps apart.
    """

    item: Number
    dims: tuple[Dim, ...]
    at: Callable[[Sequence[str]], str]
    pointer: str = ""
    is_place: bool = False
    root: tuple[str, str] | None = None
    is_foreign: bool = False
    is_read_only: bool = False
    key: str = ""
    bases: frozenset[str] = frozenset({EVERYWHERE})
    shared: frozenset[tuple[str, str]] = frozenset()
    order: tuple[int, ...] = ()
    is_view: bool = False
    is_part: bool = False

    @property
    def has_steps(self) -> bool:
        """Whether the steps from element to element are those of NumPy's array."""
        return self.is_view and not (self.pointer and self.order)

    @property
    def type(self) -> Type:
        if all(isinstance(dim, int) for dim in self.dims):
            return Array(self.item, tuple(self.dims))  # type: ignore[arg-type]
        return DynamicArray(self.item, len(self.dims))


@dataclass
class Tup(Value):
    items: tuple[Value, ...]
    cls: type | None = None

    @property
    def type(self) -> Tuple:
        return Tuple(tuple(item.type for item in self.items), self.cls)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(getattr(self.cls, "_fields", ()))


@dataclass
class Rec(Value):
    """A dictionary with known keys. place: the C lvalue that holds it, "" for none."""

    keys: tuple[Any, ...]
    items: tuple[Value, ...]
    place: str = ""
    stored: Record | None = None
    root: tuple[str, str] | None = None
    cls: type | None = None

    @property
    def type(self) -> Record:
        if self.stored is not None:
            return self.stored
        return Record(self.keys, tuple(kept_type(item.type) for item in self.items), self.cls)


@dataclass
class Lst(Value):
    """A list, deque or set in memory.

    Attributes:
        c: a pointer to its struct.
        root: what holds the memory, as of an array.
        is_changed: it may change while it is looped over.
    """

    list_type: List
    c: str
    root: tuple[str, str] | None = None
    is_changed: bool = False

    @property
    def type(self) -> Type:
        return self.list_type

    @property
    def is_always_empty(self) -> bool:
        return isinstance(self.list_type.item, Empty)


@dataclass
class Mapping(Value):
    """A dictionary in memory; the attributes are those of a list."""

    map_type: Map
    c: str
    root: tuple[str, str] | None = None
    is_changed: bool = False

    @property
    def type(self) -> Type:
        return self.map_type

    @property
    def is_always_empty(self) -> bool:
        return isinstance(self.map_type.key, Empty)


@dataclass
class Opt(Value):
    """A value or None.

    Attributes:
        place: the C lvalue that holds it.
        root: what holds the memory, as of an array.
        pointer: a C pointer to it, NULL for None, instead of a place.
        target: what the pointer refers to.
        option: as of a number.
    """

    optional: Optional
    place: str
    root: tuple[str, str] | None = None
    pointer: str = ""
    target: Value | None = None
    option: str = ""

    @property
    def some(self) -> str:
        """The C condition under which it is not None."""
        return f"({self.pointer} != NULL)" if self.pointer else f"{self.place}.some"

    @property
    def type(self) -> Type:
        return self.optional


@dataclass
class Uni(Value):
    """A value of one of several types; place: the C lvalue that holds it.

    Attributes:
        root: what holds the memory, as of an array.
        is_foreign: it must not be changed, as an array.
    """

    union: Union
    place: str
    root: tuple[str, str] | None = None
    is_foreign: bool = False

    @property
    def type(self) -> Type:
        return self.union

    @property
    def is_number(self) -> bool:
        return all(isinstance(each, Number) for each in self.union.items)


@dataclass
class Options(Value):
    """The options of a reset, or None.

    Attributes:
        c: a pointer to their values, null for None.
        known: the names of some that are there, on the way to here.
    """

    c: str
    known: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def type(self) -> Type:
        return Given()


@dataclass
class Txt(Value):
    c: str

    @property
    def type(self) -> Type:
        return Text()


@dataclass
class Mem(Value):
    member: Member
    c: str

    @property
    def type(self) -> Type:
        return self.member


@dataclass
class Span(Value):
    """range(start, stop, step)."""

    start: Value
    stop: Value
    step: int


@dataclass
class Self(Value):
    """The environment; after: the class whose bases super() looks at."""

    after: type | None = None


@dataclass
class Bound(Value):
    """A method of the environment, or a function of the user's."""

    function: Function
    has_self: bool


@dataclass
class SeedArgument(Value):
    """The seed that reset() gets, or None."""

    @property
    def type(self) -> Type:
        raise Refusal(
            "the seed of reset() seeds self.np_random, and nothing else depends on it: draw numbers"
            " from self.np_random"
        )


@dataclass
class Lambda(Value):
    """A lambda, which runs where it is called.

    Attributes:
        tree: its syntax tree, with names that nothing else has.
        owner: the translation of the function in which it is written.
    """

    tree: ast.Lambda
    owner: Any


@dataclass
class Functions(Value):
    """One of several functions; at: the C expression of its place; first: that of the first."""

    items: tuple[Value, ...]
    at: str
    first: int = 0


@dataclass
class Method(Value):
    """A method of a value."""

    receiver: Value
    name: str


@dataclass
class Rng(Value):
    """The engine's generator; name: the attribute that holds it, "" for what reset() has made."""

    name: str = ""

    @property
    def type(self) -> Type:
        return Draws()


@dataclass
class Generator(Value):
    """A generator expression or comprehension, and the names where it was written."""

    tree: ast.GeneratorExp | ast.ListComp | ast.SetComp
    names: dict[str, Value] = field(default_factory=dict)


@dataclass
class Flat(Value):
    """enumerate, zip, reversed, dict.items() ...: something to loop over.

    Attributes:
        names: of the parts, if it has a name itself: parts may be assigned anew.
        is_changed: parts change while they are looped over.
        reads: what a generator of the user's reads, which is done now and not item by item.
    """

    kind: str
    parts: tuple[Value, ...]
    start: int = 0
    names: tuple[str, ...] = ()
    is_changed: bool = False
    reads: frozenset[tuple[str, str]] = frozenset()


# what can be looped over once
ITERATORS = ("enumerate", "zip", "reversed", "map", "iter")


def is_iterator(value: Value) -> bool:
    """Returns whether a value is used up when it has been looped over."""
    return isinstance(value, Generator) or (isinstance(value, Flat) and value.kind in ITERATORS)


def kept_type(of: Type) -> Type:
    """Returns the type in which a value of a type is kept among others."""
    if isinstance(of, Constant):
        if isinstance(of.value, str):
            return Text()
        if isinstance(of.value, enum.Enum):
            return Member(type(of.value))
    return of


def literal(value: Any, number: Number) -> str:
    """Returns a number in C."""
    if number.kind == "b":
        return "true" if value else "false"
    if number.kind in "iu":
        value = int(value)
        if number.kind == "i" and not -(2**63) <= value < 2**63:
            raise Refusal(f"the int {value} does not fit into 64 bits")
        if value == -(2**63):
            return "INT64_MIN"
        suffix = "u" if number.kind == "u" else ""
        return f"{value}{suffix}" if abs(value) < 2**31 else f"INT64_C({value})"
    value = float(value)
    if math.isnan(value):
        return "(double)NAN" if number.bits == 64 else "NAN"
    if math.isinf(value):
        text = "INFINITY" if value > 0 else "-INFINITY"
        return f"(double){text}" if number.bits == 64 else text
    suffix = "f" if number.bits == 32 else ""
    text = repr(value)
    return f"({text}{suffix})" if text.startswith("-") else f"{text}{suffix}"


def as_number(value: Value) -> Num | None:
    """Returns a value as a number in C; None if it is none."""
    if isinstance(value, Num):
        return value
    if isinstance(value, Fixed):
        found = number_of(value.value)
        if found is not None:
            return Num(found, literal(value.value, found))
        if isinstance(value.value, enum.IntEnum):
            return Num(INT, literal(int(value.value), INT))
    if isinstance(value, Mem) and issubclass(value.member.cls, int):
        table = [int(each) for each in value.member.cls]
        if table == list(range(len(table))):
            return Num(INT, f"(int64_t){value.c}")
        text = ", ".join(map(str, table))
        return Num(INT, f"((const int64_t[]){{{text}}})[{value.c}]")
    return None


def is_number(value: Any) -> bool:
    """Returns whether a value is a number that changes, of one type or of several."""
    return isinstance(value, Num) or (isinstance(value, Uni) and value.is_number)


def is_function(value: Value) -> bool:
    """Returns whether a value is a function or method of the user's."""
    return isinstance(value, Bound) or (
        isinstance(value, Fixed) and inspect.isfunction(value.value)
    )


def is_known_number(value: Value) -> bool:
    return isinstance(value, Fixed) and number_of(value.value) is not None


def cast(c: str, to: Number, of: Number) -> str:
    """Returns the C expression of a number in another type."""
    if to.c == of.c:
        return c
    if to.kind == "b":
        return f"({c} != 0)"
    if of.kind == "f" and to.kind in "iu":
        if to.bits == 64:
            return f"pp_numpy_to_{'int' if to.kind == 'i' else 'uint64'}({c})"
        # as the instructions do that NumPy's casts become on x86-64
        wide = "int" if to.kind == "u" and to.bits == 32 else "int32"
        return f"({to.c})pp_numpy_to_{wide}({c})"
    return f"({to.c}){wrapped(c)}"


def wrapped(c: str) -> str:
    """Returns an expression in parentheses, unless it needs none."""
    return (
        c
        if c.replace("_", "").replace(".", "").isalnum()
        or (c.startswith("(") and (c.endswith(")") and _is_one(c)))
        else f"({c})"
    )


def _is_one(c: str) -> bool:
    depth = 0
    for place, letter in enumerate(c):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and place < len(c) - 1:
            return False
    return True


def promoted(one: Number, other: Number, one_known: Any = None, other_known: Any = None) -> Number:
    """Returns the type of arithmetic of two numbers, as NumPy 2 promotes."""
    if one.is_mixed or other.is_mixed or one.may_be_int or other.may_be_int:
        return _promoted_variants(one, other)
    if not one.is_numpy and not other.is_numpy:
        kind = next(each for each in "fib" if each in (one.kind, other.kind))
        return Number(kind, BOOL.bits if kind == "b" else INT.bits)
    if one.is_numpy and other.is_numpy:
        found = np.result_type(one.dtype, other.dtype)
    else:
        array, python = (one, other) if one.is_numpy else (other, one)
        weak: Any = {"b": np.dtype(np.bool_), "i": 0, "f": 0.0}[python.kind]
        if python.kind == "b":
            found = np.result_type(array.dtype, weak)
        elif python.kind == "i":
            found = array.dtype if array.kind in "iuf" else np.dtype(np.int64)
        else:
            found = array.dtype if array.kind == "f" else np.dtype(np.float64)
    return Number(found.kind, 8 * found.itemsize, True)


def _promoted_variants(one: Number, other: Number) -> Number:
    """Returns the type of arithmetic of numbers, one of which may be of several types."""
    found: Number | None = None
    for a in one.variants():
        for b in other.variants():
            way = promoted(a, b)
            found = way if found is None else joined_numbers(found, way)
            if found is None or (found.c != "double" and found.kind == "f"):
                mixed, plain = (one, other) if len(one.variants()) > 1 else (other, one)
                raise Refusal(
                    f"a value is {mixed}, and {plain} computes differently with each: convert it by"
                    f" {mixed.python}()"
                )
    assert found is not None
    return found


def joined_numbers(one: Number, other: Number) -> Number | None:
    """Returns the type of a variable that has been both; None if they compute differently."""
    if one == other:
        return one
    kinds = {one.kind, other.kind}
    plain = all(each.bits == 64 or each.kind == "b" for each in (one, other))
    is_numpy = one.is_numpy and other.is_numpy
    is_mixed = not is_numpy and any(each.is_numpy or each.is_mixed for each in (one, other))
    may_be_int = one.may_be_int or other.may_be_int
    if one.kind == other.kind and one.bits == other.bits:
        return Number(one.kind, one.bits, is_numpy, is_mixed, may_be_int)
    if plain and kinds == {"i", "f"}:
        return Number("f", 64, is_numpy, is_mixed, True)
    if plain and kinds == {"b", "i"}:
        return Number("i", 64, False, is_numpy or is_mixed)
    return None


FALSE, TRUE = Num(BOOL, "false"), Num(BOOL, "true")
