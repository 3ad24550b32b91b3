"""The program that compares dm_control's tasks, on a few steps of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.compare import same_as_control_suite
from tests.support.reference import control_suite_player


@pytest.mark.skipif(
    not control_suite_player.is_installed(),
    reason=f"dm_control is not in {control_suite_player.FOLDER}, where make installs it",
)
def test_it_goes_on_where_it_was_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "same.md"
    given = ["--steps", "40", "--out", str(out), "--tasks", "pendulum-swingup", "--seeds", "2"]
    row = "| pendulum-swingup | {} | 40 | the same |\n"
    assert same_as_control_suite.main(given) == 0
    assert capsys.readouterr().out == row.format(2) and out.read_text().endswith(row.format(2))
    assert same_as_control_suite.main([*given, "3"]) == 0
    assert capsys.readouterr().out == row.format(3)
