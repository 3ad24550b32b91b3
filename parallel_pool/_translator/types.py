"""Types: what a value of a translated program is, and how C stores it."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Type:
    """A type. Two that are equal are stored in the same way."""


@dataclass(frozen=True)
class Number(Type):
    """A number.

    Attributes:
        kind: "b" (bool), "i", "u" or "f", as NumPy's.
        bits: 8, 16, 32 or 64.
        is_numpy: whether it computes as NumPy's scalars do, and not as Python's numbers.
        is_mixed: it may be NumPy's or Python's: what both compute alike is translated.
        may_be_int: of a float: it may be an int, too, and again what both compute alike is
            translated. An int has no -0, for example.
    """

    kind: str
    bits: int
    is_numpy: bool = False
    is_mixed: bool = False
    may_be_int: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.bool_) if self.kind == "b" else np.dtype(f"{self.kind}{self.bits // 8}")

    @property
    def c(self) -> str:
        if self.kind == "b":
            return "bool"
        if self.kind == "f":
            return "double" if self.bits == 64 else "float"
        return f"{'u' if self.kind == 'u' else ''}int{self.bits}_t"

    @property
    def python(self) -> str:
        """The name of Python's type."""
        return {"b": "bool", "i": "int", "u": "int", "f": "float"}[self.kind]

    def variants(self) -> list[Number]:
        """Returns the types, one of which it has."""
        kinds = [(self.kind, self.bits), *([("i", 64)] if self.may_be_int else [])]
        ways = (False, True) if self.is_mixed else (self.is_numpy,)
        return [Number(kind, bits, is_numpy) for kind, bits in kinds for is_numpy in ways]

    def __str__(self) -> str:
        if self.may_be_int:
            return " or ".join(map(str, reversed(self.variants())))
        if self.is_numpy:
            return f"np.{self.dtype.name}"
        if self.is_mixed:
            return f"np.{self.dtype.name} or a Python {self.python}"
        return {"b": "a bool", "i": "an int", "f": "a float"}[self.kind]


BOOL, INT, FLOAT = Number("b", 8), Number("i", 64), Number("f", 64)
NP_BOOL, NP_INT, NP_FLOAT = (Number(t.kind, t.bits, True) for t in (BOOL, INT, FLOAT))
NP_FLOAT32 = Number("f", 32, True)


def of_dtype(dtype: Any) -> Number | None:
    """Returns the type of a NumPy scalar; None for a dtype that is not translated."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or dtype == np.float16:
        return None
    return Number(dtype.kind, 8 * dtype.itemsize, True)


@dataclass(frozen=True)
class Array(Type):
    """A NumPy array of known shape, in C order."""

    item: Number
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def __str__(self) -> str:
        return f"an array of {self.item.dtype.name} {self.shape}"


@dataclass(frozen=True)
class DynamicArray(Type):
    """An array whose shape is known at run time, in the memory of a call."""

    item: Number
    ndim: int

    def __str__(self) -> str:
        return f"an array of {self.item.dtype.name} with {self.ndim} axes"


@dataclass(frozen=True)
class TableArray(DynamicArray):
    """An array in a table, the same for all environments; shape: None if others there differ."""

    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class Tuple(Type):
    """A tuple; cls: of a named tuple."""

    items: tuple[Type, ...]
    cls: type | None = None

    def __str__(self) -> str:
        return f"a tuple ({', '.join(map(str, self.items))})"


@dataclass(frozen=True)
class Record(Type):
    """A dictionary whose keys are known; or an object of the user's class, with its attributes."""

    keys: tuple[Any, ...]
    items: tuple[Type, ...]
    cls: type | None = None

    def __str__(self) -> str:
        return f"a dict with the keys {', '.join(map(repr, self.keys))}"


@dataclass(frozen=True)
class TableRecord(Record):
    """A dict in a table, the same for all environments."""


@dataclass(frozen=True)
class List(Type):
    """A list, deque or set, or a tuple whose length is known when the program runs.

    Attributes:
        capacity: items that it can hold in an environment's state; 0: in the memory of a call,
            which grows.
        most: the maxlen of a deque; 0: none.
        is_constant: it is written in the program, the same for all environments.
    """

    item: Type
    capacity: int = 0
    most: int = 0
    is_deque: bool = False
    is_set: bool = False
    is_tuple: bool = False
    is_constant: bool = False

    @property
    def kind(self) -> str:
        if self.is_set:
            return "set"
        return "deque" if self.is_deque else "tuple" if self.is_tuple else "list"

    def holding(self, item: Type, capacity: int = 0) -> List:
        """Returns such a list of other items."""
        return replace(self, item=item, capacity=capacity, is_constant=False)

    def __str__(self) -> str:
        return f"a {self.kind} of {plural(self.item)}"


class Known:
    """Compares objects by identity, so that any object can be part of a type."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Known):
            return NotImplemented
        if self.value is other.value:
            return True
        simple = (int, float, str, bool, tuple, frozenset, bytes)
        return (
            isinstance(self.value, simple)
            and type(self.value) is type(other.value)
            and repr(self.value) == repr(other.value)
        )

    def __hash__(self) -> int:
        return hash(type(self.value).__name__)


@dataclass(frozen=True)
class Map(Type):
    """A dictionary whose keys come and go, or are too many to be known one by one.

    Attributes:
        capacity: as of a list.
        is_constant: it is written in the program, the same for all environments.
        is_dense: its keys are 0, 1, 2, ...
        missing: what a defaultdict has for a key that is not there: a number, a text, or the class
            of an empty list or set; of a Counter its class. None: it raises KeyError.
    """

    key: Type
    item: Type
    capacity: int = 0
    is_constant: bool = False
    is_dense: bool = False
    missing: Known | None = None

    @property
    def kind(self) -> str:
        if self.missing is None:
            return "dict"
        return "Counter" if self.is_counter else "defaultdict"

    @property
    def is_counter(self) -> bool:
        return self.missing is not None and self.missing.value is Counter

    @property
    def is_filled(self) -> bool:
        """Whether reading a key puts it there."""
        return self.missing is not None and not self.is_counter

    def holding(self, key: Type, item: Type, capacity: int = 0) -> Map:
        """Returns such a dict of other keys and items."""
        return Map(key, item, capacity, missing=self.missing)

    def __str__(self) -> str:
        return f"a {self.kind} of {plural(self.key)} to {plural(self.item)}"


@dataclass(frozen=True)
class Empty(Type):
    """The items of a list that is empty so far."""

    def __str__(self) -> str:
        return "nothing"


@dataclass(frozen=True)
class Optional(Type):
    """A value or None."""

    item: Type

    def __str__(self) -> str:
        return f"{self.item} or None"


@dataclass(frozen=True)
class Entry(Optional):
    """An item of an OpenDict, which may be missing."""


class OpenDict:
    """The class of a dict whose keys depend on the way, or that was written empty.

    It is a record whose items may be missing. It is only written, and read where it is an info.
    """


@dataclass(frozen=True)
class Union(Type):
    """A value of one of several types: numbers that compute differently, or arrays."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.items))


@dataclass(frozen=True)
class Given(Type):
    """The options of a reset: a dict with numbers, or None; see `reset_options`."""

    def __str__(self) -> str:
        return "the options of reset()"


@dataclass(frozen=True)
class Text(Type):
    """One of the strings of the program."""

    def __str__(self) -> str:
        return "a str"


@dataclass(frozen=True)
class Member(Type):
    """A member of an enum, by its place."""

    cls: type[enum.Enum]

    def __str__(self) -> str:
        return f"a member of {self.cls.__name__}"


@dataclass(frozen=True)
class Constant(Type):
    """One object that is known before the program runs, and takes no memory."""

    known: Known

    @property
    def value(self) -> Any:
        return self.known.value

    def __str__(self) -> str:
        return "None" if self.value is None else repr(self.value)[:60]


@dataclass(frozen=True)
class Draws(Type):
    """The environment's generator, which takes no memory."""

    def __str__(self) -> str:
        return "a generator"


NONE = Constant(Known(None))


def constant(value: Any) -> Constant:
    return Constant(Known(value))


def holds(of: Type, kind: type[Type]) -> bool:
    """Returns whether a type, or a part of it, is of a kind."""
    if isinstance(of, (Tuple, Record, Union)):
        parts: tuple[Type, ...] = of.items
    elif isinstance(of, Map):
        parts = (of.key, of.item)
    else:
        parts = (of.item,) if isinstance(of, (List, Optional)) else ()
    return isinstance(of, kind) or any(holds(each, kind) for each in parts)


def is_filled(of: Type) -> bool:
    """Returns whether a type, or a part of it, is that of a defaultdict."""
    if isinstance(of, (Tuple, Record, Union)):
        return any(map(is_filled, of.items))
    if isinstance(of, Map):
        return of.is_filled or is_filled(of.item)
    return isinstance(of, (List, Optional)) and is_filled(of.item)


def plural(item: Type) -> str:
    """Returns a type as the items of a list."""
    text = str(item)
    for article in ("a ", "an "):
        if text.startswith(article):
            head, _, rest = text[len(article) :].partition(" ")
            return f"{head}s {rest}".rstrip()
    return text


def constantly(of: Type) -> Type:
    """Returns the type of a value that is written in the program."""
    if isinstance(of, List):
        return replace(of.holding(constantly(of.item)), is_constant=True)
    if isinstance(of, Map):
        return Map(of.key, constantly(of.item), 0, True, of.is_dense)
    if isinstance(of, Tuple):
        return Tuple(tuple(map(constantly, of.items)), of.cls)
    if isinstance(of, Record):
        return replace(of, items=tuple(map(constantly, of.items)))
    if isinstance(of, Optional):
        return Optional(constantly(of.item))
    return of


def united(one: Type, other: Type) -> Type:
    """Returns the type of what may be either, of which neither computes as the other does."""
    items: list[Type] = []
    for of in (one, other):
        items += of.items if isinstance(of, Union) else (of,)
    kept = [item for item in dict.fromkeys(items) if not any(_is_covered(item, of) for of in items)]
    return kept[0] if len(kept) == 1 else Union(tuple(sorted(kept, key=repr)))


def _is_covered(item: Type, of: Type) -> bool:
    """Returns whether a number needs no place beside another, which may be it, too."""
    if not isinstance(item, Number) or not isinstance(of, Number) or item == of:
        return False
    return set(item.variants()) <= set(of.variants())


def number_of(value: Any) -> Number | None:
    """Returns the type of a number of Python or NumPy; None if the value is none."""
    if isinstance(value, np.generic):
        return of_dtype(value.dtype)
    if isinstance(value, enum.Enum):
        return None
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT
    if isinstance(value, float):
        return FLOAT
    return None


def unbounded(of: Type) -> Type:
    """Returns a type without capacities."""
    if isinstance(of, List):
        return of.holding(unbounded(of.item))
    if isinstance(of, Map):
        return of.holding(unbounded(of.key), unbounded(of.item))
    if isinstance(of, Tuple):
        return Tuple(tuple(map(unbounded, of.items)), of.cls)
    if isinstance(of, Record):
        return replace(of, items=tuple(map(unbounded, of.items)))
    if isinstance(of, Optional):
        return replace(of, item=unbounded(of.item))
    return of
