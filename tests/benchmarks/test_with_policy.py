"""The race beside a policy has a row for each player, and counts the policy's time."""

from __future__ import annotations

import itertools
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.studies import with_policy
from parallel_pool._bench.rounds import Spread, timed

SHORT = ["--rounds", "2", "--seconds", "0.02"]


@pytest.mark.slow
def test_a_scene_is_raced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "with_policy.md"
    scene = ["--envs", "CartPole-v1", "--counts", "3", "--policies", "0.3", "--threads", "1"]
    assert with_policy.main([*scene, *SHORT, "--out", str(out)]) == 0
    text = out.read_text()
    assert text.strip() in capsys.readouterr().out
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| 3 CartPole")]
    assert [row[3] for row in rows] == [
        with_policy.OURS,
        with_policy.HERE,
        with_policy.SYNC,
        with_policy.CONTROL,
    ]
    assert all(float(number.replace(",", "")) > 0 for row in rows for number in row[4:7])
    assert re.search(r"noise: [01] of 1 rows of PoolVectorEnv, [01] of 1 rows", text)


def test_only_the_whole_grid_is_written_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[with_policy.Scene] = []

    def play(scene: with_policy.Scene, *_: Any) -> tuple[list[str], list[str]]:
        played.append(scene)
        return [f"| {scene.count} {scene.task_id} |"], [with_policy.OURS] * (scene.count == 2)

    monkeypatch.setattr(with_policy, "rows_of", play)
    monkeypatch.setattr(with_policy.machine, "ROOT", tmp_path)
    assert with_policy.main(["--counts", "2", "4"]) == 0
    assert not [*tmp_path.iterdir()]
    played.clear()
    assert with_policy.main([]) == 0
    assert len(set(played)) == len(played) == 108
    (file,) = tmp_path.glob("benchmarks/results/*/with-policy.md")
    lines = file.read_text().splitlines()
    assert sum(line.startswith("| 64 Hopper-v5") for line in lines) == 6
    assert "18 of 108 rows of PoolVectorEnv, 0 of 108" in lines[-1]


def test_a_grid_is_played_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    played: list[int] = []

    def play(scene: with_policy.Scene, *_: Any) -> tuple[list[str], list[str]]:
        played.append(scene.count)
        clock.now += 40
        return [f"| {scene.count} |"], [with_policy.OURS] * (scene.count == 2)

    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(with_policy, "rows_of", play)
    monkeypatch.setattr(with_policy, "time", clock)
    monkeypatch.setattr(with_policy.machine, "commit", lambda: commit)
    progress, out = tmp_path / "progress", tmp_path / "out"
    grid = ["--envs", "CartPole-v1", "--policies", "1", "--threads", "1", "--counts", "2", "4", "8"]
    grid += ["--progress", str(progress), "--limit", "60", "--out", str(out)]
    commit = "a"
    assert with_policy.main(grid) == 0
    assert played == [2, 4] and not out.exists()
    assert "2 of 3 scenes" in capsys.readouterr().out
    assert with_policy.main(grid) == 0
    assert played == [2, 4, 8]
    assert out.read_text().splitlines()[-5:-2] == ["| 2 |", "| 4 |", "| 8 |"]
    assert "1 of 3 rows of PoolVectorEnv, 0 of 3" in out.read_text()
    # another commit begins anew
    commit = "b"
    assert with_policy.main(grid) == 0
    assert played == [2, 4, 8, 2, 4]
    with pytest.raises(SystemExit):
        with_policy.main(["--limit", "60"])


def test_a_row_is_slower_if_noise_does_not_explain_it() -> None:
    control = Spread(1.0, 0.99, 1.01)
    assert with_policy.is_slower(Spread(0.96, 0.95, 0.98), control)
    assert not with_policy.is_slower(Spread(0.98, 0.97, 0.995), control)
    # a control that is fast by chance
    assert not with_policy.is_slower(Spread(1.01, 1.0, 1.02), Spread(1.05, 1.04, 1.06))


def test_steps_before_a_turn_do_not_count() -> None:
    calls: list[int] = []
    make = partial(with_policy.SyncVectorEnv, with_policy.functions("CartPole-v1", 2))
    player = with_policy.StepLoop(make, partial(calls.append, 1))
    samples = with_policy.take_turns({"one": player}, 3, 0.001)["one"]
    assert len(player.step_seconds) * 2 == sum(sample.steps for sample in samples)
    assert len(calls) >= len(player.step_seconds) + 3 * with_policy.WARM_UP
    player.close()


@pytest.mark.slow
def test_the_cost_of_infos_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mujoco")
    assert with_policy.main(["--infos", "--policies", "0", *SHORT]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| 4 Hopper")]
    names = [row.split(" | ")[2] for row in rows]
    assert names == [
        name + suffix
        for suffix in ("", with_policy.STRIPPED)
        for name in (with_policy.OURS, with_policy.SYNC)
    ]


@pytest.mark.slow
def test_all_players_do_the_same_steps() -> None:
    fns = with_policy.functions("CartPole-v1", 3)
    seen: list[Any] = []
    for make in (with_policy.PoolVectorEnv, with_policy.SyncVectorEnv):
        calls: list[int] = []
        player = with_policy.StepLoop(partial(make, fns), partial(calls.append, 1))
        assert bool(player.children) is (make is with_policy.PoolVectorEnv)
        assert timed(player, 50).steps == 150
        assert len(calls) == len(player.step_seconds) == 50
        seen.append(player.env.step(player.actions[50])[0])
        player.close()
    np.testing.assert_array_equal(*seen)


@pytest.mark.slow
def test_a_policy_has_as_many_products_as_fit_into_its_time() -> None:
    # a trial of 20 products takes one millisecond
    assert with_policy.Policy(0.3, itertools.count(step=1e-3).__next__).products == 6
    assert with_policy.Policy(5, itertools.count(step=1e-3).__next__).products == 100
    assert with_policy.Policy(0).products == 0


def test_stripped_infos_are_empty() -> None:
    env = with_policy.make_env("CartPole-v1", strips=True)
    assert env.reset(seed=1)[1] == env.step(0)[4] == {}
