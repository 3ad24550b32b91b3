"""Functions that return one environment several times are refused, whichever API takes them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import gymnasium
import pytest

import parallel_pool
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.run.make_env import Distinct
from parallel_pool.compat.pettingzoo import PoolParallelEnv
from tests.apis.pettingzoo.test_pettingzoo import Relay

Fns = list[Callable[[], Any]]
APIS: dict[str, Callable[[Fns, int], Any]] = {
    "PoolVectorEnv": lambda fns, n: parallel_pool.PoolVectorEnv(fns, num_workers=n),
    "PoolVecEnv": lambda fns, n: parallel_pool.PoolVecEnv(fns, num_workers=n),
    "ProcessPool": lambda fns, n: ProcessPool(fns, num_workers=n),
}
SAME = r"env_fns\[{}\] and env_fns\[{}\] return the same environment: make a new one in every call"


def cart_pole() -> Any:
    return gymnasium.make("CartPole-v1", disable_env_checker=True)


@pytest.mark.quick(2)
@pytest.mark.parametrize("num_workers", [0, 1, 2])
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_one_object(is_wrapped: bool, api: str, num_workers: int) -> None:
    """In wrappers of their own, too. Each worker gets a copy of the object."""
    env = cart_pole()

    def same() -> Any:
        return gymnasium.wrappers.TimeLimit(env, 9) if is_wrapped else env

    # of two workers, each has an environment of its own and one that they would share
    fns: Fns = [same, same] if num_workers < 2 else [cart_pole, cart_pole, same, same]
    last = len(fns) - 1
    with pytest.raises(ValueError, match=SAME.format(last - 1, last)):
        APIS[api](fns, num_workers).close()


@pytest.mark.quick(1)
@pytest.mark.parametrize("num_workers", [0, 1])
def test_one_parallel_environment(num_workers: int) -> None:
    env = Relay()
    with pytest.raises(ValueError, match=SAME.format(0, 1)):
        PoolParallelEnv([lambda: env] * 2, num_workers=num_workers).close()


def test_one_environment_for_each_worker() -> None:
    """As with AsyncVectorEnv, a copy of it steps in each process."""
    env = cart_pole()
    with closing(parallel_pool.PoolVectorEnv([lambda: env] * 2, num_workers=2)) as envs:
        envs.reset(seed=0)
        assert envs.step([0, 1])[1].tolist() == [1, 1]


def test_what_unwrapped_makes_anew_is_not_mistaken() -> None:
    """Objects that were freed have given their addresses to others."""

    class Proxy:
        @property
        def unwrapped(self) -> Any:
            return object()

    class Foreign:
        @property
        def unwrapped(self) -> Any:
            raise RuntimeError("no environment")

    distinct = Distinct(0)
    for _ in range(20):
        distinct.add(Proxy())
    foreign = Foreign()
    distinct.add(foreign)
    with pytest.raises(ValueError, match=SAME.format(20, 21)):
        distinct.add(foreign)
