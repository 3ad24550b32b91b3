"""The race of Procgen's games has a row for each game, the ratios, and the medians."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.studies import procgen
from tests.support.reference import procgen_player

pytestmark = pytest.mark.skipif(
    not procgen_player.is_installed(), reason="procgen-mirror is not installed here"
)


@pytest.mark.slow
def test_a_game_is_raced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # a process of another Python takes seconds to start
    monkeypatch.setattr(procgen, "PROCGEN_ENVPOOLS", procgen.PROCGEN_ENVPOOLS[:1])
    out = tmp_path / "procgen.md"
    words = ["maze", "--rounds", "2", "--seconds", "0.01", "--out", str(out)]
    assert procgen.main(words) == 0
    text = out.read_text()
    assert text.strip() in capsys.readouterr().out
    head, _, game, middle = text.splitlines()[-4:]
    names = [name.strip() for name in head.strip("|").split("|")]
    assert names[:3] == ["game", f"{procgen.OURS}, steps/s", "Pool, steps/s"]
    assert names[-2:] == ["Pool / own loop, its best threads", "by CPU time, its least"]
    assert game.startswith("| maze | ") and middle.startswith("| median | ")
    assert game.count("|") == middle.count("|") == len(names) + 1


def test_all_games_are_there() -> None:
    assert len(procgen.GAMES) == 16
    assert {procgen.task_of(game, 2).num_envs for game in procgen.GAMES} == {procgen.NUM_ENVS}


def test_an_unknown_game_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        procgen.main(["pong"])
    assert "unknown: pong; choose from bigfish, " in capsys.readouterr().err
