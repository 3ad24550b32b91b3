"""The output of .ci/stages.py: the slowest tests, the times, and the summary of failures."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

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
    """Returns .ci/stages.py with its counts at 0 and a folder of its own for reports."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    module = importlib.import_module("stages")
    for name, value in {"passed": 0, "failed": 0, "BUILD": tmp_path, "ROOT": tmp_path}.items():
        monkeypatch.setattr(module, name, value)
    return module


def last_lines(stages: Any, capsys: pytest.CaptureFixture[str], stage: Any) -> str:
    """Runs a stage that fails; returns what is printed after its end."""
    assert stages.main([stage.__name__]) == 1
    return capsys.readouterr().out.split(f"== {stage.__name__} ")[-1]


def run_of(stages: Any, monkeypatch: pytest.MonkeyPatch, tests: str) -> Any:
    """Adds a stage that runs these tests, and returns it."""
    (stages.ROOT / "pytest.ini").write_text("[pytest]\n")
    (stages.ROOT / "test_sample.py").write_text(tests)

    def sample() -> None:
        """Runs the sample tests."""
        stages.pytest("sample", "-p", "no:cacheprovider", "test_sample.py", cwd=stages.ROOT)

    monkeypatch.setitem(stages.STAGES, "sample", sample)
    return sample


@pytest.mark.slow
def test_a_failed_run_names_its_tests_and_their_errors(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = last_lines(stages, capsys, run_of(stages, monkeypatch, FAILING.format(number=1)))
    lines = printed.splitlines()
    assert lines[0].startswith("failed: exit status 1: ")
    assert lines[1:3] == [
        "FAILED test_sample::test_bad[0]",
        "FAILED test_sample::test_without_fixture",
    ]
    assert lines[3:6] == [
        "-- 1:",
        "  test_sample.py:5: AssertionError",
        "  AssertionError: as the helper says",
    ]
    assert "  LookupError: of the fixture" in lines
    assert lines[-1] == "1 passed, 2 failed"


@pytest.mark.slow
def test_many_failures_are_summarised_briefly(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = last_lines(stages, capsys, run_of(stages, monkeypatch, FAILING.format(number=40)))
    assert printed.count("FAILED ") == 20 and "\n... and 21 more\n" in printed
    assert printed.count("AssertionError: as the helper says") >= 3
    assert len(printed) <= 3000
    assert printed.endswith("\n1 passed, 41 failed\n")


@pytest.mark.slow
def test_a_run_without_a_report_is_named(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = last_lines(stages, capsys, run_of(stages, monkeypatch, "import os; os._exit(7)"))
    assert "exit status 7" in printed and "pytest wrote no report" in printed
    assert printed.endswith("\n0 passed, 1 failed\n")


@pytest.mark.slow
def test_tests_that_cannot_be_imported_are_named(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = last_lines(stages, capsys, run_of(stages, monkeypatch, "import no_such_module"))
    assert "No module named 'no_such_module'" in printed
    assert printed.endswith("\n0 passed, 1 failed\n")


SLOW = """
import time

def test_slow():
    time.sleep(0.6)

def test_quick():
    pass
"""


@pytest.mark.slow
def test_a_run_shows_its_slowest_tests_and_the_time(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stage = run_of(stages, monkeypatch, SLOW)
    assert stages.main([stage.__name__]) == 0
    printed = capfd.readouterr().out
    slowest = r"slowest 10 durations =*\n0\.\d+s call +test_sample\.py::test_slow\n"
    assert re.search(slowest, printed)
    assert "test_quick" not in printed
    assert re.search(r"== sample \d+ s: \d+ s in all\n2 passed, 0 failed\n$", printed)


def test_each_stage_prints_its_time_and_a_failure_is_the_last(
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


def test_commands_that_run_together_all_end_and_the_first_that_failed_is_named(
    stages: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = ["sh", "-c"]
    commands = [[*shell, f"echo of {n} >&2; exit {n}"] for n in (0, 5, 6, 0)]
    with pytest.raises(stages.Failed, match=re.escape("exit status 5: sh -c echo of 5")):
        stages.run_together(*commands)
    assert sorted(capsys.readouterr().out.splitlines()) == ["of 0", "of 0", "of 5", "of 6"]
    stages.run_together(commands[0])


@pytest.mark.slow
def test_parts_of_the_tests_run_side_by_side(
    stages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each has a process of its own, their counts are added, and the first that failed is named."""
    (stages.ROOT / "pytest.ini").write_text("[pytest]\n")
    for name, number in {"good": 3, "bad": 4, "worse": 5}.items():
        fails = "" if name == "good" else f"\ndef test_{name}():\n    assert 0\n"
        (stages.ROOT / f"test_{name}.py").write_text(
            "import os, pytest\n"
            f"@pytest.mark.parametrize('number', range({number}))\n"
            f"def test_all(number): assert os.environ['PART'] == 'of them'\n{fails}"
        )

    def parts() -> None:
        """Runs the parts."""
        paths = {name: [f"test_{name}.py"] for name in ("good", "bad", "worse")}
        stages.pytest_together(paths, "-p", "no:cacheprovider", PART="of them")

    monkeypatch.setitem(stages.STAGES, "parts", parts)
    printed = last_lines(stages, capsys, parts)
    assert "FAILED test_bad::test_bad\n" in printed and "test_worse" not in printed
    assert printed.endswith("\n12 passed, 2 failed\n")


def test_the_parts_of_make_check_have_all_tests(stages: Any) -> None:
    named = [folder for part in stages.QUICK_PARTS.values() for folder in part]
    folders = [folder for folder in named if not folder.startswith("--")]
    folders.remove("tests")
    assert all((ROOT / folder).is_dir() for folder in folders)
    assert {f"--ignore={folder}" for folder in folders} == set(named) - {*folders, "tests"}


# what stands for .ci/stages.py when it runs one stage
ONE_STAGE = """
import sys

name = sys.argv[1]
print(f"== 1/1 {name}: ...", flush=True)
if name == "dead":
    sys.exit(3)
if name == "bad":
    print("== bad failed: exit status 1: pytest\\nFAILED test_one\\n2 passed, 1 failed")
    sys.exit(1)
print("4 passed, 0 failed")
"""


@pytest.mark.parametrize(
    ("names", "end"),
    [
        (("good", "fine"), ["8 passed, 0 failed"]),
        (
            ("good", "bad"),
            ["== bad failed: exit status 1: pytest", "FAILED test_one", "6 passed, 1 failed"],
        ),
        (
            ("dead", "good"),
            ["== dead failed: it ended early, with status 3", "4 passed, 1 failed"],
        ),
    ],
)
def test_stages_side_by_side_show_their_output_in_turn(
    stages: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    names: tuple[str, ...],
    end: list[str],
) -> None:
    program = stages.BUILD / "stages.py"
    program.write_text(ONE_STAGE)
    monkeypatch.setattr(stages, "__file__", str(program))
    monkeypatch.setitem(stages.GROUPS, "both", [names, "later"])
    for name in (*names, "later"):
        monkeypatch.setitem(stages.STAGES, name, lambda: None)
    is_good = len(end) == 1
    assert stages.main(["both"]) == (not is_good)
    printed = capsys.readouterr().out.splitlines()
    first, second = (printed.index(f"== 1/1 {name}: ...") for name in names)
    assert first < second
    assert any(re.fullmatch(rf"== {' with '.join(names)} \d+ s", line) for line in printed)
    # a group that fails is the last
    assert any(line.startswith("== later ") for line in printed) == is_good
    if is_good:
        end = ["9 passed, 0 failed"]
    assert printed[-len(end) :] == end


# ----------------------------------------------------------------------- cost of the wheel --


@pytest.fixture
def built(stages: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that runs the stage `cost` on a wheel whose step takes so much; built from
    source, a step takes 1000 instructions."""
    (stages.ROOT / "dist").mkdir()
    (stages.ROOT / "dist" / "parallel_pool-0.1.0.tar.gz").touch()
    commands: list[tuple[Any, ...]] = []
    monkeypatch.setattr(stages, "built_wheel", lambda machine: stages.ROOT / "dist" / "it.whl")
    monkeypatch.setattr(stages, "unpack", lambda wheel: stages.BUILD / wheel.name)
    monkeypatch.setattr(stages, "run", lambda *command, **env: commands.append((command, env)))

    def cost(of_wheel: float) -> list[tuple[Any, ...]]:
        counts = {"it.whl": of_wheel, "source": 1000.0}
        monkeypatch.setattr(
            stages.atari_steps, "count", lambda tree, game, steps: counts[tree.name]
        )
        stages.cost()
        return commands

    return cost


def test_a_wheel_may_take_as_long_as_an_installation_from_source(
    built: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ((command, env),) = built(1029.0)
    assert command[1:4] == ("-m", "pip", "install")
    assert command[-1].name == "parallel_pool-0.1.0.tar.gz"
    # those of the wheel's build must not reach the one that it is compared with
    assert env == {"CFLAGS": "", "LDFLAGS": ""}
    said = "pong: 1,029 instructions a step of the wheel, 1,000 built from source: x 1.0290\n"
    assert capsys.readouterr().out == said


def test_a_slower_wheel_is_refused(stages: Any, built: Any) -> None:
    with pytest.raises(stages.Failed, match=r"^1,031 .* 1,000 built from source: more than x 1.03"):
        built(1031.0)


def test_without_valgrind_the_cost_is_not_compared(
    stages: Any, monkeypatch: pytest.MonkeyPatch, built: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def count(*_: Any) -> float:
        raise stages.instructions.Unavailable("it is missing")

    monkeypatch.setattr(stages.atari_steps, "count", count)
    stages.cost()
    assert capsys.readouterr().out == "skipped: it is missing\n"
