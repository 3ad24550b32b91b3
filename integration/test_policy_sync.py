"""policy_sync.py trains through `parallel_pool.cluster.Rollouts`; its result reached the bars."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from integration import policy_sync, ppo


def test_rules_are_compared(tmp_path: Path) -> None:
    """Runs `integration.policy_sync` for some batches; again, it does what is missing."""
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


def test_the_committed_result_reached_its_goal() -> None:
    """CartPole to a mean of 400 in 100,000 steps, with less than half of the bytes of Every(1)."""
    runs = json.loads(policy_sync.RESULT.read_text())
    task = policy_sync.TASKS["CartPole-v1"]
    assert task.settings.total_steps == 100_000

    def of(rule: str, what: str) -> float:
        own = [run[what] for run in runs if (run["task"], run["rule"]) == (task.env_id, rule)]
        assert len(own) >= policy_sync.SEEDS
        return float(np.mean(own))

    rule = "Adaptive(0.01)"
    assert of(rule, "evaluated") >= task.goal
    assert of(rule, "bytes") < of("Every(1)", "bytes") / 2
