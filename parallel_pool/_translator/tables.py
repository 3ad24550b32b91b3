"""Tables: known values that are written into the C file, as arrays that all environments share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import arrays, storage
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import (
    Constant,
    Empty,
    List,
    Map,
    Member,
    Number,
    Optional,
    Record,
    TableArray,
    Text,
    Tuple,
    Type,
    of_dtype,
)
from parallel_pool._translator.values import Arr, literal

if TYPE_CHECKING:
    from parallel_pool._translator.text_numbers import TextNumbers

# elements of an array that is written into the C file
MAX_TABLE_ELEMENTS = 16384


class Tables:
    """The tables of a program.

    Attributes:
        lines: their definitions in C, in order.
    """

    def __init__(
        self, types: storage.Types, texts: TextNumbers, name: Callable[[str], str]
    ) -> None:
        """
        Args:
            types: of the program.
            texts: of the program, which tables may hold.
            name: makes a name of a hint.
        """
        self.types = types
        self.texts = texts
        self.name = name
        self.lines: list[str] = []
        self._arrays: dict[Any, str] = {}
        self._fixed_tables: dict[Any, str] = {}

    def array(self, value: Any) -> Arr:
        """Returns a known array, which all environments share."""
        order = arrays.order_of(value)
        value = np.ascontiguousarray(value)
        item = of_dtype(value.dtype)
        if item is None:
            raise Refusal(f"an array of {value.dtype} is not translated")
        if value.size > MAX_TABLE_ELEMENTS:
            raise Refusal(
                f"an array of {value.size:,} elements outside of self is not translated: keep it in"
                " an attribute, from __init__ on"
            )
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self._arrays:
            name = self.name("table")
            self._arrays[key] = name
            text = arrays.literal_array(item, value) or "0"
            self.lines.append(f"static const {item.c} {name}[{max(1, value.size)}] = {{{text}}};")
        array = storage.memory_array(item, value.shape, self._arrays[key])
        array.is_read_only, array.is_place, array.order = True, False, order
        if value.size <= 64:
            # elements at places that are known are numbers
            plain = array.at

            def at(index: Sequence[str]) -> str:
                if all(each.isdigit() for each in index):
                    return literal(value[tuple(map(int, index))].item(), item)
                return plain(index)

            array.at = at
        return array

    def fixed(self, of: Type, values: Sequence[Any]) -> str:
        """Returns the name of a C array of known values of one type."""
        key = (of, repr(values))
        if key not in self._fixed_tables:
            text = ", ".join(self.initializer(of, each) for each in values)
            self._fixed_tables[key] = self._table(self.types.c(of), text)
        return self._fixed_tables[key]

    def can_hold(self, of: Type) -> bool:
        """Returns whether known values of a type can be written into the program."""
        if isinstance(of, Tuple) or (isinstance(of, Record) and of.cls is None):
            return all(map(self.can_hold, of.items))
        if isinstance(of, TableArray):
            return True
        if isinstance(of, Optional):
            return self.can_hold(of.item)
        if isinstance(of, List):
            return not of.is_set and self.can_hold(of.item)
        if isinstance(of, Map):
            return self.can_hold(of.key) and self.can_hold(of.item)
        return isinstance(of, (Number, Text, Member, Constant, Empty))

    def _table(self, c_type: str, text: str) -> str:
        """Writes a C array; returns its name."""
        name = self.name("table")
        self.lines.append(f"static {c_type} {name}[] = {{{text or '0'}}};")
        return name

    def _held(self, of: List | Map, value: Any) -> str:
        """Returns the C pointer to a known list or dict."""
        if isinstance(of, Map):
            keys = self.fixed(of.key, list(value))
            items = self.fixed(of.item, list(value.values()))
            parts = f"{len(value)}, {len(value)}, {keys}, {items}"
        else:
            parts = f"{len(value)}, {len(value)}, {self.fixed(of.item, list(value))}"
        key = (of, parts)
        if key not in self._fixed_tables:
            self._fixed_tables[key] = self._table(self.types.struct(of), f"{{{parts}}}")
        return self._fixed_tables[key]

    def initializer(self, of: Type, value: Any) -> str:
        """Returns a known value in C, as an initializer."""
        if isinstance(of, Number):
            return literal(value, of)
        if isinstance(of, Text):
            return str(self.texts.number(value))
        if isinstance(of, Member):
            return str(list(of.cls).index(value))
        if isinstance(of, (Tuple, Record)):
            values = value.values() if isinstance(of, Record) else value
            parts = (self.initializer(t, v) for t, v in zip(of.items, values, strict=True))
            return "{" + ", ".join(parts) + "}"
        if isinstance(of, TableArray):
            dims = ", ".join(map(str, value.shape)) or "0"
            return f"{{({of.item.c} *){self.array(value).pointer}, {{{dims}}}}}"
        if isinstance(of, Optional):
            return "{false}" if value is None else f"{{true, {self.initializer(of.item, value)}}}"
        if isinstance(of, (Constant, Empty)):
            return "0"
        if isinstance(of, (List, Map)):
            return self._held(of, value)
        raise Refusal(f"{value!r} can't be kept in a table")
