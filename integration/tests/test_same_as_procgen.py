"""The comparison with Procgen's own loop has a row for each play, and goes on where it stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.compare import same_as_procgen
from tests.support.reference import procgen_player
from tests.support.reference.procgen_player import Play

pytestmark = pytest.mark.skipif(
    not procgen_player.is_installed(), reason="procgen-mirror is not installed here"
)


def test_a_table_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "parity.md"
    words = ["--steps", "600", "--num", "2", "--games", "leaper", "--out", str(out)]
    assert same_as_procgen.main(words) == 0
    rows = capsys.readouterr().out
    modes = [line.split(" | ")[1] for line in rows.splitlines()]
    assert modes == ["easy", "hard", "extreme", "exploration"]
    assert out.read_text().endswith(rows) and rows.count(" | the same |") == 4

    def differs(play: Play) -> int:
        raise AssertionError(f"step 3 of {play.steps}")

    monkeypatch.setattr(same_as_procgen, "assert_same_run", differs)
    # those rows are not played again, and one that differs is not written
    assert same_as_procgen.main(words) == 0
    assert not capsys.readouterr().out
    before = out.read_text()
    assert same_as_procgen.main([*words, "--num", "1"]) == 1
    assert "| leaper | easy | 1 | 600 |  | step 3 of 600 |" in capsys.readouterr().out
    assert out.read_text() == before
