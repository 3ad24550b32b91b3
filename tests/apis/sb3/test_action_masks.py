"""AgentVecEnv answers what sb3_contrib.common.maskable.utils asks: has_attr and env_method."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel_pool.compat.sb3 import AgentVecEnv, PoolVecEnv
from tests.contract.small_envs import Gate, Talkers
from tests.support.mixtures import mixture

FOUR = "classic/connect_four_v3"


def get_action_masks(env: Any) -> Any:
    """As in sb3_contrib.common.maskable.utils."""
    return np.stack(env.env_method("action_masks"))


@pytest.mark.parametrize("env_id", [FOUR, "classic/tictactoe_v3"])
def test_masks_of_native_games_lead_to_legal_moves(env_id: str) -> None:
    env = AgentVecEnv(env_id, 3)
    assert env.has_attr("action_masks")
    env.seed(1)
    observations, ended = env.reset(), 0
    rng = np.random.default_rng(0)
    for _ in range(60):
        masks = get_action_masks(env)
        assert masks.shape == (6, env.action_space.n) and masks.dtype == bool
        own = observations["action_mask"] != 0
        acts = own.any(axis=1)
        assert (masks[acts] == own[acts]).all() and masks[~acts].all()
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        observations, rewards, dones, _ = env.step(actions)
        # an illegal move loses the game for its player, who then moves last
        ended += int(dones.sum())
        assert set(rewards.tolist()) <= {-1.0, 0.0, 1.0}
    assert ended
    (only,) = env.env_method("action_masks", indices=[4])
    assert (only == get_action_masks(env)[4]).all()
    env.close()


class Masked(Talkers):
    """Agent "a" may not act twice in the same way, "b" has no mask."""

    def reset(self, seed: Any = None, options: Any = None) -> tuple[Any, Any]:
        observations, infos = super().reset(seed, options)
        infos["a"]["action_mask"] = np.array([1, 1, 1], np.int8)
        return observations, infos

    def step(self, actions: Mapping[str, Any]) -> Any:
        results = super().step(actions)
        if "a" in results[4]:
            results[4]["a"]["action_mask"] = np.arange(3) != int(actions["a"])
        return results


@pytest.mark.quick(1)
@pytest.mark.parametrize("num_workers", [0, 2])
def test_masks_in_the_infos_of_python_environments(num_workers: int, tmp_path: Path) -> None:
    functions = [partial(Masked, Gate(tmp_path))] * 2
    context = "fork" if num_workers else None
    env = AgentVecEnv(functions, num_workers=num_workers, context=context)
    assert not env.has_attr("action_masks")
    env.reset()
    assert env.has_attr("action_masks") and get_action_masks(env).all()
    _, _, dones, _ = env.step(np.array([1, 0, 2, 0]))
    assert not dones.any()
    expected = [[True, False, True], [True] * 3, [True, True, False], [True] * 3]
    assert get_action_masks(env).tolist() == expected
    for _ in range(3):
        _, _, dones, _ = env.step(np.zeros(4, np.int64))
    # the masks of the next episode
    assert dones.all() and get_action_masks(env).all()
    env.close()


def test_games_without_masks_have_no_such_method() -> None:
    env = AgentVecEnv("mpe/simple_spread_v3", 2)
    env.reset()
    assert not env.has_attr("action_masks")
    with pytest.raises(AttributeError):
        env.env_method("action_masks")
    env.close()


def test_masks_of_a_mixture_allow_what_each_task_allows() -> None:
    env = PoolVecEnv(mixture("FrozenLake-v1", "Taxi-v4").id, 4)
    assert not PoolVecEnv("Taxi-v4", 1).has_attr("action_masks")
    env.seed(1)
    env.reset()
    assert env.has_attr("action_masks")
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(300):
        masks = get_action_masks(env)
        assert masks.shape == (4, 6) and masks.dtype == bool
        assert masks[:2].tolist() == [[True] * 4 + [False] * 2] * 2
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        _, _, dones, infos = env.step(actions)
        now = get_action_masks(env)
        for row in (2, 3):
            own = env.reset_infos[row] if dones[row] else infos[row]
            assert now[row].tolist() == (own["action_mask"] != 0).tolist()
        ended += int(dones[2:].sum())
    assert ended
    env.close()
