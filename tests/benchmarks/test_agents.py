"""The race of games of several agents has a row for each player, and compares the rates."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.studies import agents
from parallel_pool._bench.rounds import timed


def test_a_scene_is_raced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "agents.md"
    assert agents.main(["tag", "--rounds", "2", "--seconds", "0.01", "--out", str(out)]) == 0
    text = out.read_text()
    assert text.strip() in capsys.readouterr().out
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| simple_tag")]
    assert [row[1] for row in rows] == [agents.OURS, agents.DICTS, agents.LOOP]
    ours, _, loop = (float(row[2].replace(",", "")) for row in rows)
    faster = float(rows[2][3].split(" ")[0].replace(",", ""))
    assert ours > loop and faster > 1


def test_players_count_steps_of_whole_games() -> None:
    """A batch is one step of each game; a loop plays one."""
    for player, steps in (
        (agents.Stacked("mpe/simple_spread_v3", 3), 3),
        (agents.Dicts("mpe/simple_spread_v3", 3), 3),
        (agents.Loop(agents.Crowd), 1),
    ):
        assert timed(player, 120).steps == 120 * steps
        player.close()
