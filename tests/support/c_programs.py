"""Programs in C: compiles those of tests/c with the engine, and runs them.

The engine's objects are those of build_ffi.py: plain programs run the code that ships, the others
what the stages of .ci/stages.py run under the same sanitizers. The programs are in build/c-tests.

A test may include a .c file of the engine, to reach its static functions or to compile it with
macros of its own (the points at which workers are killed). The program then has that file's
functions from the test, and not from the engine's archive.

With CC naming a compiler for another processor, and PP_RUNNER the emulator that runs its programs,
they are tested on that (.ci/stages.py does).
"""

from __future__ import annotations

import faulthandler
import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import build_ffi

ROOT = Path(__file__).resolve().parents[2]
C_TESTS = ROOT / "tests" / "c"
# the kinds of build_ffi.py
BUILDS = {
    "plain": {},
    "O0": {"PP_DEBUG": "1"},
    "tsan": {"PP_SANITIZE": "thread"},
    "asan": {"PP_SANITIZE": "address,undefined"},
}
# functions that several tests call
SHARED = sorted(C_TESTS.glob("*_tests.c"))
# functions that tests replace
WRAPPED = {
    # counts allocations
    "test_alloc": ("malloc", "calloc", "realloc", "aligned_alloc"),
    # makes system calls fail
    "test_shared_heap": ("ftruncate", "fallocate", "mmap", "realloc"),
    # changes what the system says of its clocks and of the parent process
    "test_os": ("clock_getres", "clock_gettime", "getppid"),
    # needs mathematics whose bits are the same everywhere
    "test_golden": ("cos", "sincos", "sinf", "cosf", "pow", "powf"),
}
# programs that are given random bytes; fuzz.h says how to write one
FUZZ_MAIN = C_TESTS / "fuzz_main.c"
FUZZ = sorted(path.stem for path in C_TESTS.glob("fuzz_*.c") if path != FUZZ_MAIN)

# programs that run AVX-512 code with variables on the stack: where gcc 12's AddressSanitizer keeps
# variables to find their use after a return, those are not aligned to 64 bytes (gcc's bug 110027)
AVX512 = ("fuzz_rom",)

# Options of the sanitizers. The first report ends the program, and says more than a later crash.
SANITIZERS = {
    "ASAN_OPTIONS": "allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}


def toolchain(flavour: str) -> build_ffi.Toolchain:
    return build_ffi.Toolchain({"PP_WERROR": "1", **BUILDS[flavour]})


@functools.cache
def engine(flavour: str) -> Path:
    """Brings the engine, and what tests share, up to date.

    They are an archive, so that a test links only what it uses.
    """
    # Turns off pytest's faulthandler_timeout, which is for tests that hang. On a busy machine the
    # first build of all environments may take minutes. pytest sets it again for each test, and
    # run() has a timeout of its own.
    faulthandler.cancel_dump_traceback_later()
    tools = toolchain(flavour)
    archive = tools.folder / "engine.a"
    with tools.locked():
        shared = [tools.compile(source, tools.own_flags) for source in SHARED]
        objects = [*shared, *tools.compile_engine()]
        build_ffi.write_if_changed(archive.with_suffix(".txt"), "\n".join(map(str, objects)))
        if is_older(archive, *objects, archive.with_suffix(".txt")):
            # made anew, as ar would keep deleted files
            archive.unlink(missing_ok=True)
            partial = archive.with_suffix(".partial")
            partial.unlink(missing_ok=True)
            tools.run(["ar", "qcs", partial, *objects])
            partial.replace(archive)
    return archive


def is_older(made: Path, *sources: Path) -> bool:
    at = made.stat().st_mtime_ns if made.exists() else 0
    return any(source.stat().st_mtime_ns >= at for source in sources)


def program(name: str, flavour: str) -> Path:
    """Compiles what changed of a test, and returns its program."""
    archive, tools = engine(flavour), toolchain(flavour)
    output = ROOT / "build" / "c-tests" / tools.folder.name / name
    output.parent.mkdir(parents=True, exist_ok=True)
    objects = compile_sources(name, tools)
    if is_older(output, *objects, archive, Path(__file__)):
        link(name, tools, [*objects, archive], output)
    return output


def compile_sources(name: str, tools: build_ffi.Toolchain) -> list[Path]:
    sources = [C_TESTS / f"{name}.c", *([FUZZ_MAIN] if name in FUZZ else [])]
    with tools.locked():
        return [tools.compile(source, tools.own_flags) for source in sources]


def link(name: str, tools: build_ffi.Toolchain, inputs: Sequence[Path], output: Path) -> None:
    """Links a program of objects, sources and archives."""
    wraps = [f"-Wl,--wrap={function}" for function in WRAPPED.get(name, ())]
    libraries = [*build_ffi.numpy_libraries(), "-lm", "-ldl"]
    tools.run([*tools.cc, *tools.own_flags, *inputs, *wraps, *libraries, "-o", output])


@functools.cache
def unrandomized() -> list[str]:
    """Returns a command that runs another without address randomization; empty if it is denied.

    ThreadSanitizer needs its shadow memory at fixed addresses. Before gcc 14 it gives up when the
    kernel randomizes 32 bits (vm.mmap_rnd_bits), as some distributions do.
    """
    command = ["setarch", "-R"]
    if shutil.which(command[0]) is None:
        return []
    denied = subprocess.run([*command, "true"], capture_output=True, check=False).returncode
    return [] if denied else command


def run(
    program: Path, flavour: str, *arguments: str, timeout: float | None = 300
) -> subprocess.CompletedProcess[str]:
    """Runs a compiled test with the options of the sanitizers."""
    prefix = unrandomized() if flavour == "tsan" else build_ffi.words("PP_RUNNER")
    options = os.environ | SANITIZERS
    if program.name not in AVX512:
        options["ASAN_OPTIONS"] += ":detect_stack_use_after_return=1"
    return subprocess.run(
        [*prefix, str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=options,
    )
