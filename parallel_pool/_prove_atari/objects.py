"""Object files, and whether two of them hold the same program but for the names of symbols.

Reads 64-bit ELF files, as Linux's compilers write them, with pyelftools.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection


class Differs(Exception):
    """Two objects differ; the message says in what."""


class Symbol(NamedTuple):
    """A symbol of the file.

    Attributes:
        section: the name of the section that holds it; "" if another file defines it.
        binding: "STB_LOCAL" for a name that only this file knows.
        kind: what it names: "STT_OBJECT", "STT_FUNC", "STT_SECTION", ...
        value: its distance from the section's start.
        visibility: whether other libraries may see it.
    """

    name: str
    section: str
    binding: str
    kind: str
    value: int
    size: int
    visibility: str

    @property
    def place(self) -> tuple[str, int, int, str, str, str]:
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
        try:
            is_known = self.file.elfclass == 64 and self.file.little_endian
        except ELFError:
            is_known = False
        if not is_known:
            raise ValueError("not a 64-bit little-endian ELF file, as Linux's compilers write")

    @cached_property
    def file(self) -> ELFFile:
        return ELFFile(io.BytesIO(self.data))

    @cached_property
    def sections(self) -> dict[str, Section]:
        """The sections that a program loads, by name."""
        flags = SH_FLAGS.SHF_ALLOC
        loaded = [each for each in self.file.iter_sections() if each["sh_flags"] & flags]
        found = {each.name: each for each in loaded}
        if len(found) != len(loaded):
            raise ValueError("two sections have the same name, which C's compilers do not write")
        return found

    @cached_property
    def symbols(self) -> Sequence[Symbol]:
        """All symbols, in the order in which relocations count them."""
        (table,) = self.file.iter_sections("SHT_SYMTAB")
        assert isinstance(table, SymbolTableSection)
        found = []
        for each in table.iter_symbols():
            info, index = each["st_info"], each["st_shndx"]
            section = self.file.get_section(index).name if isinstance(index, int) else index
            section = "" if section == "SHN_UNDEF" else section
            name = section if info["type"] == "STT_SECTION" else each.name
            place = (info["bind"], info["type"], each["st_value"], each["st_size"])
            found.append(Symbol(name, section, *place, each["st_other"]["visibility"]))
        return found

    def defined(self) -> list[Symbol]:
        """Returns the symbols of this file's functions and variables, in the order of places."""
        others = ("STT_SECTION", "STT_FILE")
        found = [each for each in self.symbols if each.section and each.kind not in others]
        return sorted(found, key=lambda each: (each.place, each.name))

    def bytes_of(self, name: str) -> bytes:
        """Returns what a section holds; nothing for one that starts as zeros."""
        section = self.sections[name]
        return b"" if section["sh_type"] == "SHT_NOBITS" else section.data()

    def uses_of(self, name: str) -> list[Use]:
        """Returns the places of a section that hold addresses, in their order."""
        found = []
        for table in self.file.iter_sections("SHT_RELA"):
            assert isinstance(table, RelocationSection)
            if self.file.get_section(table["sh_info"]).name != name:
                continue
            for each in table.iter_relocations():
                symbol = self.symbols[each["r_info_sym"]]
                found.append(Use(each["r_offset"], each["r_info_type"], each["r_addend"], symbol))
        return sorted(found, key=lambda use: use.offset)

    def function_at(self, section: str, offset: int) -> str:
        """Returns the name of the function or variable at a place; the section if it has none."""
        for each in self.defined():
            inside = each.value <= offset < each.value + each.size
            if each.section == section and inside:
                return each.name
        return section


class Names:
    """Which name of the new files stands for which of the old ones, over all files."""

    def __init__(self) -> None:
        self.defined: dict[str, str] = {}
        self.used: dict[tuple[str, str], str] = {}

    def define(self, old: Symbol, new: Symbol) -> None:
        """Notes that a name for all files has become another one."""
        if old.binding == "STB_LOCAL":
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
    facts = ("sh_type", "sh_flags", "sh_addralign", "sh_entsize")
    if [before[fact] for fact in facts] != [after[fact] for fact in facts]:
        raise Differs(f"section {name} has other flags or another alignment")
    left, right = old.bytes_of(name), new.bytes_of(name)
    if before["sh_size"] != after["sh_size"] or left != right:
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
