"""CPU time of idle pools."""

from __future__ import annotations

import pytest

from benchmarks.scenes import idle
from parallel_pool._bench import python_players, race, tree


def test_idle_time_is_that_of_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [{1: 1.0, 2: 5.0, 3: 1.0}, {1: 1.25, 2: 5.5}]
    monkeypatch.setattr(tree, "cpu_of", lambda pids: samples.pop(0))
    monkeypatch.setattr(idle.time, "sleep", lambda seconds: None)
    assert idle.idle_ms(2.0) == 750


@pytest.mark.slow
def test_idle_pools_are_measured_in_processes_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert idle.in_child(python_players.async_vector_env, 0.0) >= 0
    took = {who.name: float(i) for i, who in enumerate((idle.OURS, *idle.RIVALS))}
    monkeypatch.setattr(idle, "in_child", lambda who, seconds: took[who.name])
    monkeypatch.setattr(idle.race, "is_installed", lambda who: who is not idle.RIVALS[-1])
    each = idle.run(("gymnasium", "sb3", "tianshou", "pufferlib"), 3)
    assert [row.value.median for row in each.rows] == [0, 1, 2, 3]
    assert [bar.is_met for bar in each.bars] == [True]
    assert each.notes == [race.absent(idle.RIVALS[-1])]
    monkeypatch.setattr(idle.race, "is_installed", lambda who: who is not idle.OURS)
    assert [bar.is_met for bar in idle.run((), 1).bars] == [None]
