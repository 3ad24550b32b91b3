"""Says what is wrong with a wheel that was built for a release.

    python .ci/wheel_contents.py WHEEL ...

A wheel may build, load and pass its tests here, and still be wrong for others: the tag may promise
too much, the linker may have put functions of its own in place of the C library's, which have other
bits, and the module may export symbols that clash with another library's.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from macholib.mach_o import LC_CODE_SIGNATURE, N_STAB
from macholib.MachO import MachO
from macholib.SymbolTable import SymbolTable

MODULE = "parallel_pool/_core.abi3.so"
EXPORTED = "PyInit__core"
# Our results have the bits of the system's functions, and its memory functions are the fastest.
FROM_SYSTEM = {"acos", "atan2", "cos", "exp", "fmod", "log", "memcpy", "memset", "pow", "sin"}
LIBRARIES = {
    *("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"),
    *("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "/usr/lib/libSystem.B.dylib"),
}

# of the metadata: what the wheel holds of others, and their licences
WANTED = (
    *("licenses/LICENSE", "licenses/numpy/LICENSE.txt", "licenses/numpy/numpy/random/LICENSE.md"),
    "sboms/parallel_pool.cdx.json",
)


@dataclass(frozen=True)
class Module:
    """What a linker sees of a module.

    Attributes:
        libraries: those that it loads.
        exported: the symbols that others may use.
        imported: the symbols that it takes from others.
        is_stripped: whether it holds nothing that only a debugger reads.
        is_signed: whether the system that needs a signature finds one.
    """

    libraries: set[str]
    exported: set[str]
    imported: set[str]
    is_stripped: bool
    is_signed: bool


def read_elf(path: Path) -> Module:
    with path.open("rb") as file:
        elf = ELFFile(file)
        dynamic = elf.get_section_by_name(".dynamic")
        symbols = elf.get_section_by_name(".dynsym")
        assert isinstance(dynamic, DynamicSection) and isinstance(symbols, SymbolTableSection)
        has_debug = elf.get_section_by_name(".symtab") or elf.has_dwarf_info(strict=True)
        found = [(it.name, it["st_shndx"] == "SHN_UNDEF") for it in symbols.iter_symbols()]
        return Module(
            libraries={tag.needed for tag in dynamic.iter_tags("DT_NEEDED")},
            exported={name for name, is_undefined in found if name and not is_undefined},
            imported={name for name, is_undefined in found if name and is_undefined},
            is_stripped=not has_debug,
            # Linux needs none
            is_signed=True,
        )


def read_macho(path: Path) -> Module:
    macho = MachO(str(path))
    (header,) = macho.headers
    table = SymbolTable(macho)

    def names(symbols: list[tuple[Any, bytes]]) -> set[str]:
        return {name.decode().removeprefix("_") for _, name in symbols}

    # zig's linker exports all of NumPy's archives, where every reference names its library, too, so
    # that no symbol can take the place of another
    harmless = {name for name in names(table.extdefsyms) if name.startswith("random_")}
    return Module(
        libraries={name for _, _, name in header.walkRelocatables()},
        exported=names(table.extdefsyms) - harmless - {"__dso_handle", "_mh_dylib_header"},
        imported=names(table.undefsyms),
        is_stripped=not any(symbol.n_type & N_STAB for symbol, _ in table.localsyms),
        # arm64 loads no module without
        is_signed=any(command.cmd == LC_CODE_SIGNATURE for command, _, _ in header.commands),
    )


def faults(wheel: Path) -> Iterator[str]:
    """Yields a sentence for each thing that is wrong with a wheel."""
    if "-cp311-abi3-" not in wheel.name:
        yield "it is not for every Python from 3.11 on"
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            module = Path(archive.extract(MODULE, folder))
        foreign = [
            name for name in names if not name.startswith(("parallel_pool/", "parallel_pool-"))
        ]
        if foreign:
            yield f"it holds {', '.join(foreign)}"
        for wanted in WANTED:
            if not any(name.endswith(f".dist-info/{wanted}") for name in names):
                yield f"it lacks {wanted}"
        if "macosx" in wheel.name:
            yield from faults_of_module(read_macho(module))
        else:
            yield from faults_of_module(read_elf(module))
            yield from faults_of_tag(wheel)
    yield from faults_of_abi(wheel)


def faults_of_module(module: Module) -> Iterator[str]:
    own = sorted(FROM_SYSTEM - module.imported)
    if own:
        yield f"these functions are the linker's own and not the system's: {', '.join(own)}"
    if module.exported != {EXPORTED}:
        yield f"the module exports {', '.join(sorted(module.exported))}, not only {EXPORTED}"
    if module.libraries - LIBRARIES:
        yield f"the module needs {', '.join(sorted(module.libraries - LIBRARIES))}"
    if not module.is_stripped:
        yield "the module is not stripped"
    if not module.is_signed:
        yield "the module is not signed"


def faults_of_tag(wheel: Path) -> Iterator[str]:
    """Compares the wheel's name with the oldest system that has its symbols."""
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", wheel],
        capture_output=True,
        text=True,
        check=True,
    )
    oldest = json.loads(done.stdout)["overall_tag"]
    if oldest not in wheel.stem.rpartition("-")[2].split("."):
        yield f"its symbols need {oldest}"


def faults_of_abi(wheel: Path) -> Iterator[str]:
    done = subprocess.run(
        [sys.executable, "-m", "abi3audit", "--strict", "--assume-minimum-abi3", "3.11", wheel],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        yield f"the module is not of the stable ABI: {done.stdout}{done.stderr}"


def main(paths: list[str]) -> int:
    found = [f"{path}: {fault}" for path in paths for fault in faults(Path(path))]
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
