"""Compiles and runs each tests/c/test_*.c: plain, under ThreadSanitizer, under Address- and UBSan.

A new test_*.c needs no registration: it is linked against all of csrc by tests/c/Makefile. Nor does
a new fuzz_*.c, which is given some inputs here, always the same; `make -C tests/c fuzz` gives it as
many as there is time for.
"""

from __future__ import annotations

import faulthandler
import fcntl
import functools
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
C_TESTS = ROOT / "tests" / "c"
# compiling all of the engine again for a sanitizer takes too long for make check
FLAVOURS = [
    "plain",
    *(pytest.param(flavour, marks=pytest.mark.slow) for flavour in ("tsan", "asan")),
]
NAMES = sorted(path.stem for path in C_TESTS.glob("test_*.c"))
FUZZ = sorted(path.stem for path in C_TESTS.glob("fuzz_*.c") if path.stem != "fuzz_main")
# what takes a second or two; a ROM is played for some frames, twice
INPUTS = {"plain": 20_000, "asan": 3_000}
ROM_INPUTS = {"plain": 25, "asan": 10}

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


@functools.cache
def numpy_flags() -> str:
    """Returns flags for NumPy's headers and libraries, which make would look up at every call."""
    command = [sys.executable, str(ROOT / "build_ffi.py"), "--numpy"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def make(flavour: str, target: str) -> str:
    """Brings a target of tests/c/Makefile up to date and returns the output of make."""
    folder = ROOT / "build" / "c-tests" / flavour
    folder.mkdir(parents=True, exist_ok=True)
    # Turns off pytest's faulthandler_timeout, which is for tests that hang. On a busy machine the
    # first build of all environments may take minutes. pytest sets it again for each test, and
    # run() has a timeout of its own.
    faulthandler.cancel_dump_traceback_later()
    with open(folder.parent / "lock", "w") as lock:
        # several pytest workers may want the same objects, and flavours share some
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "--no-print-directory", "-C", str(C_TESTS), "-j2", target]
        command += [f"FLAVOUR={flavour}", f"PYTHON={sys.executable}", f"NUMPY={numpy_flags()}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


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


def run(program: Path, flavour: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a compiled test with the options of the sanitizers."""
    return subprocess.run(
        [*(unrandomized() if flavour == "tsan" else []), str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | SANITIZERS,
    )


def check(name: str, flavour: str, *arguments: str) -> None:
    make(flavour, name)
    done = run(ROOT / "build" / "c-tests" / flavour / name, flavour, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", NAMES)
def test_c(name: str, flavour: str) -> None:
    check(name, flavour)


def inputs(name: str, flavour: str) -> str:
    return str((ROM_INPUTS if name == "fuzz_rom" else INPUTS)[flavour])


@pytest.mark.parametrize("flavour", ["plain", pytest.param("asan", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FUZZ)
def test_random_inputs_do_no_harm(name: str, flavour: str) -> None:
    check(name, flavour, inputs(name, flavour))


# Defects of the engine that a fuzz target must find: the target, its flavour, the C file to compile
# anew, the file with the defect, what it replaces there, and words of the report.
FUZZ_DEFECTS = {
    "a snapshot's size is not checked": (
        *("fuzz_snapshot", "asan", "pool/snapshot.c", "pool/snapshot.c"),
        *("if (size != (int64_t)needed) return false;", "", "AddressSanitizer"),
    ),
    "the first result of a call is not checked": (
        *("fuzz_xla", "asan", "xla/calls.c", "xla/calls.c"),
        *(" || !is_handle(results->items[0])", "", "AddressSanitizer"),
    ),
    "machine code forgets the carry of a sum": (
        *("fuzz_rom", "plain", "envs/atari/console/translation/translator.c"),
        "envs/atari/console/translation/read.inl",
        *("as_set_if(&t->as, IF_BELOW, HOST_CARRY);", ";", ""),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("defect", FUZZ_DEFECTS)
def test_a_fuzz_target_finds_a_planted_defect(defect: str, tmp_path: Path) -> None:
    name, flavour, compiled, changed, old, new, words = FUZZ_DEFECTS[defect]
    csrc, program = tmp_path / "csrc", tmp_path / name
    shutil.copytree(ROOT / "csrc", csrc)
    source = (csrc / changed).read_text()
    assert source.count(old) == 1
    (csrc / changed).write_text(source.replace(old, new))
    make(flavour, name)
    folder = ROOT / "build" / "c-tests" / flavour
    command = [
        *shlex.split(make(flavour, "flags")),
        str(csrc / compiled),
        *(str(folder / "tests" / "c" / f"{each}.o") for each in (name, "fuzz_main")),
        *(str(folder / "engine.a"), *numpy_flags().split()[1:], "-lm", "-ldl", "-o", str(program)),
    ]
    subprocess.run(command, check=True)
    done = run(program, flavour, inputs(name, flavour))
    assert done.returncode != 0
    assert words in done.stderr and (flavour == "plain" or "input " in done.stderr)


@pytest.mark.slow
def test_results_do_not_depend_on_optimization() -> None:
    check("test_golden", "O0")


@pytest.mark.slow
@pytest.mark.parametrize("defect", PLANTED)
def test_planted_defect_is_caught(defect: str, tmp_path: Path) -> None:
    flavour, source, report = PLANTED[defect]
    (tmp_path / "planted.c").write_text('#include "check.h"\n' + source)
    compile_command = shlex.split(make(flavour, "flags"))
    command = [*compile_command, f"-I{C_TESTS}", "planted.c", "-o", "planted"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = run(tmp_path / "planted", flavour)
    assert done.returncode != 0
    assert report in done.stdout + done.stderr
