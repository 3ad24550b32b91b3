"""policy_sync.py trains through `parallel_pool.cluster.Rollouts`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from integration.training import policy_sync, ppo

CARTPOLE = "CartPole-v1"


def test_rules_are_compared(tmp_path: Path) -> None:
    """Runs `integration.training.policy_sync` for some batches; again, it does what is missing."""
    out = tmp_path / "sync.json"
    arguments = ["CartPole-v1", "--seeds", "1", "--steps", "3000", "--out", str(out), "--rules"]
    policy_sync.main([*arguments, "Every(1)"])
    (first,) = json.loads(out.read_text())
    assert first["fetches"] == first["batches"] == 3000 // 256
    weights = sum(
        p.nbytes for p in ppo.Agent((4,), policy_sync.space_of("CartPole-v1")).parameters()
    )
    assert first["bytes"] == first["fetches"] * weights
    policy_sync.main([*arguments, "Every(1)", "Adaptive(0.1)"])
    again, second = json.loads(out.read_text())
    assert again == first and second["rule"] == "Adaptive(0.1)"
    assert 2 <= second["fetches"] < first["fetches"]
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_the_committed_result_is_learned_with_fewer_bytes() -> None:
    """A mean of 400 within 100,000 steps, with under half the bytes of Every(1)."""
    runs = [run for run in json.loads(policy_sync.RESULT.read_text()) if run["task"] == CARTPOLE]
    assert policy_sync.TASKS[CARTPOLE].settings.total_steps == 100_000

    def of(rule: str, what: str) -> float:
        own = [run for run in runs if run["rule"] == rule]
        assert len({run["seed"] for run in own}) >= 5
        return float(np.mean([run[what] for run in own]))

    for rule in policy_sync.RULES:
        of(rule, "evaluated")
    assert of("Adaptive(0.01)", "evaluated") >= policy_sync.TASKS[CARTPOLE].goal
    assert of("Adaptive(0.01)", "bytes") < of("Every(1)", "bytes") / 2
