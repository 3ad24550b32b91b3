"""What the tests of PoolVecEnv over worker processes share: pairs of vector environments."""

from __future__ import annotations

import copy
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecEnv,
)

from parallel_pool.compat.sb3 import PoolVecEnv
from tests.parity.test_process_parity import SPACES, Teller
from tests.support.same import assert_same

# spaces that Stable-Baselines3 supports
KINDS = [
    *("box", "number", "byte", "picture", "discrete", "discrete from -3", "multi discrete"),
    *("multi binary", "flat dict", "flat tuple"),
]
SPACES = {
    **SPACES,
    "flat dict": lambda: spaces.Dict(
        OrderedDict(b=spaces.Box(-1, 1, (2,)), a=spaces.Discrete(3), c=spaces.MultiBinary(2))
    ),
    "flat tuple": lambda: spaces.Tuple(
        [spaces.Discrete(3), spaces.Box(0, 255, (2, 2), np.uint8), spaces.MultiDiscrete([2, 3])]
    ),
}

Maker = Callable[[], Any]


@contextmanager
def made(env_fns: list[Maker], **kwargs: Any) -> Iterator[PoolVecEnv]:
    """A PoolVecEnv with two workers."""
    num_workers = min(2, len(env_fns))
    env = PoolVecEnv(env_fns, **{"start_method": "fork", "num_workers": num_workers, **kwargs})
    try:
        yield env
    finally:
        env.close()


@contextmanager
def pair(env_fns: list[Maker], **kwargs: Any) -> Iterator[tuple[DummyVecEnv, PoolVecEnv]]:
    """A DummyVecEnv and a PoolVecEnv with the same environments."""
    theirs = DummyVecEnv(env_fns)
    with made(env_fns, **kwargs) as ours:
        yield theirs, ours
    theirs.close()


def tellers(count: int, **kwargs: Any) -> list[Maker]:
    """Environments whose episodes end at different times, terminated or truncated."""
    return [partial(Teller, length=2 + i % 4, **kwargs) for i in range(count)]


def plain(observation: Any) -> Any:
    """DummyVecEnv returns an OrderedDict, SubprocVecEnv and PoolVecEnv a dict."""
    return dict(observation) if isinstance(observation, OrderedDict) else observation


def order_of(value: Any) -> Any:
    """The keys in their order, at any depth."""
    if isinstance(value, dict):
        return [(key, order_of(each)) for key, each in value.items()]
    return [order_of(each) for each in value] if isinstance(value, list | tuple) else None


def compare(ours: Any, theirs: Any, where: str) -> None:
    assert_same(ours, theirs, where)
    assert order_of(ours) == order_of(theirs), where


def compare_reset(ours: VecEnv, theirs: VecEnv, where: str) -> None:
    compare(ours.reset(), plain(theirs.reset()), where)
    compare(list(ours.reset_infos), list(theirs.reset_infos), f"{where}: infos")


def compare_step(ours: VecEnv, theirs: VecEnv, actions: Any, where: str) -> Any:
    observations, *others = theirs.step(copy.deepcopy(actions))
    found = ours.step(actions)
    compare(found, (plain(observations), *others), where)
    compare(list(ours.reset_infos), list(theirs.reset_infos), f"{where}: infos of resets")
    return found


def run_both(theirs: VecEnv, ours: VecEnv, steps: int, actions: Any = None) -> None:
    """Runs both with the same seeds and actions, and a reset in between."""
    for env in (theirs, ours):
        env.seed(5)
    compare_reset(ours, theirs, "reset")
    theirs.action_space.seed(3)
    ways = set()
    for step in range(steps):
        drawn = [theirs.action_space.sample() for _ in range(theirs.num_envs)]
        taken = np.stack(drawn) if actions is None else actions(drawn)
        _, _, dones, infos = compare_step(ours, theirs, taken, f"step {step}")
        ways |= {infos[i]["TimeLimit.truncated"] for i in np.flatnonzero(dones)}
        if step == steps // 2:
            compare_reset(ours, theirs, "reset without a seed")
    assert ways == {True, False}


def process_ids(env: PoolVecEnv) -> list[int]:
    """The process id of each environment's worker."""
    return [int(pid) for pid in env.pool.apply(lambda env: os.getpid())]
