"""What the tests of PoolVecEnv over native environments share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecEnv,
)

from parallel_pool._engine import registry
from parallel_pool.compat.sb3 import PoolVecEnv
from tests.support.same import assert_same

CLASSIC = [id for id, found in registry.builtin().items() if found.family == "classic_control"]
MUJOCO = [
    id
    for id, found in registry.builtin().items()
    if found.family == "mujoco" and found.reference.startswith("gymnasium")
]


# the spec of a wrapped environment
CLIPPED = gymnasium.wrappers.ClipReward(gymnasium.make("CartPole-v1"), 0, 0.5).spec


class Custom(CartPoleEnv):
    """A user's environment, registered under the id of a native one."""


@contextmanager
def made(*args: Any, **kwargs: Any) -> Iterator[PoolVecEnv]:
    env = PoolVecEnv(*args, **kwargs)
    yield env
    env.close()


@contextmanager
def pair(id: str, num_envs: int, **kwargs: Any) -> Iterator[tuple[DummyVecEnv, PoolVecEnv]]:
    """A DummyVecEnv and our vector environment."""
    theirs = DummyVecEnv([lambda: gymnasium.make(id, **kwargs)] * num_envs)
    ours = PoolVecEnv(id, num_envs, **kwargs)
    try:
        yield theirs, ours
    finally:
        theirs.close()
        ours.close()


def plain(observation: Any) -> Any:
    """DummyVecEnv returns an OrderedDict, SubprocVecEnv and PoolVecEnv a dict."""
    return dict(observation) if isinstance(observation, dict) else observation


def assert_same_reset(ours: VecEnv, theirs: VecEnv, where: str) -> None:
    assert_same(ours.reset(), plain(theirs.reset()), where)
    assert_same(ours.reset_infos, theirs.reset_infos, f"{where}: infos")


def assert_same_step(ours: VecEnv, theirs: VecEnv, actions: Any, where: str) -> Any:
    observations, *others = theirs.step(actions)
    found = ours.step(actions)
    assert_same(found, (plain(observations), *others), where)
    assert_same(ours.reset_infos, theirs.reset_infos, f"{where}: infos of resets")
    return found


def make_actions(space: gymnasium.Space[Any], num_envs: int, steps: int) -> list[Any]:
    """Actions drawn from the space, for Box also beyond it."""
    space.seed(7)
    drawn = [np.stack([space.sample() for _ in range(num_envs)]) for _ in range(steps)]
    if isinstance(space, Box):
        return [np.float32(1.5 if i % 9 == 0 else 1) * each for i, each in enumerate(drawn)]
    return drawn
