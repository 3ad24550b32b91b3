"""The race of compiled programs has a row for each player."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.studies import jax
from parallel_pool._bench.rounds import timed


@pytest.mark.slow
def test_a_scene_is_raced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "jax.md"
    assert jax.main(["cartpole", "--rounds", "2", "--seconds", "0.01", "--out", str(out)]) == 0
    text = out.read_text()
    assert text.strip() in capsys.readouterr().out
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| CartPole")]
    assert [row[1] for row in rows] == list(jax.players(jax.SCENES["cartpole"]))


@pytest.mark.slow
def test_all_of_ours_play_the_same() -> None:
    """The sum of rewards and the last observations are equal after as many steps."""
    scene = jax.SCENES["cartpole"]
    made = jax.players(scene)
    program, callback, loop = (made[name]() for name in (jax.OURS, jax.CALLBACK, jax.LOOP))
    for player in (program, callback, loop):
        assert timed(player, 300).steps == 300 * scene.count
    _, seen, total = program.carry
    other_seen, other_total = callback.carry
    np.testing.assert_array_equal(seen, other_seen)
    np.testing.assert_array_equal(seen, loop.observations)
    assert total == other_total == loop.total
    for player in (program, callback, loop):
        player.close()
