"""The program that compares Gymnasium-Robotics' tasks, on a few steps of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.compare import same_as_robotics
from tests.support.reference import robotics_player


@pytest.mark.skipif(
    not robotics_player.is_installed(),
    reason=f"Gymnasium-Robotics is not in {robotics_player.FOLDER}, where make installs it",
)
def test_it_goes_on_where_it_was_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "same.md"
    given = ["--steps", "40", "--out", str(out), "--ids", "PointMaze_Open-v3"]
    row = "| PointMaze_Open-v3 | 4 | 40 | the same |\n"
    assert same_as_robotics.main(given) == 0
    assert capsys.readouterr().out == row and out.read_text().endswith(row)
    assert same_as_robotics.main([*given, "FetchReach-v4"]) == 0
    assert capsys.readouterr().out == "| FetchReach-v4 | 4 | 40 | the same |\n"
