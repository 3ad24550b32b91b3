"""Compiles and runs each tests/c/test_*.c: plain, under ThreadSanitizer, under Address- and UBSan.

A new test_*.c needs no registration: it is linked against all of csrc. Nor does a new fuzz_*.c,
which is given some inputs here, always the same; `python -m tests.fuzz` gives it as many as there
is time for.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support import c_programs
from tests.support.c_programs import C_TESTS, FUZZ, ROOT

pytestmark = pytest.mark.proven("csrc", "tests/c")

# compiling all of the engine again takes too long for make check
FLAVOURS = [
    "plain",
    *(pytest.param(flavour, marks=pytest.mark.slow) for flavour in ("tsan", "asan")),
]
# They take a third of a second or more: what worker processes do and where they die, on boards that
# many share, and others. test_pool takes longer than some of them, and shows the most.
LONG = {
    *("test_board", "test_cost", "test_cut", "test_leftover", "test_os_table", "test_processes"),
    *("test_shared_heap", "test_trace", "test_wild", "test_worker_death"),
    *("fuzz_board", "fuzz_calls"),
}


def but_long(names: Iterable[str]) -> list[Any]:
    """Returns programs, of which make check leaves out the long ones."""
    return [
        pytest.param(name, marks=pytest.mark.sanitizers) if name in LONG else name for name in names
    ]


NAMES = but_long(sorted(path.stem for path in C_TESTS.glob("test_*.c")))

# what takes a second or two; a ROM is played for some frames, twice, and each board has a pool
INPUTS = {
    "fuzz_calls": {"plain": 1_000, "asan": 300},
    "fuzz_board": {"plain": 100, "asan": 50},
    "fuzz_pack": {"plain": 50_000, "asan": 10_000},
    "fuzz_rom": {"plain": 25, "asan": 10},
    "fuzz_snapshot": {"plain": 20_000, "asan": 3_000},
    "fuzz_xla": {"plain": 20_000, "asan": 3_000},
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


def check(name: str, flavour: str, *arguments: str) -> None:
    done = c_programs.run(c_programs.program(name, flavour), flavour, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", NAMES)
def test_c(name: str, flavour: str) -> None:
    check(name, flavour)


def inputs(name: str, flavour: str) -> str:
    return str(INPUTS[name][flavour])


@pytest.mark.parametrize("flavour", ["plain", pytest.param("asan", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", but_long(FUZZ))
def test_random_inputs_do_no_harm(name: str, flavour: str) -> None:
    check(name, flavour, inputs(name, flavour))


# Defects of the engine that a fuzz target must find: the target, its flavour, the C file, what it
# replaces there, and words of the report.
FUZZ_DEFECTS = {
    "a snapshot's size is not checked": (
        *("fuzz_snapshot", "asan", "native/snapshot.c"),
        *("if (size != (int64_t)needed) return false;", "", "AddressSanitizer"),
    ),
    "packed bytes may repeat words behind the end of the memory": (
        *("fuzz_pack", "asan", "base/pack.c"),
        *("if (words - at < head.repeated) return false;", "", "AddressSanitizer"),
    ),
    "an environment that is sent may have any number": (
        *("fuzz_calls", "asan", "pool/send.c"),
        *("if (id < 0 || id >= n) {", "if (id < 0) {", "AddressSanitizer"),
    ),
    "the environment that a worker names is not checked": (
        *("fuzz_board", "asan", "processes/collect.c"),
        *("env_id >= 0 && env_id < pool->fleet.num_envs && ", "", "AddressSanitizer"),
    ),
    "the first result of a call is not checked": (
        *("fuzz_xla", "asan", "xla/calls.c"),
        *(" ||\n      !pp_xla_is_handle(results->items[0])", "", "AddressSanitizer"),
    ),
    "machine code forgets the carry of a sum": (
        *("fuzz_rom", "plain", "envs/atari/console/translation/read.c"),
        *("as_set_if(&e->as, IF_BELOW, HOST_CARRY);", ";", ""),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("defect", FUZZ_DEFECTS)
def test_a_fuzz_target_finds_a_planted_defect(defect: str, tmp_path: Path) -> None:
    name, flavour, changed, old, new, words = FUZZ_DEFECTS[defect]
    csrc, program = tmp_path / "csrc", tmp_path / name
    shutil.copytree(ROOT / "csrc", csrc)
    source = (csrc / changed).read_text()
    assert source.count(old) == 1
    (csrc / changed).write_text(source.replace(old, new))
    tools = c_programs.toolchain(flavour)
    own = c_programs.compile_sources(name, tools)
    # the file with the defect stands before the archive, which has it without
    c_programs.link(name, tools, [csrc / changed, *own, c_programs.engine(flavour)], program)
    done = c_programs.run(program, flavour, inputs(name, flavour))
    assert done.returncode != 0
    assert words in done.stderr and (flavour == "plain" or "input " in done.stderr)


@pytest.mark.slow
def test_results_do_not_depend_on_optimization() -> None:
    check("test_golden", "O0")


@pytest.mark.slow
@pytest.mark.parametrize("defect", PLANTED)
def test_planted_defect_is_caught(defect: str, tmp_path: Path) -> None:
    flavour, source, report = PLANTED[defect]
    planted, tools = tmp_path / "planted.c", c_programs.toolchain(flavour)
    planted.write_text(f'#include "{C_TESTS}/check.h"\n{source}')
    tools.run([*tools.cc, *tools.own_flags, planted, "-o", tmp_path / "planted"])
    done = c_programs.run(tmp_path / "planted", flavour)
    assert done.returncode != 0
    assert report in done.stdout + done.stderr


def test_a_failed_check_in_a_shared_file_is_counted(tmp_path: Path) -> None:
    tools, shared, test = c_programs.toolchain("plain"), tmp_path / "shared.c", tmp_path / "test.c"
    head = f'#include "{C_TESTS}/check.h"\nvoid look(void);\n'
    shared.write_text(f"#define CHECK_NO_MAIN\n{head}void look(void) {{ CHECK_EQ(1 + 1, 3); }}")
    test.write_text(f"{head}TEST(t) {{ CHECK_EQ(1, 1); look(); }}")
    tools.run([*tools.cc, *tools.own_flags, test, shared, "-o", tmp_path / "program"])
    done = c_programs.run(tmp_path / "program", "plain")
    assert done.returncode == 1
    assert "1 + 1 is 2, not 3" in done.stdout and "FAILED" in done.stdout
