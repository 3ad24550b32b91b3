"""The benchmark of an environment of one's own: its players return the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.studies import own_env
from parallel_pool._engine import registry


@pytest.mark.slow
def test_players_are_the_same_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setattr(own_env, "STEPS", 2)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert own_env.main(["--rounds", "2", "--out", str(tmp_path / "own-env.md")]) == 0
    printed = capsys.readouterr().out
    assert "| CartPole-v1 |" in printed and "| mine/CartPole-v1 |" in printed
    assert (tmp_path / "own-env.md").read_text() in printed
    actions = np.ones(own_env.NUM_ENVS, np.int64)
    with own_env.player(own_env.BUILT_IN) as ours, own_env.player(own_env.OWN) as own:
        for _ in range(20):
            for a, b in zip(ours.step(actions), own.step(actions), strict=True):
                np.testing.assert_array_equal(a, b)
