"""The study of the prover: it finds what is planted, and says how soon."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.studies import prover


@pytest.mark.slow
def test_a_planted_difference_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    arguments = ["--only", "sign of zero", "--steps", "500", "--out", str(tmp_path / "table.md")]
    assert prover.main(arguments) == 0
    assert "1 of 1 were found, and repeated" in (tmp_path / "table.md").read_text()
    assert "| the sign of zero | glider |" in capsys.readouterr().out
