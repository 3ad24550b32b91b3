"""python_env.py: an agent learns the same, bit by bit, on a class and on its translation."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from integration.training import comparison, ppo, python_env
from integration.training.python_env import OURS, PLAYERS, SYNC, TASK


def test_weights_equal_those_trained_on_the_class(torch_threads: Callable[[int], None]) -> None:
    torch_threads(1)
    task = replace(TASK, num_envs=8)
    settings = replace(task.settings, total_steps=4 * 8 * 64, rollout_steps=64, seed=3)
    agents, returns = [], []
    for make in PLAYERS.values():
        envs = make(task, 3)
        trained = ppo.train(envs, settings)
        envs.close()
        agents.append(trained.agent)
        returns.append(trained.returns)
    assert returns[0] == returns[1] and len(returns[0]) > 8
    weights = zip(*(agent.parameters() for agent in agents), strict=True)
    assert all(torch.equal(ours, theirs) for ours, theirs in weights)


def test_players_are_the_translation_and_the_class() -> None:
    task = replace(TASK, num_envs=1)
    ours, theirs = (PLAYERS[name](task, 1) for name in (OURS, SYNC))
    assert ours.backend == "native" and python_env.CLASS in ours.backend_reason
    assert type(theirs.envs[0]).__name__ == "DroneHoverEnv"
    for each in (ours, theirs):
        each.close()


def test_the_program_writes_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two rollouts of each, in processes of their own."""
    steps = TASK.num_envs * TASK.settings.rollout_steps
    path = tmp_path / "made.json"
    python_env.main(["--seeds", "1", "--steps", str(2 * steps), "--out", str(path)])
    made = json.loads(path.read_text())
    assert made["seconds"] == {OURS: None, SYNC: None} and made["ratio"] is None
    for (run,) in made["runs"].values():
        assert [each[1] for each in run["curve"]] == [steps, 2 * steps]
        assert not run["reached"]
    assert made["runs"][OURS][0]["making"] > made["runs"][SYNC][0]["making"], (
        "the class is compiled"
    )
    assert '"ratio": null' in capsys.readouterr().out


def test_agents_that_differ_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(task: Any, name: str, seed: int) -> dict[str, Any]:
        curve = [[0.0, 4096, 1.0 if name == OURS else 1.5]]
        return {"seed": seed, "making": 0.0, "curve": curve, "reached": True}

    monkeypatch.setattr(python_env, "run_in_a_process", run)
    with pytest.raises(AssertionError, match="DroneHover-v0, seed 1: the agents differ"):
        python_env.measure(TASK, [1])


def test_times_count_what_making_takes() -> None:
    runs = {
        name: [{"making": 1.0, "curve": [[took, 1, 1.0]], "reached": True} for took in times]
        for name, times in ((OURS, (1.0, 3.0, 2.0)), (SYNC, (8.0, 5.0, 9.0)))
    }
    assert python_env.summary(runs) == {"seconds": {OURS: 3.0, SYNC: 9.0}, "ratio": 3.0}


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(python_env.RESULT.read_text())
    return found


def test_the_committed_result_is_of_the_program(result: dict[str, Any]) -> None:
    # a setting that is newer than the result had its default value
    settings = asdict(ppo.Settings(**result["setting"]["settings"]))
    found = {**result["setting"], "settings": settings}
    assert found == python_env.setting(TASK), "run python -m integration.training.python_env"
    seconds = {name: pytest.approx(python_env.seconds(own)) for name, own in result["runs"].items()}
    assert result["seconds"] == seconds


def test_the_translation_takes_less_time_for_the_same_agent(result: dict[str, Any]) -> None:
    runs = result["runs"]
    seeds = [run["seed"] for run in runs[OURS]]
    assert len(seeds) >= 3 and seeds == [run["seed"] for run in runs[SYNC]]
    for seed in seeds:
        comparison.check_equal(TASK, runs, seed)
    assert all(run["reached"] for own in runs.values() for run in own)
    # from a drone that falls to one that hovers
    assert all(run["curve"][0][2] < 100 for own in runs.values() for run in own)
    assert result["ratio"] > 2
