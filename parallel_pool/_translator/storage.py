"""Storage: the C types of values, and how values are loaded from memory and stored there."""

from __future__ import annotations

import enum
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator.refusal import Dead, Refusal
from parallel_pool._translator.types import (
    Array,
    Constant,
    Draws,
    DynamicArray,
    Empty,
    Entry,
    Given,
    List,
    Map,
    Member,
    Number,
    OpenDict,
    Optional,
    Record,
    TableArray,
    TableRecord,
    Text,
    Tuple,
    Type,
    Union,
    constant,
    constantly,
    number_of,
    of_dtype,
    united,
)
from parallel_pool._translator.values import (
    EVERYWHERE,
    Arr,
    Dim,
    Fixed,
    Lst,
    Mapping,
    Mem,
    Num,
    Opt,
    Options,
    Rec,
    Rng,
    Tup,
    Txt,
    Uni,
    Value,
    as_number,
    cast,
    joined_numbers,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


# memory that no two names of which overlap: of the state, constants, variables and results
OWN_MEMORY = ("s->", "k->", "v_", "a_", "m_", "r_", "table_", "(*result)")


class Types:
    """The structs of a program, each with a name.

    Attributes:
        bytes: of each struct, about.
    """

    def __init__(self) -> None:
        self._names: dict[Type, str] = {}
        self.text: list[str] = []
        self.bytes: dict[str, int] = {}

    def key(self, of: Type) -> str:
        """Returns a short word for a type, for names of variables."""
        if isinstance(of, Number):
            return f"{of.kind}{of.bits}"
        if isinstance(of, Given):
            return "options"
        self.c(of)
        return self._names.get(of, "t")

    def c(self, of: Type) -> str:
        """Returns the C name of a type."""
        if isinstance(of, Number):
            return of.c
        if isinstance(of, (Text, Member)):
            return "int32_t"
        if isinstance(of, (Constant, Draws, Empty)):
            return "char"
        if isinstance(of, Given):
            return "const pp_value *"
        if of not in self._names:
            self._define(of)
        pointer = isinstance(of, (List, Map)) and not of.capacity
        return self._names[of] + (" *" if pointer else "")

    def struct(self, of: Type) -> str:
        """Returns the struct of a list or map, not the pointer to it."""
        self.c(of)
        return self._names[of]

    def _define(self, of: Type) -> None:
        if isinstance(of, Array):
            body = f"{of.item.c} v[{max(1, of.size)}];"
        elif isinstance(of, DynamicArray):
            body = f"{of.item.c} *v; int64_t dim[{max(1, of.ndim)}];"
        elif isinstance(of, (Tuple, Record)):
            parts = [f"{self.c(item)} f{i};" for i, item in enumerate(of.items)]
            body = " ".join(parts) or "char empty;"
        elif isinstance(of, Optional):
            body = f"bool some; {self.c(of.item)} v;"
        elif isinstance(of, Union):
            parts = [f"{self.c(item)} f{i};" for i, item in enumerate(of.items)]
            body = " ".join(["uint8_t which;", *parts])
        elif isinstance(of, List):
            item = self.c(of.item)
            body = (
                f"int64_t count; {item} v[{of.capacity}];"
                if of.capacity
                else f"int64_t count, capacity; {item} *v;"
            )
        elif isinstance(of, Map):
            key, item = self.c(of.key), self.c(of.item)
            body = (
                f"int64_t count; {key} k[{of.capacity}]; {item} v[{of.capacity}];"
                if of.capacity
                else f"int64_t count, capacity; {key} *k; {item} *v;"
            )
        else:
            raise TypeError(f"{of!r} has no C type")
        kind = type(of).__name__.lower()
        name = f"{kind}_{len(self._names)}"
        self._names[of] = name
        self.bytes[name] = self._bytes(of)
        self.text.append(f"typedef struct {{ {body} }} {name};")

    def _bytes(self, of: Type) -> int:
        """Returns how much memory a value takes."""
        if isinstance(of, Number):
            return of.bits // 8
        if isinstance(of, Array):
            return of.size * of.item.bits // 8
        if isinstance(of, (Tuple, Record, Union)):
            return 8 + sum(map(self._bytes, of.items))
        if isinstance(of, Optional):
            return 8 + self._bytes(of.item)
        if isinstance(of, (List, Map)) and of.capacity:
            key = self._bytes(of.key) if isinstance(of, Map) else 0
            return 8 + of.capacity * (key + self._bytes(of.item))
        return 8 * (1 + of.ndim) if isinstance(of, DynamicArray) else 8


def flat_index(dims: Sequence[Dim], at: Sequence[str]) -> str:
    """Returns the place of an element in C order."""
    text = ""
    for dim, index in zip(dims, at, strict=True):
        index = index if index.isalnum() else f"({index})"
        text = index if not text else f"({text}) * {dim} + {index}"
    return text or "0"


def memory_array(
    item: Number, dims: Sequence[Dim], pointer: str, root: tuple[str, str] | None = None
) -> Arr:
    """Returns an array in contiguous memory."""
    dims = tuple(dims)
    # only what this function or the environment owns is known to be apart from the rest
    is_known = pointer.startswith(OWN_MEMORY)
    return Arr(
        item,
        dims,
        lambda at: f"{pointer}[{flat_index(dims, at)}]",
        pointer=pointer,
        is_place=True,
        root=root,
        key=pointer,
        is_view=True,
        bases=frozenset({pointer.partition("[")[0] if is_known else EVERYWHERE}),
    )


def load(body: Body, of: Type, place: str, root: tuple[str, str] | None = None) -> Value:
    """Returns the value in a C lvalue. Arrays, lists and dicts refer to it."""
    if isinstance(of, Number):
        return Num(of, place)
    if isinstance(of, Constant):
        return Fixed(of.value)
    if isinstance(of, Draws):
        return Rng()
    if isinstance(of, Empty):
        raise Dead
    if isinstance(of, Array):
        return memory_array(of.item, of.shape, f"{place}.v", root)
    if isinstance(of, TableArray) and of.shape is not None:
        return _read_only(memory_array(of.item, of.shape, f"{place}.v", root))
    if isinstance(of, DynamicArray):
        dims = [f"{place}.dim[{i}]" for i in range(of.ndim)]
        array = memory_array(of.item, dims, f"{place}.v", root)
        return _read_only(array) if isinstance(of, TableArray) else array
    if isinstance(of, Tuple):
        return Tup(
            tuple(load(body, item, f"{place}.f{i}", root) for i, item in enumerate(of.items)),
            of.cls,
        )
    if isinstance(of, Record):
        items = tuple(load(body, item, f"{place}.f{i}", root) for i, item in enumerate(of.items))
        return Rec(of.keys, items, place, of, root, of.cls)
    if isinstance(of, List):
        return Lst(of, f"(&{place})" if of.capacity else place, root)
    if isinstance(of, Map):
        return Mapping(of, f"(&{place})" if of.capacity else place, root)
    if isinstance(of, Optional):
        return Opt(of, place, root)
    if isinstance(of, Union):
        return Uni(of, place, root)
    if isinstance(of, Given):
        return Options(place)
    if isinstance(of, Text):
        return Txt(place)
    if isinstance(of, Member):
        return Mem(of, place)
    raise Refusal(f"{of} can't be kept")


def _read_only(array: Arr) -> Arr:
    """Returns an array that holds for all environments."""
    return replace(array, is_read_only=True, is_place=False)


def held(body: Body, value: Opt, root: tuple[str, str] | None = None) -> Value:
    """Returns what a value is that is not None."""
    if value.target is not None:
        return value.target
    return load(body, value.optional.item, f"{value.place}.v", value.root or root)


def store(body: Body, of: Type, place: str, value: Value, what: str = "it") -> None:
    """Stores a value in a C lvalue of a type.

    Raises:
        Refusal: the value has another type.
    """
    program = body.program
    if isinstance(of, Constant):
        return
    if isinstance(of, Draws) and isinstance(value, Rng):
        return
    if not isinstance(of, (Number, Tuple, Optional, Union)):
        body.note_stored(of, place, value, _is_pointer(of, value))
    if isinstance(of, Union):
        _store_union(body, of, place, value, what)
    elif isinstance(value, Uni) and not isinstance(of, Optional):
        body.each_type(value, lambda member: store(body, of, place, member, what))
    elif isinstance(of, Number):
        number = as_number(value)
        if number is None:
            raise Refusal(f"{what} is {of} at one place and {value.type} at another")
        body.emit(f"{place} = {as_item(body, number, of)};")
    elif isinstance(of, Array):
        _store_array(body, of, place, value, what)
    elif isinstance(of, DynamicArray):
        found = body.in_memory(body.array(value), of.item)
        if not place.startswith("v_") and _ends_with_function(body, found):
            found = body.lasting(found)
        body.emit(f"{place}.v = {found.pointer};")
        for i, dim in enumerate(found.dims):
            body.emit(f"{place}.dim[{i}] = {dim};")
    elif isinstance(of, Tuple):
        items = body.items(value)
        if items is None or len(items) != len(of.items):
            raise Refusal(f"{what} is {of} at one place and {value.type} at another")
        kept = [body.kept(item) for item in items] if len(items) > 1 else items
        for i, (kind, item) in enumerate(zip(of.items, kept, strict=True)):
            store(body, kind, f"{place}.f{i}", item, what)
    elif isinstance(of, Record) and of.cls is OpenDict:
        _store_open(body, of, place, value, what)
    elif isinstance(of, Record):
        record = body.record(value)
        if record is None or set(record.keys) != set(of.keys):
            raise Refusal(f"{what} is {of} at one place and {value.type} at another")
        kept = [body.kept(item) for item in record.items]
        for i, (key, kind) in enumerate(zip(of.keys, of.items, strict=True)):
            store(body, kind, f"{place}.f{i}", kept[record.keys.index(key)], what)
    elif isinstance(of, Entry) and not (
        isinstance(value, Opt) and isinstance(value.optional, Entry)
    ):
        store(body, of.item, f"{place}.v", value, what)
        body.emit(f"{place}.some = true;")
    elif isinstance(of, Optional):
        if isinstance(value, Opt) and value.optional == of and not value.pointer:
            body.note_stored(of, place, value)
            body.emit(f"{place} = {value.place};")
        elif isinstance(value, Fixed) and value.value is None:
            body.emit(f"{place}.some = false;")
        elif isinstance(value, Opt):
            body.emit(f"{place}.some = {value.some};")
            with body.block(f"if ({value.some}) {{"):
                store(
                    body,
                    of.item,
                    f"{place}.v",
                    held(body, value),
                )
        else:
            store(body, of.item, f"{place}.v", value, what)
            body.emit(f"{place}.some = true;")
    elif isinstance(of, Given):
        program.reset_options.is_used = True
        is_none = isinstance(value, Fixed) and value.value is None
        other = "NULL" if is_none else "no_options"
        body.emit(f"{place} = {value.c if isinstance(value, Options) else other};")
    elif isinstance(of, Text):
        body.emit(f"{place} = {program.texts.c(value)};")
    elif isinstance(of, Member):
        body.emit(f"{place} = {program.member_id(of, value)};")
    elif isinstance(of, List):
        _store_list(body, of, place, value, what)
    elif isinstance(of, Map):
        _store_map(body, of, place, value, what)
    else:
        raise Refusal(f"{what} is {of}, which can't be kept")


def _store_open(body: Body, of: Record, place: str, value: Value, what: str) -> None:
    """Stores a dict in one whose keys may be missing."""
    record = body.record(value)
    if record is None or not set(record.keys) <= set(of.keys):
        raise Refusal(f"{what} is {of} at one place and {value.type} at another")
    kept = dict(zip(record.keys, map(body.kept, record.items), strict=True))
    for i, (key, kind) in enumerate(zip(of.keys, of.items, strict=True)):
        if key in kept:
            store(body, kind, f"{place}.f{i}", kept[key], what)
        else:
            body.emit(f"{place}.f{i}.some = false;")


def _is_pointer(of: Type, value: Value) -> bool:
    """Returns whether a value of a type is stored as a pointer to it."""
    if isinstance(of, DynamicArray):
        return isinstance(value, Arr) and bool(value.pointer) and value.item.c == of.item.c
    is_open = isinstance(of, (List, Map)) and not of.capacity
    return is_open and isinstance(value, (Lst, Mapping)) and value.type == of


def _ends_with_function(body: Body, array: Arr) -> bool:
    """Returns whether the memory of an array is a variable of the function."""
    if array.root is not None and array.root[0] != "variable":
        return False
    kinds = [body.variables.get(name, "") for name in re.findall(r"\w+", array.pointer)]
    return any(kind and not kind.endswith("*") for kind in kinds)


def as_item(body: Body, number: Num, of: Number) -> str:
    """Returns the C expression of a number as one of a type that it may be."""
    c = number.c
    if of.may_be_int and number.number.c == "int64_t" and not c.lstrip("-").isdigit():
        c = body.temporary("int64_t", c)
        text = (
            "an int beyond 2**53 in the place of a float is not translated: convert it by float()"
        )
        fits = f"-(INT64_C(1) << 53) <= {c} && {c} <= INT64_C(1) << 53"
        body.check(fits, "NotImplementedError", text)
    return cast(c, of, number.number)


def _store_union(body: Body, of: Union, place: str, value: Value, what: str) -> None:
    if isinstance(value, Uni) and value.union == of:
        body.note_stored(of, place, value)
        body.emit(f"{place} = {value.place};")
        return
    if isinstance(value, Uni):
        body.each_type(value, lambda member: store(body, of, place, member, what))
        return
    value = body.plain(value)
    at = place_of(of, value.type)
    if at is None:
        raise Refusal(f"{what} is {of} at one place and {value.type} at another")
    store(body, of.items[at], f"{place}.f{at}", value, what)
    body.emit(f"{place}.which = {at};")


def member(body: Body, value: Uni, item: Type) -> Value:
    """Returns what a union holds after a value of a type was stored there."""
    at = place_of(value.union, item)
    assert at is not None
    return load(body, value.union.items[at], f"{value.place}.f{at}", value.root)


def place_of(of: Union, item: Type) -> int | None:
    """Returns the place of a type in a union; None if it has none."""
    for at, each in enumerate(of.items):
        if each == item:
            return at
    for at, each in enumerate(of.items):
        if united(each, item) == each or _may_fit(each, item) or _widens(item, each):
            return at
    return None


def _widens(item: Type, of: Type) -> bool:
    """Returns whether a number became one of another type before it met the others."""
    if not isinstance(item, Number) or not isinstance(of, Number):
        return False
    return item.kind in "ib" and joined_numbers(item, of) == of


def _may_fit(of: Type, array: Type) -> bool:
    """Returns whether an array of one type may be kept as another; its shape is checked then."""
    if not isinstance(array, (Array, DynamicArray)) or not isinstance(of, (Array, DynamicArray)):
        return False
    is_open = isinstance(of, DynamicArray) or isinstance(array, DynamicArray)
    ndims = {len(each.shape) if isinstance(each, Array) else each.ndim for each in (of, array)}
    return is_open and of.item == array.item and len(ndims) == 1


def _store_array(body: Body, of: Array, place: str, value: Value, what: str) -> None:
    array = body.array(value)
    shape = tuple(array.dims)
    if len(shape) != len(of.shape):
        raise Refusal(f"{what} is {of} at one place and {array.type} at another")
    for dim, wanted in zip(shape, of.shape, strict=True):
        if isinstance(dim, int):
            if dim != wanted:
                raise Refusal(f"{what} is {of} at one place and {array.type} at another")
        else:
            body.check(
                f"{dim} == {wanted}",
                "NotImplementedError",
                f"{what} gets %lld elements on an axis of {wanted}: its shape must not change; make"
                " it as large as any, and keep how much of it is used",
                f"(long long){dim}",
            )
    if array.item.kind != of.item.kind or array.item.bits != of.item.bits:
        raise Refusal(
            f"{what} is an array of {of.item.dtype.name} at one place and of"
            f" {array.item.dtype.name} at another: write .astype(np.{of.item.dtype.name})"
        )
    array = replace(array, dims=of.shape)
    body.copy_elements(array, memory_array(of.item, of.shape, f"{place}.v"))


def _store_list(body: Body, of: List, place: str, value: Value, what: str) -> None:
    if isinstance(value, Lst) and value.list_type == of and not of.capacity:
        body.emit(f"{place} = {value.c};")
        return
    made = body.as_list(value, of)
    if not of.capacity:
        body.emit(f"{place} = {made.c};")
        return
    if made.c == f"(&{place})":
        return
    body.check(
        f"{made.c}->count <= {of.capacity}",
        "MemoryError",
        f"{what} has %lld items, and {of.capacity} fit: write `# at most N` in the line of"
        " __init__ that makes it",
        f"(long long){made.c}->count",
    )
    body.emit(f"{place}.count = {made.c}->count;")
    if made.list_type.item == of.item:
        size = f"(size_t){made.c}->count * sizeof({place}.v[0])"
        body.emit(f"if ({place}.count) memmove({place}.v, {made.c}->v, {size});")
        return
    index = body.name("i")
    with body.block(f"for (int64_t {index} = 0; {index} < {made.c}->count; {index}++) {{"):
        item = load(body, made.list_type.item, f"{made.c}->v[{index}]")
        store(body, of.item, f"{place}.v[{index}]", item, what)


def _store_map(body: Body, of: Map, place: str, value: Value, what: str) -> None:
    made = body.as_map(value, of)
    if not of.capacity:
        body.emit(f"{place} = {made.c};")
        return
    if made.c == f"(&{place})":
        return
    if made.is_always_empty:
        body.emit(f"{place}.count = 0;")
        return
    body.check(
        f"{made.c}->count <= {of.capacity}",
        "MemoryError",
        f"{what} has %lld items, and {of.capacity} fit: write `# at most N` in the line of"
        " __init__ that makes it",
        f"(long long){made.c}->count",
    )
    body.emit(f"{place}.count = {made.c}->count;")
    if (made.map_type.key, made.map_type.item) != (of.key, of.item):
        _store_entries(body, of, place, made, what)
        return
    for part in "kv":
        size = f"(size_t){made.c}->count * sizeof({place}.{part}[0])"
        body.emit(f"if ({place}.count) memmove({place}.{part}, {made.c}->{part}, {size});")


def _store_entries(body: Body, of: Map, place: str, made: Mapping, what: str) -> None:
    """Stores the entries of a dict in one of other types."""
    index = body.name("i")
    with body.block(f"for (int64_t {index} = 0; {index} < {made.c}->count; {index}++) {{"):
        for part, have, wanted in (
            ("k", made.map_type.key, of.key),
            ("v", made.map_type.item, of.item),
        ):
            each = load(body, have, f"{made.c}->{part}[{index}]")
            store(body, wanted, f"{place}.{part}[{index}]", each, what)


def join(one: Type, other: Type) -> Type:
    """Returns the type of what may be either.

    Raises:
        Refusal: nothing is both.
    """
    if one == other:
        return one
    for a, b in ((one, other), (other, one)):
        if isinstance(a, Given) and _is_no_options(b):
            return a
        if isinstance(a, Entry):
            return Entry(join_items(a.item, b.item if isinstance(b, Entry) else b))
        if isinstance(a, Constant) and a.value is None:
            return b if isinstance(b, Optional) else Optional(b)
        if isinstance(a, Optional) and isinstance(b, Constant) and b.value is None:
            return a
        if isinstance(a, Optional):
            inner = b.item if isinstance(b, Optional) else b
            return Optional(join(a.item, inner))
        if isinstance(a, Text) and isinstance(b, Constant) and isinstance(b.value, str):
            return a
        if isinstance(a, Member) and isinstance(b, Constant) and isinstance(b.value, a.cls):
            return a
        if isinstance(a, Constant) and isinstance(a.value, tuple):
            return join(fixed_type(a.value), b)
        if isinstance(a, Record) and a.cls is None and isinstance(b, Map):
            return join(as_map_type(a), b)
    for a, b in ((one, other), (other, one)):
        if isinstance(a, Constant) and isinstance(a.value, list):
            return join(fixed_type(a.value), b)
    if isinstance(one, Constant) and isinstance(other, Constant):
        return join(_widened(one), _widened(other))
    if _may_be_united(one) and _may_be_united(other) and Union in (type(one), type(other)):
        return united(one, other)
    if isinstance(one, Number) and isinstance(other, Number):
        return joined_numbers(one, other) or united(one, other)
    if isinstance(one, Tuple) and isinstance(other, Tuple) and len(one.items) == len(other.items):
        cls = one.cls if one.cls == other.cls else None
        return Tuple(tuple(join(a, b) for a, b in zip(one.items, other.items, strict=True)), cls)
    if isinstance(one, Record) and isinstance(other, Record) and one.keys == other.keys:
        items = tuple(join(a, b) for a, b in zip(one.items, other.items, strict=True))
        return replace(one if isinstance(one, TableRecord) else other, items=items)
    if isinstance(one, List) and isinstance(other, List) and one.kind == other.kind:
        most = one.most if one.most == other.most else 0
        return replace(one.holding(join_items(one.item, other.item)), most=most)
    if isinstance(one, Map) and isinstance(other, Map) and one.missing == other.missing:
        key, item = join_items(one.key, other.key), join_items(one.item, other.item)
        is_dense = one.is_dense and other.is_dense and one.is_constant
        return replace(one.holding(key, item), is_dense=is_dense)
    if isinstance(one, TableArray) and isinstance(other, TableArray):
        if (one.item, one.ndim) != (other.item, other.ndim):
            raise Refusal(f"an array is {one} at one place and {other} at another")
        return TableArray(one.item, one.ndim, None)
    arrays = (Array, DynamicArray)
    if isinstance(one, arrays) and isinstance(other, arrays) and one.item.dtype == other.item.dtype:
        ndims = [len(t.shape) if isinstance(t, Array) else t.ndim for t in (one, other)]
        if ndims[0] == ndims[1]:
            return DynamicArray(one.item, ndims[0])
    if isinstance(one, arrays) and isinstance(other, arrays) and one.item.dtype != other.item.dtype:
        return united(one, other)
    raise Refusal(f"a value is {one} at one place and {other} at another")


def joined_dicts(one: Type, other: Type) -> Record | None:
    """Returns the type of a dict with known keys that may be either; None if their keys are equal,
    or if they are no such dicts."""
    records = [_as_record(each) for each in (one, other)]
    a, b = (dict(zip(each.keys, each.items, strict=True)) if each else None for each in records)
    if a is None or b is None or (a.keys() == b.keys() and records[0] == records[1]):
        return None
    items: list[Type] = []
    for key in (keys := tuple(dict.fromkeys([*a, *b]))):
        found = [each[key] for each in (a, b) if key in each]
        has_all = len(found) == 2 and not any(isinstance(each, Entry) for each in found)
        inner = [each.item if isinstance(each, Entry) else each for each in found]
        item = inner[0] if len(inner) == 1 else join_items(*map(_kept_type, inner))
        items.append(item if has_all else Entry(_kept_type(item)))
    return Record(keys, tuple(items), OpenDict)


def _as_record(of: Type) -> Record | None:
    """Returns a dict whose keys are texts that are known; None for others."""
    if of == Map(Empty(), Empty()):
        return Record((), ())
    is_dict = isinstance(of, Record) and of.cls in (None, OpenDict)
    is_of_texts = is_dict and all(isinstance(key, str) for key in of.keys)  # type: ignore[attr-defined]
    return of if is_of_texts else None  # type: ignore[return-value]


def as_map_type(of: Record) -> Map:
    """Returns the type of a dict with known keys to which others may come."""
    key: Type = Empty()
    item: Type = Empty()
    for each, held in zip(of.keys, of.items, strict=True):
        key, item = join_items(key, fixed_type(each)), join_items(item, held)
    return Map(key, item)


def _may_be_united(of: Type) -> bool:
    return isinstance(of, (Number, Array, DynamicArray, Union))


def _is_no_options(of: Type) -> bool:
    """Returns whether a type is that of None or {}."""
    if isinstance(of, Constant):
        return of.value is None or of.value == {}
    return of == Map(Empty(), Empty()) or (isinstance(of, Record) and not of.keys)


def join_items(one: Type, other: Type) -> Type:
    if isinstance(one, Empty):
        return other
    return one if isinstance(other, Empty) else join(one, other)


def item_type(value: Value) -> Type:
    """Returns the type of an item of a list."""
    of = value.type
    if isinstance(of, Constant):
        return fixed_type(of.value)
    if isinstance(of, Tuple):
        return Tuple(tuple(_kept_type(each) for each in of.items), of.cls)
    if isinstance(value, Arr) and isinstance(of, DynamicArray):
        return of
    return _kept_type(of)


def _kept_type(of: Type) -> Type:
    if isinstance(of, Constant):
        return fixed_type(of.value)
    if isinstance(of, List):
        return of.holding(of.item)
    return of


def _widened(of: Constant) -> Type:
    if isinstance(of.value, str):
        return Text()
    if isinstance(of.value, enum.Enum):
        return Member(type(of.value))
    if isinstance(of.value, (tuple, list)):
        return fixed_type(of.value)
    raise Refusal(f"a value is {of} at one place and something else at another")


def table_type(value: object) -> Type:
    """Returns the type in which a known object is written into the program.

    Raises:
        Refusal: it can't be.
    """
    if isinstance(value, (list, tuple, dict)):
        return constantly(_table_type(value))
    return fixed_type(value)


def _table_type(value: object) -> Type:
    if isinstance(value, (Counter, defaultdict)):
        kind = type(value).__name__
        raise Refusal(f"a {kind} that is the same for all environments: make a dict of it")
    if isinstance(value, np.ndarray) and (number := of_dtype(value.dtype)) is not None:
        return TableArray(number, value.ndim, value.shape)
    if isinstance(value, dict):
        try:
            return _table_of_dict(value)
        except Refusal:
            # values of several types, each under a name
            if not value or not all(isinstance(name, str) for name in value):
                raise
            return TableRecord(tuple(value), tuple(map(_table_type, value.values())))
    if isinstance(value, tuple):
        cls = type(value) if hasattr(value, "_fields") else None
        return Tuple(tuple(map(_table_type, value)), cls)
    if isinstance(value, list):
        item: Type = Empty()
        for each in value:
            item = join_items(item, _table_type(each))
        return List(item)
    return fixed_type(value)


def _table_of_dict(value: dict[Any, Any]) -> Map:
    key: Type = Empty()
    item: Type = Empty()
    for name, each in value.items():
        key = join_items(key, fixed_type(name))
        item = join_items(item, _table_type(each))
    is_dense = [type(name) for name in value] == [int] * len(value) and list(value) == list(
        range(len(value))
    )
    return Map(key, item, 0, True, is_dense)


def fixed_type(value: object) -> Type:
    """Returns the type in which a known object can be kept together with others of its kind."""
    found = number_of(value)
    if found is not None:
        return found
    if isinstance(value, tuple):
        cls = type(value) if hasattr(value, "_fields") else None
        return Tuple(tuple(fixed_type(item) for item in value), cls)
    if isinstance(value, list):
        item: Type = Empty()
        for each in value:
            item = join_items(item, fixed_type(each))
        return List(item)
    of = constant(value)
    try:
        return _widened(of)
    except Refusal:
        return of


def kept(of: Type) -> Type:
    """Returns the type in which a value of a type is kept among others."""
    if isinstance(of, Constant) and of.value is not None:
        try:
            return fixed_type(of.value)
        except Refusal:
            return of
    if isinstance(of, Tuple):
        return Tuple(tuple(map(kept, of.items)), of.cls)
    return of
