"""The last lines of a run of the stages: CI shows little more of one that failed."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent

FAILING = """
import pytest

def helper(value):
    assert value == list(range(100)), "as the helper says"

def test_good():
    pass

@pytest.mark.parametrize("number", range({number}))
def test_bad(number):
    helper([number] * 3)

@pytest.fixture
def broken():
    raise LookupError("of the fixture")

def test_without_fixture(broken):
    pass
"""


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """.ci/stages.py, which counts anew and writes its reports elsewhere."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    module = importlib.import_module("stages")
    for name, value in {"passed": 0, "failed": 0, "BUILD": tmp_path, "ROOT": tmp_path}.items():
        monkeypatch.setattr(module, name, value)
    return module


def last_lines(stages: Any, capsys: pytest.CaptureFixture[str], stage: Any) -> str:
    """What is printed after all stages have ended."""
    assert stages.main([stage.__name__]) == 1
    return capsys.readouterr().out.split(f"== {stage.__name__} ")[-1]


def run_of(stages: Any, monkeypatch: pytest.MonkeyPatch, tests: str) -> Any:
    """A stage that runs these tests."""
    (stages.ROOT / "pytest.ini").write_text("[pytest]\n")
    (stages.ROOT / "test_toys.py").write_text(tests)

    def toys() -> None:
        """Fails."""
        stages.pytest("toys", "-p", "no:cacheprovider", "test_toys.py", cwd=stages.ROOT)

    monkeypatch.setitem(stages.STAGES, "toys", toys)
    return toys


def test_a_failed_run_names_its_tests_and_their_errors(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = last_lines(stages, capsys, run_of(stages, monkeypatch, FAILING.format(number=1)))
    lines = said.splitlines()
    assert lines[0].startswith("failed: exit status 1: ")
    assert lines[1:3] == ["FAILED test_toys::test_bad[0]", "FAILED test_toys::test_without_fixture"]
    assert lines[3:6] == [
        "-- 1:",
        "  test_toys.py:5: AssertionError",
        "  AssertionError: as the helper says",
    ]
    assert "  LookupError: of the fixture" in lines
    assert lines[-1] == "1 passed, 2 failed"


def test_a_run_of_which_much_failed_says_it_in_short(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = last_lines(stages, capsys, run_of(stages, monkeypatch, FAILING.format(number=40)))
    assert said.count("FAILED ") == 20 and "\n... and 21 more\n" in said
    assert said.count("AssertionError: as the helper says") >= 3
    assert len(said) <= 3000
    assert said.endswith("\n1 passed, 41 failed\n")


def test_a_run_that_left_no_report(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = last_lines(stages, capsys, run_of(stages, monkeypatch, "import os; os._exit(7)"))
    assert "exit status 7" in said and "pytest has left no report" in said
    assert said.endswith("\n0 passed, 1 failed\n")


def test_tests_that_cannot_be_imported_are_named(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = last_lines(stages, capsys, run_of(stages, monkeypatch, "import of_nobody"))
    assert "No module named 'of_nobody'" in said
    assert said.endswith("\n0 passed, 1 failed\n")


def test_each_stage_tells_its_time_and_the_first_to_fail_is_the_last(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise stages.Failed("for a reason")

    for name, stage in {"first": lambda: None, "second": fail, "third": fail}.items():
        monkeypatch.setitem(stages.STAGES, name, stage)
    assert stages.main(["first", "second", "third"]) == 1
    times, *last = capsys.readouterr().out.splitlines()[-3:]
    assert re.fullmatch(r"== first \d+ s, second \d+ s: \d+ s in all", times)
    assert last == ["== second failed: for a reason", "1 passed, 1 failed"]
