"""The command `python -m parallel_pool bench`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.harness import report
from parallel_pool._bench import race
from parallel_pool._bench.scene import Scene
from tests.benchmarks.made_up import outcome


@pytest.mark.slow
def test_command_measures_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = []

    def run(scene: Scene, vs: Sequence[str], effort: race.Effort, *, tick: race.Tick):
        calls.append((scene.name, tuple(vs), effort.rounds))
        tick("round")
        return outcome(scene.name)

    monkeypatch.setattr(race, "run", run)
    arguments = ["cartpole-1", "pong-1", "--vs", "ale,envpool", "--rounds", "6"]
    assert command.main([*arguments, "--out", str(tmp_path)]) == 0
    assert calls == [("cartpole-1", ("ale", "envpool"), 6), ("pong-1", ("ale", "envpool"), 6)]
    assert [each.name for each in report.read(tmp_path)] == ["cartpole-1", "pong-1"]
    shown = capsys.readouterr().out
    assert "Title of pong-1" in shown
    assert "vs them >= 5x: 4x, NOT met" in shown
