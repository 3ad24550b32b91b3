"""PettingZoo's and MPE2's environments return the same in worker processes as in a plain loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium.vector import AutoresetMode
from mpe2 import simple_speaker_listener_v4, simple_spread_v3

from parallel_pool.compat.pettingzoo import PoolParallelEnv
from tests.support.parallel_loop import Loop, sample
from tests.support.same import assert_same

NUM_ENVS = 4
NEXT_STEP, SAME_STEP = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP

ENVS: dict[str, Callable[[], Any]] = {
    # agents with different spaces; discrete and continuous actions
    "speaker and listener": partial(simple_speaker_listener_v4.parallel_env, max_cycles=20),
    "spread": partial(simple_spread_v3.parallel_env, max_cycles=20, continuous_actions=True),
    "multiwalker": partial(pettingzoo.make, "parallel", "sisl/multiwalker-v9", max_cycles=40),
    "pursuit": partial(pettingzoo.make, "parallel", "sisl/pursuit-v5", max_cycles=20),
}


def assert_same_as_loop(make: Callable[[], Any], mode: AutoresetMode, steps: int) -> int:
    """Compares PoolParallelEnv with a plain loop.

    Returns how often an environment had both live and dead agents.
    """
    loop = Loop([make] * NUM_ENVS, mode)
    rng = np.random.default_rng(1)
    ends = mixed = 0
    with PoolParallelEnv([make] * NUM_ENVS, num_workers=2, autoreset_mode=mode) as envs:
        assert_same(envs.reset(seed=3), loop.reset(3), "reset")
        for step in range(steps):
            actions = sample(envs, rng)
            result = envs.step(actions)
            assert_same(result, loop.step(actions), f"step {step}")
            assert_same(envs.live, loop.live(), f"live after step {step}")
            lives = np.array(list(envs.live.values()))
            mixed += int((lives.any(axis=0) & ~lives.all(axis=0)).sum())
            over = [result[2][agent] | result[3][agent] for agent in envs.possible_agents]
            ends += int(np.any(over, axis=0).sum())
    for env in loop.envs:
        env.close()
    assert ends >= NUM_ENVS
    return mixed


@pytest.mark.parametrize("name", ENVS)
def test_equals_a_plain_loop(name: str) -> None:
    assert_same_as_loop(ENVS[name], NEXT_STEP, steps=30 if name == "pursuit" else 100)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP], ids=lambda mode: mode.name)
def test_agents_die_at_different_times(mode: AutoresetMode) -> None:
    options: dict[str, Any] = {"max_cycles": 80, "line_death": True, "spawn_delay": 4}
    id = "butterfly/knights_archers_zombies-v11"
    make = partial(pettingzoo.make, "parallel", id, **options)
    assert assert_same_as_loop(make, mode, steps=130) > 20


def test_pictures() -> None:
    make = partial(
        pettingzoo.make,
        "parallel",
        "butterfly/cooperative_pong-v6",
        max_cycles=15,
        render_mode="rgb_array",
    )
    assert_same_as_loop(make, NEXT_STEP, steps=40)
