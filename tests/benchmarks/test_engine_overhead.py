"""The engine's overhead, from what the C program prints."""

from __future__ import annotations

import pytest

from benchmarks.scenes import engine_overhead
from parallel_pool._bench.rounds import Spread


def test_overhead_is_read_from_what_c_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = {"bare_ns": 40, "added_ns": 11, "added_low_ns": 10, "added_high_ns": 13, "rounds": 3}
    monkeypatch.setattr(engine_overhead, "measure", lambda rounds: sample)
    each = engine_overhead.run(3)
    assert each.rows[1].value == Spread(11, 10, 13)
    assert [bar.is_met for bar in each.bars] == [True]


@pytest.mark.slow
def test_overhead_builds_and_runs() -> None:
    sample = engine_overhead.measure(1)
    assert sample["id"] == "CartPole-v1"
    assert sample["num_envs"] == 1024
    assert sample["bare_ns"] > 0
