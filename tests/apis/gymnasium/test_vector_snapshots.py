"""NativeVectorEnv after `pool.set_state`: a step returns what it returned from that state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool import PoolVectorEnv
from parallel_pool.errors import NotResetError
from tests.support.mixtures import mixture
from tests.support.same import assert_same

MODES = list(AutoresetMode)
NUM_ENVS = 4
# without infos, with other infos after resets than after steps, and with infos of some rows
IDS = ["CartPole-v1", "FrozenLake-v1", "mixture"]


def made(task_id: str, mode: AutoresetMode = AutoresetMode.NEXT_STEP) -> PoolVectorEnv:
    if task_id == "mixture":
        task_id = mixture("FrozenLake-v1", "Taxi-v4").id
    envs: PoolVectorEnv = parallel_pool.make_vec(
        task_id, NUM_ENVS, autoreset_mode=mode, max_episode_steps=3
    )
    return envs


def play(envs: PoolVectorEnv, steps: int) -> list[tuple[Any, ...]]:
    """Returns of each step the states before it, the actions, and its results."""
    envs.action_space.seed(2)
    envs.reset(seed=1)
    turns = []
    ended = np.zeros(NUM_ENVS, np.bool_)
    for _ in range(steps):
        if envs.autoreset_mode is AutoresetMode.DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})
        states, actions = envs.pool.get_state(), envs.action_space.sample()
        results = envs.step(actions)
        ended = results[2] | results[3]
        turns.append((states, actions, results))
    return turns


@pytest.mark.parametrize("task_id", IDS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_steps_go_on_from_snapshots(task_id: str, mode: AutoresetMode) -> None:
    envs = made(task_id, mode)
    turns = play(envs, 16)
    for at in np.random.default_rng(3).permutation(len(turns)).tolist():
        states, actions, results = turns[at]
        envs.pool.set_state(states)
        assert_same(envs.step(actions), results, f"step {at}")
        # one environment alone changes
        envs.pool.set_state(states)
        envs.pool.set_state([turns[0][0][1]], [1])
        rows = np.arange(NUM_ENVS) != 1
        for one, other in zip(envs.step(actions)[:4], results[:4], strict=True):
            assert_same(one[rows], other[rows], f"step {at}, the others")
    envs.close()


@pytest.mark.parametrize("task_id", IDS)
def test_halves_of_steps_go_on_from_snapshots(task_id: str) -> None:
    envs = made(task_id)
    turns = play(envs, 8)
    for states, actions, results in reversed(turns):
        envs.pool.set_state(states)
        envs.step_async(actions)
        assert_same(envs.step_wait(), results, "step_wait")
    envs.close()


@pytest.mark.parametrize("task_id", IDS)
def test_snapshots_before_the_first_reset(task_id: str) -> None:
    envs = made(task_id)
    states, actions, results = play(envs, 6)[4]
    envs.close()
    envs = made(task_id)
    envs.pool.set_state(states[:3], [0, 1, 2])
    with pytest.raises(NotResetError, match="call reset"):
        envs.step(actions)
    with pytest.raises(NotResetError, match="never reset"):
        envs.reset(options={"reset_mask": np.arange(NUM_ENVS) < 1})
    envs.pool.set_state(states[3:], [3])
    assert_same(envs.step(actions), results, "step")
    # all have a state, so some may be reset alone
    envs.reset(options={"reset_mask": np.arange(NUM_ENVS) < 1})
    envs.close()
