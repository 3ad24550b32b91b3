"""The study of a policy and its environments in turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.studies import policy_loop as study
from parallel_pool._bench.rounds import Sample

SHORT = ("--rounds", "2", "--seconds", "0.02")


@pytest.mark.slow
@pytest.mark.parametrize("policy", study.NETWORKS)
def test_the_study_writes_its_table(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    small = study.SCENES["mujoco"]._replace(num_envs=4)
    monkeypatch.setitem(study.SCENES, "mujoco", small)
    out = tmp_path / "policy-loop.md"
    command = ["--scenes", "mujoco", "--policies", policy, *SHORT, "--out", str(out)]
    assert study.main(command) == 0
    lines = out.read_text().splitlines()
    assert lines[4].startswith(f"| 4 HalfCheetah-v5 | {policy} | ")
    assert lines[-1].startswith("Turns take at most 1.1 times the longer")


def test_one_thread_is_needed(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with pytest.raises(SystemExit):
        study.main([])
    assert "start Python with OMP_NUM_THREADS=1" in capsys.readouterr().err


@pytest.mark.slow
def test_networks_are_the_same_function() -> None:
    rows = np.random.default_rng(1).normal(size=(3, 16)).astype(np.float32)
    expected = study.numpy_network(2, 16)(rows)
    for make in study.NETWORKS.values():
        np.testing.assert_allclose(make(2, 16)(rows), expected, rtol=2e-4, atol=1e-5)


def test_policies_give_the_network_numbers_of_each_observation() -> None:
    seen: list[Any] = []
    policy = study.policy_of(lambda rows: seen.append(rows) or rows, study.SCENES["atari"])
    assert policy(np.ones((2, 4))).tolist() == [1, 1]
    assert policy(np.zeros((2, 300, 2), np.uint8)).tolist() == [0, 0]
    assert [each.shape for each in seen] == [(2, 256)] * 2
    assert seen[0].sum() == 8


def test_rows_and_verdict() -> None:
    def samples(milliseconds: float) -> list[Sample]:
        return [Sample(100, milliseconds / 1e3, milliseconds / 1e3)] * 3

    scene = study.Scene("Env", 100, 4, study.push)
    took = {study.PLAIN: 15.0, study.TURNS: 11.0, study.POLICY: 10.0, study.ENVS: 9.0}
    took[study.BESIDE] = 10.0
    times = {name: samples(each) for name, each in took.items()}
    row, share = study.row_of(scene, "numpy", 3, times)
    assert share == pytest.approx(1.1)
    expected = "| 100 Env | numpy | 3 | 15 | 11 | 10 | 9 | 10 | 1.10 (1.10-1.10) |"
    expected += " 1.10 (1.10-1.10) | 1.36 (1.36-1.36) | 0.73 (0.73-0.73) |"
    assert row == expected
    assert "in 1 of 2 rows (at most 1.30)" in study.verdict([1.05, 1.3])


def test_layers_balance_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer takes a microsecond, and the rest of a policy two."""

    monkeypatch.setattr(study, "policy_of", lambda network, scene: network)
    monkeypatch.setattr(study, "quickest", lambda call: 2e-6 + 1e-6 * call())
    scene = study.SCENES["atari"]
    assert study.balanced_layers(lambda layers, width: lambda rows: layers, scene, 12e-6) == 10
    assert study.balanced_layers(lambda layers, width: lambda rows: layers, scene, 0.0) == 1
