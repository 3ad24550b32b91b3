"""The race of MiniGrid's levels has a row for each player, and compares the rates."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.studies import minigrid


@pytest.mark.slow
def test_a_scene_is_raced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "minigrid.md"
    assert minigrid.main(["pictures", "--rounds", "2", "--seconds", "0.01", "--out", str(out)]) == 0
    text = out.read_text()
    assert text.strip() in capsys.readouterr().out
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| MiniGrid")]
    assert [row[1] for row in rows] == [minigrid.OURS, minigrid.SYNC]
    assert float(rows[1][3].split(" ")[0].replace(",", "")) > 1
