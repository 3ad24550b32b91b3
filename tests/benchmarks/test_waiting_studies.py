"""The studies of prepared resets and of camera simulators play all players and write results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.studies import camera, prepared_resets
from tests.support.timeouts import limited

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    """Fails a test that hangs. They measure for seconds, with several pools in turn."""
    with limited(240):
        yield


def test_resets_are_measured_in_three_pools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared_resets, "CASES", (("wait", 2), ("compute", 1)))
    out = tmp_path / "found.json"
    sizes = ["--reset", "0.05", "--length", "60", "--rounds", "1", "--seconds", "1"]
    # a pause of a second makes a measurement worthless, so it is repeated
    for _ in range(10):
        assert prepared_resets.main([*sizes, "--out", str(out)]) == 0
        found = json.loads(out.read_text())
        assert set(found["compute, 1"]["steps_per_s"]) == set(prepared_resets.POOLS)
        if found["wait, 2"]["share"]["prepared"] > found["wait, 2"]["share"]["in turn"]:
            return
    pytest.fail("prepared resets were slower each time")


def test_episodes_of_a_camera_simulator_are_counted(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    sizes = ["--envs", "2", "--load", "0.05", "--length", "4", "--rounds", "1", "--seconds", "1"]
    assert camera.main([*sizes, "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert all(found[player] > 0 for player in camera.PLAYERS)
