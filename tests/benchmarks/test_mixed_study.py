"""The study of mixtures has a row for each number of environments, and for each game alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.studies import mixed


@pytest.mark.slow
def test_a_small_mixture_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixed, "ALONE_TURNS", 2)
    monkeypatch.setattr(mixed, "OPENING", 2)
    monkeypatch.setattr(mixed, "TURNS", 2)
    out = tmp_path / "mixed.md"
    assert mixed.main(["--games", "2", "--envs", "1", "--out", str(out)]) == 0
    text = out.read_text()
    assert text.strip() in capsys.readouterr().out
    (row,) = (line for line in text.splitlines() if line.startswith("| 2 | 1 |"))
    assert float(row.split(" | ")[-1].partition(" (")[0]) > 0
    assert (
        sum(line.startswith(f"| {game} |") for game in mixed.ALONE for line in [*text.splitlines()])
        == 3
    )
