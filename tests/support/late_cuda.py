"""Late CUDA: a plug-in of pytest, with which JAX's programs on the CPU make the calls for CUDA.

    python -m pytest -p tests.support.late_cuda tests/apis/jax

XLA's frames are those of its CPU, but for the stream, and `tests/c/late_cuda.h` takes the place of
CUDA's driver, for all of the process. The session fails if it finds a fault, or makes no copy.
"""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path
from typing import Any

import jax
import pytest

from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._native import ffi, lib
from tests.support.c_library import build_library

SOURCE = f"""
#include "{Path(__file__).resolve().parents[1] / "c" / "late_cuda.h"}"

enum {{ MOST = 8 }};
static void *(*handlers[MOST])(void *frame);
static late_stream stream;
static int used;

static void *run(int i, void *frame) {{
  void *failure;
  late_program_stream = &stream;
  failure = late_call(handlers[i], frame);
  /* what XLA does next reads the results */
  late_finish(&stream);
  late_fault_if(late_depth != 0);
  return failure;
}}

#define STAND_IN(i) static void *run_##i(void *frame) {{ return run(i, frame); }}
STAND_IN(0) STAND_IN(1) STAND_IN(2) STAND_IN(3) STAND_IN(4) STAND_IN(5) STAND_IN(6) STAND_IN(7)
static void *(*const stand_ins[MOST])(void *frame) = {{run_0, run_1, run_2, run_3,
                                                     run_4, run_5, run_6, run_7}};

/* Returns a handler for the CPU that calls one for CUDA. */
void *late_stand_in(void *handler) {{
  *(void **)&handlers[used] = handler;
  return *(void **)&stand_ins[used++];
}}

int64_t late_copies(void) {{ return stream.made; }}
int late_fault_count(void) {{ return atomic_load(&late_faults); }}
"""


class LateCuda:
    """The library that stands in for CUDA's driver, and for XLA's part of a call.

    Attributes:
        path: of its file.
    """

    def __init__(self, folder: Path) -> None:
        self.path = build_library(SOURCE, folder)
        check(lib.pp_xla_cuda_driver(str(self.path).encode(), error_slot.raw))
        self._library = ctypes.CDLL(str(self.path))
        self._library.late_stand_in.argtypes = [ctypes.c_void_p]
        self._library.late_stand_in.restype = ctypes.c_void_p
        self._library.late_copies.restype = ctypes.c_int64

    def replace_targets(self) -> None:
        """Makes JAX call handlers for CUDA in place of those for the CPU."""
        register = jax.ffi.register_ffi_target

        def register_on_cpu(name: str, fn: Any, *, platform: str, **options: Any) -> None:
            call = name.removeprefix("parallel_pool_")
            if call == name:
                register(name, fn, platform=platform, **options)
            elif platform == "CUDA":
                handler = ffi.addressof(lib, f"pp_xla_cuda_{call}")
                address = self._library.late_stand_in(int(ffi.cast("uintptr_t", handler)))
                capsule = jax.ffi.pycapsule(ctypes.c_void_p(address))
                register(name, capsule, platform="cpu", **options)

        jax.ffi.register_ffi_target = register_on_cpu

    def copies(self) -> int:
        """Returns how many copies were made."""
        return int(self._library.late_copies())

    def faults(self) -> int:
        """Returns how many faults were found."""
        return int(self._library.late_fault_count())


class _Plugin:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.late_cuda = LateCuda(Path(self._folder.name))
        self.late_cuda.replace_targets()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.late_cuda.faults() or not self.late_cuda.copies():
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        counts = f"{self.late_cuda.copies()} copies, {self.late_cuda.faults()} faults"
        terminalreporter.write_line(f"late CUDA: {counts}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Plugin(), "late_cuda")
