"""Compiles the benchmarks' C files with the flags of the shipped module, sharing its objects."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import build_ffi


@contextmanager
def toolchain() -> Iterator[build_ffi.Toolchain]:
    """Yields the toolchain of the shipped module, locked against other builds of this tree."""
    import build_ffi

    tools = build_ffi.Toolchain()
    with tools.locked():
        yield tools


def load(source: Path, parts: Sequence[Path]) -> ctypes.CDLL:
    """Compiles a C file and the engine's files that it needs; loads and returns the library."""
    with toolchain() as tools:
        output = tools.folder / source.with_suffix(".so").name
        tools.link([tools.compile(each, tools.own_flags) for each in (*parts, source)], output)
        return ctypes.CDLL(str(output))
