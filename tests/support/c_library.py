"""Compiles a few lines of C against csrc, so that a test can call header-only code from Python."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from cffi import FFI

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
