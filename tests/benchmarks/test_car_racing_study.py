"""The race of CarRacing has a row for each player, with steps per second and CPU time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.studies import car_racing


@pytest.mark.slow
def test_a_scene_is_raced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(car_racing, "NUM_ENVS", 2)
    monkeypatch.setattr(car_racing, "FIRST_SECOND", 2)
    out = tmp_path / "racing.md"
    assert car_racing.main(["gray", "--rounds", "1", "--seconds", "0.01", "--out", str(out)]) == 0
    text = out.read_text()
    assert text.strip() in capsys.readouterr().out
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| gray")]
    assert [row[1] for row in rows] == [car_racing.OURS, car_racing.SYNC]
    assert len({len(row) for row in rows}) == 1
    # CPU time, and the ratio of both
    assert float(rows[1][4].replace(",", "")) > float(rows[0][4].replace(",", "")) > 0
    assert float(rows[1][5].split(" ")[0].replace(",", "")) > 1
