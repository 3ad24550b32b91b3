"""Layout: how an environment's state lies in memory, as JSON, and its values in Python.

A form describes a type of a translated program: a list that begins with its kind. A library carries
the forms of its state, so that any process that loads it can read states. `storage.Types` makes the
structs in C whose layout NumPy's aligned dtypes mirror here; the C file checks their sizes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parallel_pool._native import ffi
from parallel_pool._translator import missing
from parallel_pool._translator.types import (
    Array,
    Constant,
    Draws,
    Empty,
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
)

Form = list[Any]
# of every attribute in the memory that `expose` fills
ALIGNMENT = 8
RNG_SIZE = ffi.sizeof("pp_rng")
# constants that JSON holds as they are
PLAIN = (str, bool, int, float, type(None))


def form(of: Type, name: Callable[[type], str]) -> Form:
    """Returns the form of a type.

    Args:
        of: the type, as a state stores it.
        name: returns the text by which a class of the user's is found again.
    """
    if isinstance(of, Number):
        return ["number", of.dtype.str, of.is_numpy]
    if isinstance(of, Array):
        return ["array", of.item.dtype.str, list(of.shape)]
    if isinstance(of, Tuple):
        return ["fixed tuple", of.cls and name(of.cls), [form(each, name) for each in of.items]]
    if isinstance(of, Record) and all(isinstance(key, PLAIN) for key in of.keys):
        items = [form(each, name) for each in of.items]
        return ["record", of.cls and name(of.cls), list(of.keys), items]
    if isinstance(of, List):
        return [of.kind, of.capacity, of.most, form(of.item, name)]
    if isinstance(of, Map):
        return ["map", of.capacity, form(of.key, name), form(of.item, name), _missing(of)]
    if isinstance(of, Optional):
        return ["optional", form(of.item, name)]
    if isinstance(of, Union):
        return ["union", [form(each, name) for each in of.items]]
    if isinstance(of, Text):
        return ["text"]
    if isinstance(of, Member):
        return ["member", name(of.cls)]
    if isinstance(of, Constant) and isinstance(of.value, PLAIN):
        return ["constant", of.value]
    if isinstance(of, Draws):
        return ["generator"]
    if isinstance(of, Empty):
        return ["constant", None]
    return ["unknown", str(of)]


def _missing(of: Map) -> Mapping[str, Any] | None:
    return None if of.missing is None else missing.described(of.missing)


def unknown(of: Form) -> str:
    """Returns the first part of a form that can't be read, "" if all can."""
    if of[0] == "unknown":
        return str(of[1])
    parts = [each for each in of if isinstance(each, list)]
    if of[0] in ("fixed tuple", "record", "union"):
        parts = of[-1]
    elif of[0] in ("array", "constant"):
        parts = []
    return next(filter(None, map(unknown, parts)), "")


def dtype(of: Form) -> np.dtype[Any]:
    """Returns the dtype whose elements lie in memory as C's."""
    match of:
        case ["number", code, _]:
            return np.dtype(code)
        case ["array", code, shape]:
            return struct([("v", np.dtype(code), max(1, _size(shape)))])
        case ["fixed tuple", _, items] | ["record", _, _, items]:
            return struct([(f"f{i}", dtype(each), None) for i, each in enumerate(items)])
        case ["list" | "tuple" | "deque" | "set", capacity, _, item]:
            return struct([("count", np.dtype(np.int64), None), ("v", dtype(item), capacity)])
        case ["map", capacity, key, item, _]:
            parts = ("k", dtype(key), capacity), ("v", dtype(item), capacity)
            return struct([("count", np.dtype(np.int64), None), *parts])
        case ["optional", item]:
            return struct([("some", np.dtype(np.bool_), None), ("v", dtype(item), None)])
        case ["union", items]:
            members = [(f"f{i}", dtype(each), None) for i, each in enumerate(items)]
            return struct([("which", np.dtype(np.uint8), None), *members])
        case ["text"] | ["member", _]:
            return np.dtype(np.int32)
        case _:
            return np.dtype(np.int8)


def struct(members: Sequence[tuple[str, np.dtype[Any], int | None]]) -> np.dtype[Any]:
    """Returns the dtype of a struct in C.

    Args:
        members: of each its name, dtype, and number of elements; None: it is no array.
    """
    listed: list[Any] = [
        (name, of) if count is None else (name, of, (count,)) for name, of, count in members
    ]
    return np.dtype(listed or [("empty", np.int8)], align=True)


class Picture:
    """Where the attributes of a state are in the memory that `expose` fills, behind a pp_rng.

    Attributes:
        places: of each attribute that can be read its first byte.
        unknown: what others are, by name.
        size: of the memory.
    """

    def __init__(self, forms: Mapping[str, Form]) -> None:
        """forms: of the attributes."""
        self._forms = forms
        self.places: dict[str, int] = {}
        self.unknown = {name: what for name, of in forms.items() if (what := unknown(of))}
        self.size = RNG_SIZE
        for name, of in forms.items():
            if name not in self.unknown:
                self.places[name] = self.size
                self.size += -(-dtype(of).itemsize // ALIGNMENT) * ALIGNMENT

    def lines(self) -> list[str]:
        """Returns the lines in C that fill the memory, and check that both sides mean the same."""
        found = []
        for name, place in self.places.items():
            size, ours = f"sizeof(s->a_{name})", dtype(self._forms[name]).itemsize
            found.append(f'  _Static_assert({size} == {ours}, "self.{name}");')
            found.append(f"  memcpy(to + {place}, &s->a_{name}, {size});")
        return found


class Values:
    """Makes values in Python of what lies in memory.

    Attributes:
        generator: of the environment whose memory is read.
    """

    def __init__(self, texts: Sequence[str], find: Callable[[str], Any]) -> None:
        """
        Args:
            texts: of the program, by their numbers.
            find: returns the class that `form` has named.
        """
        self._texts, self._find = texts, find
        self.generator: np.random.Generator | None = None

    def read(self, of: Form, held: Any) -> Any:
        """Returns a value, which shares no memory with what is read.

        Args:
            of: its form.
            held: an element of the form's dtype.
        """
        match of:
            case ["number", _, is_numpy]:
                return held if is_numpy else held.item()
            case ["array", _, shape]:
                return held["v"][: _size(shape)].reshape(shape).copy()
            case ["fixed tuple", name, items]:
                values = self._parts(items, held)
                return tuple(values) if name is None else self._find(name)._make(values)
            case ["record", name, keys, items]:
                named = dict(zip(keys, self._parts(items, held), strict=True))
                return named if name is None else _object(self._find(name), named)
            case ["optional", item]:
                return self.read(item, held["v"]) if held["some"] else None
            case ["union", items]:
                at = int(held["which"])
                return self.read(items[at], held[f"f{at}"])
            case ["text"]:
                return self._texts[held]
            case ["member", name]:
                return list(self._find(name))[held]
            case ["constant", value]:
                return value
            case ["generator"]:
                return self.generator
        return self._container(of, held)

    def _container(self, of: Form, held: Any) -> Any:
        count = int(held["count"])
        if of[0] == "map":
            _, _, key, item, absent = of
            keys = [self.read(key, each) for each in held["k"][:count]]
            found = dict(zip(keys, self._items(item, held, count), strict=True))
            return found if absent is None else missing.made(absent, found)
        kind, _, most, item = of
        items = self._items(item, held, count)
        if kind == "deque":
            return deque(items, most or None)
        return {"set": set, "tuple": tuple}.get(kind, list)(items)

    def _items(self, item: Form, held: Any, count: int) -> list[Any]:
        return [self.read(item, each) for each in held["v"][:count]]

    def _parts(self, items: Sequence[Form], held: Any) -> list[Any]:
        return [self.read(each, held[f"f{i}"]) for i, each in enumerate(items)]


def _object(cls: Any, attributes: dict[str, Any]) -> Any:
    """Returns an object of the user's class, whose __init__ is not called."""
    made = object.__new__(cls)
    for name, value in attributes.items():
        # a frozen one refuses setattr
        object.__setattr__(made, name, value)
    return made


def _size(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=np.int64))
