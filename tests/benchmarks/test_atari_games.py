"""The scenes of 57 Atari games."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness import report
from benchmarks.scenes import atari_games
from parallel_pool._bench import machine, race
from parallel_pool._bench.outcome import Outcome
from parallel_pool._bench.rounds import Sample
from parallel_pool._engine import registry


def test_the_57_games_are_known() -> None:
    assert len(set(atari_games.GAMES)) == len(atari_games.GAMES) == 57
    for game in atari_games.GAMES:
        assert registry.find(atari_games.task_id(game)).variant == game


def samples_at(*rates: int) -> list[Sample]:
    return [Sample(rate, 1.0, 2.0) for rate in rates]


@pytest.mark.slow
def test_bars_of_games_are_on_median_and_minimum(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    theirs = {"a": 10, "b": 20, "c": 40}

    def race_of(game: str, *_: Any) -> dict[str, list[Sample]]:
        rivals_ = {
            "EnvPool": samples_at(theirs[game], theirs[game]),
            "ale-py AtariVectorEnv": samples_at(25, 25),
        }
        return {"parallel_pool.make": samples_at(100, 100), **rivals_}

    monkeypatch.setattr(atari_games, "race_of", race_of)
    ticks: list[str] = []
    outcome = atari_games.run((), race.SHORT, games=tuple(theirs), tick=ticks.append)
    assert ticks == ["a", "b", "c"]
    assert [row.ratios["EnvPool"].median for row in outcome.rows] == [10, 5, 2.5]
    assert [bar.reached for bar in outcome.bars] == [5, 2.5, 4]
    assert report.headings(outcome)[-2:] == ["x EnvPool", "x ale-py AtariVectorEnv"]
    assert Outcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome
    atari_games.draw(outcome, tmp_path / "games.png")
    assert (tmp_path / "games.png").stat().st_size > 10_000
    # games are in the results, though in no family's picture
    report.write(tmp_path, [outcome], machine.facts())
    assert "x EnvPool" in (tmp_path / "results.md").read_text()


@pytest.mark.slow
def test_our_console_and_act_play_the_same_frames() -> None:
    act = atari_games.Act("breakout")
    consoles = [
        atari_games.Console("breakout", act.actions, build, drawn)
        for build, drawn in atari_games.COLUMNS.values()
    ]
    # several games end in these steps, whether they are played at once or in parts
    frames = act.play(1500)
    assert 4 * 1500 - 100 < frames < 4 * 1500
    assert [console.play(1500) for console in consoles] == [frames] * 3
    again = act.play(700)
    assert consoles[0].play(300) + consoles[0].play(400) == again
    for player in (act, *consoles):
        player.close()


@pytest.mark.slow
def test_frames_are_measured_beside_act() -> None:
    effort = race.Effort(rounds=2, seconds=0.02, turns=1)
    outcome = atari_games.run_frames(effort, games=("pong",))
    (row,) = outcome.rows
    assert list(row.ratios) == list(atari_games.COLUMNS)
    assert len(outcome.bars) == 2 and all(bar.reached for bar in outcome.bars)
    with pytest.raises(RuntimeError, match="build 'none'"):
        atari_games.Console("pong", b"\0", "none", 4)
