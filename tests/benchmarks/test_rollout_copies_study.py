"""The study of copied rollouts has a row for each scene."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.studies import rollout_copies


@pytest.mark.slow
def test_small_rollouts_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # the others take the time of ale-py's imports
    monkeypatch.setattr(rollout_copies, "IN_WORKERS", rollout_copies.IN_WORKERS[2:3])
    monkeypatch.setattr(rollout_copies, "ASYNCHRONOUS", (("CartPole-v1", 8, 4),))
    out = tmp_path / "copies.md"
    assert rollout_copies.main(["--rounds", "1", "--steps", "4", "--out", str(out)]) == 0
    rows = out.read_text().splitlines()[-3:]
    assert "\n".join(rows) in capsys.readouterr().out
    for row in rows:
        _, whole, storing, part = row.strip("| ").split(" | ")
        assert float(whole) > 0 and float(storing) > 0
        # all three are rounded
        least = 100 * (float(storing) - 0.05) / (float(whole) + 0.5) - 0.05
        most = 100 * (float(storing) + 0.05) / (float(whole) - 0.5) + 0.05
        assert least - 1e-9 <= float(part.removesuffix(" %")) <= most + 1e-9
