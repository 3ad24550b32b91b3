"""KeptTable: runs that follow each other, or play at the same time, fill one file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from integration.compare import same_as_control_suite, same_as_procgen, same_as_robotics
from integration.compare.kept_table import SAME, Case, KeptTable
from parallel_pool._bench import machine

TABLE = KeptTable("Beside ours", "EPYC, commit 1: all.", "| id | ours are |\n| --- | --- |")
HEAD = "# Beside ours\n\nEPYC, commit 1: all.\n\n| id | ours are |\n| --- | --- |\n"


def never() -> tuple[str, ...]:
    raise AssertionError("played again")


def cases(*names: str) -> list[Case]:
    return [(name, lambda: (SAME,)) for name in names]


def test_rows_are_kept_and_not_played_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # a folder of a machine that has no results yet
    path = tmp_path / "new machine" / "parity.md"
    assert TABLE.play_all(cases("a", "b"), path) == 0
    assert path.read_text() == f"{HEAD}| a | the same |\n| b | the same |\n"
    assert capsys.readouterr().out == "| a | the same |\n| b | the same |\n"
    assert TABLE.play_all([("a", never), *cases("c")], path) == 0
    assert path.read_text() == f"{HEAD}| a | the same |\n| b | the same |\n| c | the same |\n"


def test_what_differs_is_printed_and_not_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "parity.md"
    differs: Case = ("a", lambda: ("step 3",))
    assert TABLE.play_all([differs], path) == 1
    assert capsys.readouterr().out == "| a | step 3 |\n" and not path.exists()
    # those after it are played, and kept
    assert TABLE.play_all([differs, *cases("b")], path) == 1
    assert path.read_text() == f"{HEAD}| b | the same |\n"


def test_runs_at_the_same_time_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / "parity.md"

    def meanwhile() -> tuple[str, ...]:
        assert TABLE.play_all(cases("b", "a"), path) == 0
        return (SAME,)

    assert TABLE.play_all([("a", meanwhile), ("b", never), *cases("c")], path) == 0
    assert path.read_text() == f"{HEAD}| b | the same |\n| a | the same |\n| c | the same |\n"


def test_rows_of_another_commit_stand_under_it(tmp_path: Path) -> None:
    path = tmp_path / "parity.md"
    TABLE.play_all(cases("a"), path)
    later = replace(TABLE, how="EPYC, commit 2: all.")
    later.play_all([("a", never), *cases("b", "c")], path)
    rows = "| b | the same |\n| c | the same |\n"
    below = f"\nEPYC, commit 2: all.\n\n{TABLE.columns}\n{rows}"
    assert path.read_text() == f"{HEAD}| a | the same |\n{below}"


@pytest.mark.parametrize(
    ("program", "title"),
    [
        (same_as_control_suite, "dm_control 1.0.50 beside ours"),
        (same_as_procgen, "Procgen beside its own loop"),
        (same_as_robotics, "Gymnasium-Robotics 1.4.2 beside ours"),
    ],
)
def test_programs_have_such_a_table(program: ModuleType, title: str) -> None:
    table = program.table_of(70)
    assert table.title == title
    begin = f"{machine.cpu_name()}, commit {machine.commit()}, "
    assert table.how.startswith(begin)
    assert f"`python -m {program.__name__} --steps 70`" in table.how
    heads, alignment = table.columns.splitlines()
    assert heads.count("|") == alignment.count("|") and heads.endswith("| ours are |")
