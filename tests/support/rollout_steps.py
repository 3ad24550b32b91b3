"""Compares rollouts with steps that were made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from parallel_pool._engine.trees import map_leaves
from parallel_pool.compat.gymnasium import Rollout
from tests.support.same import assert_same


def timeless(infos: dict[str, Any]) -> dict[str, Any]:
    """Returns infos without the seconds that episodes took."""
    return {
        key: timeless(value) if isinstance(value, dict) else value
        for key, value in infos.items()
        if key not in ("t", "_t")
    }


def check_step(rollout: Rollout, at: int, before: Any, step: Any, actions: Any, name: str) -> None:
    """Compares a step of a rollout with one that was made by hand."""
    observations, rewards, terminated, truncated, infos = step
    of = lambda tree: map_leaves(lambda array: np.array(array[at]), tree)  # noqa: E731
    assert_same(of(rollout.observations), before, f"{name} observations")
    assert_same(of(rollout.next_observations), observations, f"{name} next")
    assert_same(of(rollout.actions), np.asarray(actions), f"{name} actions")
    assert_same(of(rollout.rewards), rewards, f"{name} rewards")
    assert_same(of(rollout.terminations), terminated, f"{name} terminations")
    assert_same(of(rollout.truncations), truncated, f"{name} truncations")
    assert_same(timeless(rollout.infos[at]), timeless(infos), f"{name} infos")
    for i in np.flatnonzero(terminated | truncated):
        if "final_obs" in infos:
            final = map_leaves(
                lambda array, i=i: np.asarray(array[at, i]), rollout.final_observations
            )
            wanted = map_leaves(np.asarray, infos["final_obs"][i])
            assert_same(final, wanted, f"{name} final {i}")
