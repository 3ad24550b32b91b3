"""The study of bounds checks compares a class with its own C file without them."""

from __future__ import annotations

from pathlib import Path

import pytest

import parallel_pool
from benchmarks.studies import bounds_checks, python_classes
from parallel_pool._source import cache
from parallel_pool._translator import load


@pytest.mark.slow
def test_without_checks_the_library_has_no_message_of_them(tmp_path: Path) -> None:
    made = load.translate(python_classes.GridWorld, "bounds/GridWorld-v0", None, None, {})
    assert bounds_checks.MESSAGE in cache.build(made.path).library.read_bytes()
    task_id, count = bounds_checks.without_checks(python_classes.GridWorld, tmp_path)
    assert count >= 10 and task_id in parallel_pool.list_all_envs()


@pytest.mark.slow
def test_the_study_writes_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bounds_checks, "CLASSES", (python_classes.GridWorld,))
    monkeypatch.setattr(bounds_checks, "STEPS", 20)
    out = tmp_path / "checks.md"
    assert bounds_checks.main(["--rounds", "10", "--out", str(out)]) == 0
    (row,) = [line for line in out.read_text().splitlines() if line.startswith("| GridWorld")]
    assert len(row.split("|")) == 8
    assert out.read_text() in capsys.readouterr().out + "\n"
