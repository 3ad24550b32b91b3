"""The race beside a policy has a row for each player, and counts the policy's time."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import with_policy
from benchmarks.rounds import timed

SHORT = ["--rounds", "2", "--seconds", "0.02"]


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


def test_all_players_do_the_same_steps() -> None:
    fns = with_policy.functions("CartPole-v1", 3)
    seen: list[Any] = []
    for make in (with_policy.PoolVectorEnv, with_policy.SyncVectorEnv):
        calls: list[int] = []
        player = with_policy.StepLoop(partial(make, fns), partial(calls.append, 1))
        assert bool(player.children) is (make is with_policy.PoolVectorEnv)
        assert timed(player, 50).steps == 150
        assert len(calls) == len(player.step_seconds) == 50
        seen.append(player._env.step(player._actions[50])[0])
        player.close()
    np.testing.assert_array_equal(*seen)


def test_a_policy_has_as_many_products_as_fit_into_its_time() -> None:
    # a trial of 20 products takes one millisecond
    assert with_policy.Policy(0.3, itertools.count(step=1e-3).__next__).products == 6
    assert with_policy.Policy(5, itertools.count(step=1e-3).__next__).products == 100
    assert with_policy.Policy(0).products == 0


def test_stripped_infos_are_empty() -> None:
    env = with_policy.make_env("CartPole-v1", strips=True)
    assert env.reset(seed=1)[1] == env.step(0)[4] == {}
