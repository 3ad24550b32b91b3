"""PoolVecEnv after `pool.set_state`: a step returns what it returned from that state."""

from __future__ import annotations

import numpy as np
import pytest

from parallel_pool.compat.sb3 import PoolVecEnv
from parallel_pool.errors import EnvError, NotResetError
from tests.support.same import assert_same


def test_steps_go_on_from_snapshots() -> None:
    env = PoolVecEnv("FrozenLake-v1", 3, max_episode_steps=3, seed=1)
    env.reset()
    rng = np.random.default_rng(2)
    turns = []
    for _ in range(8):
        states, actions = env.pool.get_state(), rng.integers(4, size=3)
        turns.append((states, actions, env.step(actions)))
    for states, actions, results in reversed(turns):
        env.pool.set_state(states)
        assert_same(env.step(actions), results, "step")
    env.close()
    states, actions, results = turns[4]
    env = PoolVecEnv("FrozenLake-v1", 3, max_episode_steps=3)
    env.pool.set_state(states[:2], [0, 1])
    with pytest.raises(NotResetError, match="call reset"):
        env.step(actions)
    env.pool.set_state(states[2:], [2])
    assert_same(env.step(actions), results, "step before the first reset")
    env.close()


def test_an_environment_that_failed_goes_on_from_a_snapshot() -> None:
    """Its next step is no reset, as it would be without the snapshot."""
    env = PoolVecEnv("test/Fault-v0", 2, fail_on="step", fail_at_step=2, fail_env=1)
    env.reset()
    states = env.pool.get_state()
    results = env.step([1, 1])
    with pytest.raises(EnvError, match="made to fail"):
        env.step([1, 1])
    begun = list(env.reset_infos)
    env.pool.set_state(states)
    assert_same(env.step([1, 1]), results, "step")
    assert_same(env.reset_infos, begun, "infos of resets")
    env.close()
