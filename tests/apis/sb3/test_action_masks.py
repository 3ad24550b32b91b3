"""AgentVecEnv answers what sb3_contrib.common.maskable.utils asks: has_attr and env_method."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

import parallel_pool
from parallel_pool.compat.sb3 import AgentVecEnv, PoolVecEnv
from parallel_pool.errors import StateError
from tests.contract.small_envs import Gate, Talkers
from tests.support.mixtures import mixture

FOUR = "classic/connect_four_v3"


def get_action_masks(env: Any) -> Any:
    """As in sb3_contrib.common.maskable.utils."""
    return np.stack(env.env_method("action_masks"))


@pytest.mark.parametrize("task_id", [FOUR, "classic/tictactoe_v3"])
def test_masks_of_native_games_lead_to_legal_moves(task_id: str) -> None:
    env = AgentVecEnv(task_id, 3)
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


@pytest.mark.slow
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


# ------------------------------------------------------------------------------------ snapshots --


class Picky(ParallelEnv):
    """Agent a may not choose 1 in odd steps, b not 2 after the first; a leaves after two steps."""

    metadata = {"name": "picky", "render_modes": []}  # noqa: RUF012

    def __init__(self) -> None:
        self.possible_agents = ["a", "b"]
        self.agents = []
        self.time = 0
        self.render_mode = None

    def observation_space(self, agent):  # type: ignore[no-untyped-def]
        return spaces.Box(0.0, 100.0, (1,), np.float64)

    def action_space(self, agent):  # type: ignore[no-untyped-def]
        return spaces.Discrete(3)

    def masks(self):  # type: ignore[no-untyped-def]
        a = np.array([1, 1 - self.time % 2, 1], dtype=np.int8)
        b = np.array([1, 1, int(self.time == 0)], dtype=np.int8)
        return {"a": {"action_mask": a}, "b": {"action_mask": b}}

    def reset(self, seed=None, options=None):  # type: ignore[no-untyped-def]
        self.agents = ["a", "b"]
        self.time = 0
        return {agent: np.zeros(1) for agent in self.agents}, self.masks()

    def step(self, actions):  # type: ignore[no-untyped-def]
        self.time += 1
        live = list(self.agents)
        seen = {agent: np.array([float(self.time)]) for agent in live}
        ends = {agent: (agent == "a" and self.time >= 2) or self.time >= 4 for agent in live}
        masks = self.masks()
        infos = {agent: masks[agent] for agent in live}
        self.agents = [agent for agent in live if not ends[agent]]
        rewards = dict.fromkeys(live, 1.0)
        return seen, rewards, ends, dict.fromkeys(live, False), infos


def made(kind: str) -> Any:
    if kind == "infos of a translated class":
        (picky_id,) = parallel_pool.compile(Picky)
        return AgentVecEnv(picky_id, 3)
    if kind == "mixture":
        return PoolVecEnv(mixture("FrozenLake-v1", "Taxi-v4").id, 4)
    return AgentVecEnv(kind, 3)


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["classic/tictactoe_v3", "infos of a translated class", "mixture"])
def test_masks_after_set_state_are_those_of_the_snapshot(kind: str) -> None:
    env = made(kind)
    env.seed(1)
    env.reset()
    rng = np.random.default_rng(0)
    turns = []
    for _ in range(12):
        states, masks = env.pool.get_state(), get_action_masks(env)
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        env.step(actions)
        turns.append((states, masks, actions, get_action_masks(env)))
    assert len({masks.tobytes() for _, masks, *_ in turns}) > 2
    for at in np.random.default_rng(3).permutation(len(turns)).tolist():
        states, masks, actions, following = turns[at]
        env.pool.set_state(states)
        assert env.has_attr("action_masks")
        assert get_action_masks(env).tolist() == masks.tolist(), at
        # asked for after a step for the first time
        env.pool.set_state(states)
        env.step(actions)
        assert get_action_masks(env).tolist() == following.tolist(), at
    # one environment alone changes
    env.pool.set_state(turns[0][0][:1], [0])
    rows = env.num_envs // env.pool.num_envs
    expected = [*turns[0][1][:rows].tolist(), *following[rows:].tolist()]
    assert get_action_masks(env).tolist() == expected
    env.close()


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["classic/tictactoe_v3", "infos of a translated class", "mixture"])
def test_masks_of_snapshots_before_the_first_reset(kind: str) -> None:
    env = made(kind)
    env.seed(1)
    env.reset()
    env.step(np.zeros(env.num_envs, np.int64))
    states, masks = env.pool.get_state(), get_action_masks(env)
    env.close()
    env = made(kind)
    env.pool.set_state(states)
    assert env.has_attr("action_masks")
    assert get_action_masks(env).tolist() == masks.tolist()
    env.close()


def test_masks_while_a_step_is_in_flight_are_those_before_it() -> None:
    env = made("mixture")
    env.seed(1)
    env.reset()
    masks, states = get_action_masks(env), env.pool.get_state()
    env.step_async(np.zeros(4, np.int64))
    with pytest.raises(StateError, match="in flight"):
        env.pool.set_state(states)
    assert get_action_masks(env).tolist() == masks.tolist()
    env.step_wait()
    env.close()
