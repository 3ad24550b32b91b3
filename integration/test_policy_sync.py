"""policy_sync.py trains through `parallel_pool.cluster.Rollouts`."""

from __future__ import annotations

import json
from pathlib import Path

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
