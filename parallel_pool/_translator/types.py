"""Types: what a value of a translated program is, and how C stores it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
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
    """

    kind: str
    bits: int
    is_numpy: bool = False

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

    def __str__(self) -> str:
        if self.is_numpy:
            return f"np.{self.dtype.name}"
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
class List(Type):
    """A list or deque.

    Attributes:
        capacity: items that it can hold in an environment's state; 0: in the memory of a call,
            which grows.
        most: the maxlen of a deque; 0: none.
    """

    item: Type
    capacity: int = 0
    most: int = 0
    is_deque: bool = False
    is_set: bool = False

    def __str__(self) -> str:
        kind = "a set" if self.is_set else "a deque" if self.is_deque else "a list"
        return f"{kind} of {plural(self.item)}"


@dataclass(frozen=True)
class Map(Type):
    """A dictionary whose keys come and go."""

    key: Type
    item: Type
    capacity: int = 0

    def __str__(self) -> str:
        return f"a dict of {plural(self.key)} to {plural(self.item)}"


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
class Constant(Type):
    """One object that is known before the program runs, and takes no memory."""

    known: Known

    @property
    def value(self) -> Any:
        return self.known.value

    def __str__(self) -> str:
        return "None" if self.value is None else repr(self.value)[:60]


NONE = Constant(Known(None))


def constant(value: Any) -> Constant:
    return Constant(Known(value))


def plural(item: Type) -> str:
    """Returns a type as the items of a list."""
    text = str(item)
    for article in ("a ", "an "):
        if text.startswith(article):
            head, _, rest = text[len(article) :].partition(" ")
            return f"{head}s {rest}".rstrip()
    return text


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
        return List(unbounded(of.item), 0, of.most, of.is_deque, of.is_set)
    if isinstance(of, Map):
        return Map(unbounded(of.key), unbounded(of.item))
    if isinstance(of, Tuple):
        return Tuple(tuple(map(unbounded, of.items)), of.cls)
    if isinstance(of, Record):
        return Record(of.keys, tuple(map(unbounded, of.items)), of.cls)
    if isinstance(of, Optional):
        return Optional(unbounded(of.item))
    return of
