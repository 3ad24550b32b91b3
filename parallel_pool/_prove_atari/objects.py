"""Object files, and whether two of them hold the same program but for the names of symbols.

Reads 64-bit ELF files, as Linux's compilers write them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

# of sh_type, sh_flags, st_shndx and st_info (System V ABI, chapters 4 and 5)
SYMTAB, RELA, NOBITS = 2, 4, 8
ALLOC = 2
UNDEFINED, RESERVED = 0, 0xFF00
LOCAL = 0
SECTION, FILE = 3, 4


class Differs(Exception):
    """Two objects differ; the message says in what."""


class Section(NamedTuple):
    """A section header of the file, in its order, with the name as text."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


class Symbol(NamedTuple):
    """A symbol of the file.

    Attributes:
        section: the name of the section that holds it; "" if another file defines it.
        binding: 0 for a name that only this file knows.
        kind: what it names: a variable, a function, a section, ...
        value: its distance from the section's start.
        visibility: whether other libraries may see it.
    """

    name: str
    section: str
    binding: int
    kind: int
    value: int
    size: int
    visibility: int

    @property
    def place(self) -> tuple[str, int, int, int, int, int]:
        """All but the name."""
        return self.section, self.value, self.size, self.kind, self.binding, self.visibility


class Use(NamedTuple):
    """A place of a section into which the linker writes the address of a symbol."""

    offset: int
    kind: int
    addend: int
    symbol: Symbol


@dataclass(frozen=True)
class Object:
    """An object file, of which only what a program loads counts."""

    data: bytes

    def __post_init__(self) -> None:
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file, as Linux's compilers write")

    @cached_property
    def headers(self) -> Sequence[Section]:
        (start,) = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<3H", self.data, 58)
        raw = [struct.unpack_from("<2I4Q2I2Q", self.data, start + i * size) for i in range(count)]
        strings = raw[names][4]
        return [Section(self._text(strings + each[0]), *each[1:]) for each in raw]

    @cached_property
    def sections(self) -> dict[str, Section]:
        """The sections that a program loads, by name."""
        loaded = [each for each in self.headers if each.flags & ALLOC]
        found = {each.name: each for each in loaded}
        if len(found) != len(loaded):
            raise ValueError("two sections have the same name, which C's compilers do not write")
        return found

    @cached_property
    def symbols(self) -> Sequence[Symbol]:
        """All symbols, in the order in which relocations count them."""
        (table,) = (each for each in self.headers if each.type == SYMTAB)
        return list(self._symbols(table))

    def _symbols(self, table: Section) -> Iterator[Symbol]:
        strings = self.headers[table.link].offset
        for at in range(table.offset, table.offset + table.size, table.entry_size):
            name, info, other, index, value, size = struct.unpack_from("<I2BH2Q", self.data, at)
            kind = info & 15
            if index == UNDEFINED or index >= RESERVED:
                section = "" if index == UNDEFINED else f"reserved {index:#x}"
            else:
                section = self.headers[index].name
            text = section if kind == SECTION else self._text(strings + name)
            yield Symbol(text, section, info >> 4, kind, value, size, other & 3)

    def defined(self) -> list[Symbol]:
        """Returns the symbols of this file's functions and variables, in the order of places."""
        found = [each for each in self.symbols if each.section and each.kind not in (SECTION, FILE)]
        return sorted(found, key=lambda each: (each.place, each.name))

    def bytes_of(self, name: str) -> bytes:
        """Returns what a section holds; nothing for one that starts as zeros."""
        section = self.sections[name]
        if section.type == NOBITS:
            return b""
        return self.data[section.offset : section.offset + section.size]

    def uses_of(self, name: str) -> list[Use]:
        """Returns the places of a section that hold addresses, in their order."""
        found = []
        for table in self.headers:
            if table.type != RELA or self.headers[table.info].name != name:
                continue
            for at in range(table.offset, table.offset + table.size, table.entry_size):
                offset, info, addend = struct.unpack_from("<2Qq", self.data, at)
                found.append(Use(offset, info & 0xFFFFFFFF, addend, self.symbols[info >> 32]))
        return sorted(found, key=lambda use: use.offset)

    def function_at(self, section: str, offset: int) -> str:
        """Returns the name of the function or variable at a place; the section if it has none."""
        for each in self.defined():
            inside = each.value <= offset < each.value + each.size
            if each.section == section and inside:
                return each.name
        return section

    def _text(self, at: int) -> str:
        return self.data[at : self.data.index(b"\0", at)].decode()


class Names:
    """Which name of the new files stands for which of the old ones, over all files."""

    def __init__(self) -> None:
        self.defined: dict[str, str] = {}
        self.used: dict[tuple[str, str], str] = {}

    def define(self, old: Symbol, new: Symbol) -> None:
        """Notes that a name for all files has become another one."""
        if old.binding == LOCAL:
            return
        if self.defined.setdefault(old.name, new.name) != new.name:
            raise Differs(f"{old.name} has become {self.defined[old.name]} and {new.name}")

    def use(self, old: Symbol, new: Symbol, where: str) -> None:
        """Notes that a file uses a name of another file; check() judges it."""
        self.used.setdefault((old.name, new.name), where)

    def check(self) -> None:
        """Raises Differs if a file uses another function or variable than before."""
        known = set(self.defined.values())
        for (old, new), where in self.used.items():
            wanted = self.defined.get(old, old)
            if new != wanted or (old not in self.defined and new in known):
                raise Differs(f"{where} uses {new} in place of {old}")


def compare(old: Object, new: Object, names: Names) -> None:
    """Raises Differs at the first difference of two objects.

    What a program loads must be equal byte by byte: instructions, constants, variables, and the
    kinds and places of addresses. Names may differ, and are noted in `names`.
    """
    if [each.place for each in old.defined()] != [each.place for each in new.defined()]:
        _symbols_differ(old, new)
    for before, after in zip(old.defined(), new.defined(), strict=True):
        names.define(before, after)
    if old.sections.keys() != new.sections.keys():
        only = sorted(old.sections.keys() ^ new.sections.keys())
        raise Differs(f"only one of both has section {only[0]}")
    for name in old.sections:
        _compare_section(name, old, new, names)


def _symbols_differ(old: Object, new: Object) -> None:
    pairs = zip(old.defined(), new.defined(), strict=False)
    for before, after in pairs:
        if before.place != after.place:
            raise Differs(
                f"{after.name} in {after.section} takes {after.size} bytes from {after.value:#x}"
                f" on, where {before.name} took {before.size} from {before.value:#x} on"
            )
    extra = old.defined()[len(new.defined()) :] or new.defined()[len(old.defined()) :]
    raise Differs(f"only one of both has {extra[0].name}")


def _compare_section(name: str, old: Object, new: Object, names: Names) -> None:
    before, after = old.sections[name], new.sections[name]
    if before[1:3] + before[8:] != after[1:3] + after[8:]:
        raise Differs(f"section {name} has other flags or another alignment")
    left, right = old.bytes_of(name), new.bytes_of(name)
    if before.size != after.size or left != right:
        short = min(len(left), len(right))
        at = next((i for i in range(short) if left[i] != right[i]), short)
        where = new.function_at(name, at)
        raise Differs(f"{where} differs, {at:#x} bytes into {name}")
    uses, others = old.uses_of(name), new.uses_of(name)
    if len(uses) != len(others):
        raise Differs(f"section {name} holds {len(others)} addresses instead of {len(uses)}")
    for use, other in zip(uses, others, strict=True):
        where = new.function_at(name, use.offset)
        if use[:3] != other[:3] or use.symbol.place != other.symbol.place:
            raise Differs(f"{where} refers to {other.symbol.name} in place of {use.symbol.name}")
        if not use.symbol.section:
            names.use(use.symbol, other.symbol, where)
