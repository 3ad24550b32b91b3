"""Instructions of a marked part of a program are counted, and what a wheel's step takes."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
sys.path.append(sys.argv[1])
import instructions

def count_to(number):
    while number:
        number -= 1

count_to(50_000)
with instructions.counted():
    count_to(int(sys.argv[2]))
"""


@pytest.fixture
def instructions(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns .ci/instructions.py."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module("instructions")


def program(loops: int) -> list[str]:
    return [sys.executable, "-S", "-c", PROGRAM, str(ROOT / ".ci"), str(loops)]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_only_the_marked_part_is_counted(instructions: Any) -> None:
    one, two, three = (instructions.count(program(loops * 1000)) for loops in (1, 2, 3))
    passes = two - one
    # a pass of the loop takes 10 to 2000 instructions, as Python was compiled, and always as many
    assert 10_000 < passes < 2_000_000
    assert three - two == pytest.approx(passes, rel=0.01)
    # the passes before the mark would add fifty times as many
    assert one < 2 * passes


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("code", ["raise SystemExit('planted')", "print('planted: no part')"])
def test_a_program_that_fails_or_marks_nothing_is_shown(instructions: Any, code: str) -> None:
    with pytest.raises(RuntimeError, match="planted"):
        instructions.count([sys.executable, "-S", "-c", code])


def test_a_missing_valgrind_is_named(instructions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/no/such/folder")
    with pytest.raises(instructions.Unavailable, match="install valgrind"):
        instructions.count(["true"])


def test_a_missing_header_is_named(
    instructions: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    marks = instructions.MARKS.replace("callgrind.h", "no_such.h")
    monkeypatch.setattr(instructions, "MARKS", marks)
    with pytest.raises(instructions.Unavailable, match=r"can't compile.*callgrind"):
        instructions.compile_marks(tmp_path)
