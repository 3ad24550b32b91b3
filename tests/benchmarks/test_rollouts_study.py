"""The study of rollouts has a row for each scene and each bar."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.studies import rollouts


@pytest.mark.slow
def test_small_rollouts_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rollouts.md"
    small = ["--rounds", "1", "--steps", "4", "--capacity", "256"]
    assert rollouts.main([*small, "--out", str(out)]) == 0
    text = out.read_text()
    assert text.strip() in capsys.readouterr().out
    for env, num_envs, bar in rollouts.SCENES:
        (row,) = (line for line in text.splitlines() if line.startswith(f"| {env}, {num_envs} x"))
        assert row.endswith(f"| {bar} |")
        assert all(float(cell) > 0 for cell in row.strip("| ").split(" | ")[1:])
    assert text.count("\n| ") == 3 + 1 + 3 + 2
