"""Compiles and runs each tests/c/test_*.c: plain, under ThreadSanitizer, under Address- and UBSan.

A new test_*.c needs no registration: it is linked against all of csrc. The engine's objects are
those of build_ffi.py: plain tests run the code that ships, the others what the stages of
.ci/stages.py run under the same sanitizers. The programs are in build/c-tests.
"""

from __future__ import annotations

import faulthandler
import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import build_ffi

ROOT = Path(__file__).resolve().parents[2]
C_TESTS = ROOT / "tests" / "c"
# compiling all of the engine again takes too long for make check
FLAVOURS = [
    "plain",
    *(pytest.param(flavour, marks=pytest.mark.slow) for flavour in ("tsan", "asan")),
]
# the kinds of build_ffi.py
BUILDS = {
    "plain": {},
    "O0": {"PP_DEBUG": "1"},
    "tsan": {"PP_SANITIZE": "thread"},
    "asan": {"PP_SANITIZE": "address,undefined"},
}
# functions that tests replace
WRAPPED = {
    # counts allocations
    "test_alloc": ("malloc", "calloc", "realloc", "aligned_alloc"),
    # makes system calls fail
    "test_arena": ("ftruncate", "fallocate", "mmap", "realloc"),
    # changes what the system says of its clocks and of the parent process
    "test_os": ("clock_getres", "clock_gettime", "getppid"),
    # needs mathematics whose bits are the same everywhere
    "test_golden": ("cos", "sincos", "sinf", "cosf", "pow", "powf"),
}
NAMES = sorted(path.stem for path in C_TESTS.glob("test_*.c"))

# Options of the sanitizers. The first report ends the program, and says more than a later crash.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}

# Defects that the tools must find: for each the flavour, the test, and words of the report.
PLANTED = {
    "failed check": ("plain", "TEST(t) { CHECK_EQ(1 + 1, 3); }", "1 + 1 is 2, not 3"),
    "no check": ("plain", "TEST(t) { (void)atomic_load(&check_failed); }", "CHECKED NOTHING"),
    "race": (
        "tsan",
        """
        #include <pthread.h>
        static int shared;
        static void *add(void *arg) { ++shared; return arg; }
        TEST(t) {
          pthread_t thread;
          pthread_create(&thread, NULL, add, NULL);
          ++shared;
          pthread_join(thread, NULL);
          CHECK_EQ(shared, 2);
        }
        """,
        "ThreadSanitizer: data race",
    ),
    "use after free": (
        "asan",
        """
        #include <stdlib.h>
        TEST(t) {
          char *volatile memory = calloc(1, 8);
          free(memory);
          CHECK_EQ(memory[3], 0);
        }
        """,
        "AddressSanitizer: heap-use-after-free",
    ),
    "leak": (
        "asan",
        """
        #include <stdlib.h>
        TEST(t) { CHECK(malloc(8) != NULL); }
        """,
        "LeakSanitizer: detected memory leaks",
    ),
    "overflow": (
        "asan",
        """
        #include <limits.h>
        TEST(t) {
          volatile int large = INT_MAX;
          CHECK_EQ(large + 1, INT_MIN);
        }
        """,
        "signed integer overflow",
    ),
}


def toolchain(flavour: str) -> build_ffi.Toolchain:
    return build_ffi.Toolchain({"PP_WERROR": "1", **BUILDS[flavour]})


@functools.cache
def engine(flavour: str) -> Path:
    """Brings the engine up to date: an archive, so that a test links only what it uses."""
    # Turns off pytest's faulthandler_timeout, which is for tests that hang. On a busy machine the
    # first build of all environments may take minutes. pytest sets it again for each test, and
    # run() has a timeout of its own.
    faulthandler.cancel_dump_traceback_later()
    tools = toolchain(flavour)
    archive = tools.folder / "engine.a"
    with tools.locked():
        objects = tools.compile_engine()
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
    output = ROOT / "build" / "c-tests" / flavour / name
    output.parent.mkdir(parents=True, exist_ok=True)
    compiled = tools.compile(C_TESTS / f"{name}.c", tools.own_flags)
    if is_older(output, compiled, archive, Path(__file__)):
        link(tools, compiled, archive, output)
    return output


def link(tools: build_ffi.Toolchain, source: Path, archive: Path, output: Path) -> None:
    wraps = [f"-Wl,--wrap={function}" for function in WRAPPED.get(source.stem, ())]
    libraries = [*build_ffi.numpy_libraries(), "-lm", "-ldl"]
    tools.run([*tools.cc, *tools.own_flags, source, archive, *wraps, *libraries, "-o", output])


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


def run(program: Path, flavour: str) -> subprocess.CompletedProcess[str]:
    """Runs a compiled test with the options of the sanitizers."""
    return subprocess.run(
        [*(unrandomized() if flavour == "tsan" else []), str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | SANITIZERS,
    )


def check(name: str, flavour: str) -> None:
    done = run(program(name, flavour), flavour)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", NAMES)
def test_c(name: str, flavour: str) -> None:
    check(name, flavour)


@pytest.mark.slow
def test_results_do_not_depend_on_optimization() -> None:
    check("test_golden", "O0")


@pytest.mark.slow
@pytest.mark.parametrize("defect", PLANTED)
def test_planted_defect_is_caught(defect: str, tmp_path: Path) -> None:
    flavour, source, report = PLANTED[defect]
    planted, tools = tmp_path / "planted.c", toolchain(flavour)
    planted.write_text(f'#include "{C_TESTS}/check.h"\n{source}')
    tools.run([*tools.cc, *tools.own_flags, planted, "-o", tmp_path / "planted"])
    done = run(tmp_path / "planted", flavour)
    assert done.returncode != 0
    assert report in done.stdout + done.stderr
