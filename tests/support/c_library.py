"""C functions for tests to call: those of a few lines of C, and those that the module hides."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cffi import FFI

import build_ffi
from benchmarks.harness.toolchain import toolchain

CSRC = Path(__file__).resolve().parents[2] / "csrc"
PUBLIC_HEADER = CSRC / "include" / "pp_env.h"
FLAGS = "-std=c11 -O3 -ffp-contract=off -Wall -Wextra -Wshadow -Werror -shared -fPIC"


def build_library(source: str, folder: Path) -> Path:
    """Compiles C into a shared library of this folder."""
    file, library = folder / "library.c", folder / "library.so"
    file.write_text(source)
    compiler = shlex.split(os.environ.get("CC") or "cc")
    includes = [f"-I{CSRC / 'include'}", f"-I{CSRC}"]
    command = [*compiler, *FLAGS.split(), *includes, str(file), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def compile_c(folder: Path, source: str, prototypes: str) -> tuple[FFI, Any]:
    """Returns (ffi, library) of the C source; prototypes may use the types of pp_env.h."""
    library = build_library(source, folder)
    ffi = FFI()
    lines = PUBLIC_HEADER.read_text().splitlines()
    ffi.cdef("\n".join(line for line in lines if not line.startswith("#")))
    ffi.cdef(prototypes)
    return ffi, ffi.dlopen(str(library))


def link_shipped(name: str, units: Iterable[Path], symbols: Iterable[str]) -> Path:
    """Links objects of the shipped module into a library, and returns its path.

    Objects that `make build` has not made are compiled.

    Args:
        name: of the library.
        units: the C files.
        symbols: what `Hidden` is to find in it.

    Raises:
        CompileError: the compiler fails.
    """
    # compiling may take longer than a test may; pytest sets the timer again for each test
    faulthandler.cancel_dump_traceback_later()
    with toolchain() as tools:
        source, library = tools.folder / "generated" / f"{name}.c", tools.folder / f"{name}.so"
        build_ffi.write_if_changed(source, exports(symbols))
        objects = [tools.compile(each, tools.own_flags) for each in (*units, source)]
        made = library.stat().st_mtime_ns if library.exists() else 0
        if any(each.stat().st_mtime_ns >= made for each in objects):
            tools.link(objects, library)
        return library


def exports(symbols: Iterable[str]) -> str:
    """Returns C with the address of each symbol: the module's objects hide the symbols."""
    visible = '__attribute__((visibility("default"))) void *const'
    return "".join(f"extern char {name}[];\n{visible} at_{name} = {name};\n" for name in symbols)


class Hidden:
    """Functions and variables of a library, of which `exports` tells the addresses."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def address(self, symbol: str) -> int:
        address = ctypes.c_void_p.in_dll(self._library, f"at_{symbol}").value
        assert address is not None
        return address

    def function(self, symbol: str, result: Any, *arguments: Any) -> Any:
        """Returns a function that takes and returns these types of ctypes."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.address(symbol))

    def functions(self, types: Mapping[str, tuple[Any, ...]]) -> SimpleNamespace:
        """Returns functions as attributes; `types` has result and arguments of each."""
        return SimpleNamespace(**{name: self.function(name, *types[name]) for name in types})
