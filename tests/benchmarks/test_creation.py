"""Time and memory of making many environments."""

from __future__ import annotations

import pytest

from benchmarks.scenes import creation
from parallel_pool._bench import python_players, race


def test_workers_start_beside_installed_rivals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = creation.CREATIONS[-1]
    calls: list[str] = []

    def sample(who: str, task_id: str, num_envs: int) -> dict[str, float]:
        calls.append(f"{who} {num_envs}")
        return {"seconds": 1.0 if "pool" in who else 4.0, "bytes": num_envs * 1024.0}

    monkeypatch.setattr(creation, "in_child", sample)
    monkeypatch.setattr(race, "is_installed", lambda who: True)
    each = creation.run(scene, ("gymnasium", "sb3"), 3)
    assert [row.who for row in each.rows] == list(scene.who)
    assert [len(row.samples) for row in each.rows] == [3, 3, 1]
    assert [row.ratios[scene.who[0]].median for row in each.rows[1:]] == [4, 4]
    assert each.rows[1].setting.startswith("64 workers, batch 64")
    assert each.notes[-1] == "SB3 SubprocVecEnv was measured in the first round only"
    assert calls.count("SB3 SubprocVecEnv 64") == 1

    monkeypatch.setattr(race, "is_installed", lambda who: who.family != "ours")
    each = creation.run(scene, ("gymnasium",), 1)
    assert [(row.who, row.ratios) for row in each.rows] == [("AsyncVectorEnv", {})]
    assert each.notes[1] == race.absent(python_players.pool_vector_env)


@pytest.mark.slow
def test_the_memory_of_worker_processes_is_measured() -> None:
    sample = creation.in_child("AsyncVectorEnv", "CartPole-v1", 2)
    assert sample["seconds"] > 0
    # two Python processes, which share little memory
    assert sample["bytes"] > 2**20


def test_creation_compares_in_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    took = {"parallel_pool.make": 0.2, "EnvPool": 8.0}

    def sample(who: str, task_id: str, num_envs: int) -> dict[str, float]:
        assert task_id == "Pong-v5"
        return {"seconds": took[who] * num_envs / 64, "bytes": 1e6 + num_envs * 100 * 1024}

    monkeypatch.setattr(creation, "in_child", sample)
    monkeypatch.setattr(creation, "is_installed", lambda who: who in took)
    each = creation.run(creation.CREATIONS[0], ("envpool", "ale"), 3)
    assert [row.value.median for row in each.rows] == [0.2, 8.0]
    assert each.rows[1].ratios["parallel_pool.make"].median == 40
    assert [bar.is_met for bar in each.bars] == [True, True]
    assert each.bars[1].reached == pytest.approx(100)


@pytest.mark.slow
def test_creation_in_a_child_makes_what_it_measures() -> None:
    sample = creation.in_child("parallel_pool.make", "Pong-v5", 2)
    assert set(sample) == {"seconds", "bytes"}
    assert sample["seconds"] > 0
