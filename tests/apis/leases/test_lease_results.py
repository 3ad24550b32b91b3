"""What leases return: what the environment itself returns, with the same types and bits."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool._apis.leases import native_envs
from parallel_pool._engine.pool import Pool
from parallel_pool.errors import NotResetError, StateError
from parallel_pool.leases import LeasePool
from tests.support.same import assert_same

pytestmark = pytest.mark.usefixtures("alarm")


class Odd(gymnasium.Env[Any, Any]):
    """Returns values whose types their spaces do not say, and observes its actions."""

    observation_space = spaces.Dict(
        {
            "action": spaces.Box(-9, 9, (), np.float32),
            "picture": spaces.Box(0, 255, (2, 3), np.uint8),
        }
    )
    action_space: Any = spaces.Box(-9, 9, (), np.float32)
    VALUES = (1, 2.5, np.float32(2.5), np.float64(0.1), np.int8(3), True, np.bool_(True))

    def __init__(self) -> None:
        self.at = 0

    def _show(self, action: Any) -> Any:
        picture = np.full((2, 3), self.at, np.uint8)
        return {"picture": picture, "more": "kept", "action": action}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = 0
        return self._show(0.0), {"seed": seed, "options": options}

    def step(self, action: Any) -> Any:
        self.at += 1
        kind = type(action).__name__
        info = {"kind": kind, "value": self.VALUES[self.at % len(self.VALUES)], "deep": {1: [2]}}
        return self._show(action), np.float32(0.1), np.bool_(self.at == 20), False, info


def texts() -> Any:
    class Spoken(Odd):
        observation_space: Any = spaces.Text(99)

        def _show(self, action: Any) -> Any:
            return f"{action!r} at {self.at}"

    return Spoken()


def exact(observation_space: Any) -> Callable[[], Any]:
    class Sampled(Odd):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = observation_space

        def _show(self, action: Any) -> Any:
            self.observation_space.seed(self.at)
            return self.observation_space.sample()

    return Sampled


SPACES = {
    "box": spaces.Box(-1, 1, (3,), np.float32),
    "number": spaces.Discrete(5),
    "binary": spaces.MultiBinary(3),
    "tuple": spaces.Tuple((spaces.Discrete(3), spaces.Box(0, 1, (2,), np.float64))),
}
MAKERS: dict[str, Callable[[], Any]] = {
    "CartPole": partial(gymnasium.make, "CartPole-v1"),
    "Pendulum": partial(gymnasium.make, "Pendulum-v1"),
    "Blackjack": partial(gymnasium.make, "Blackjack-v1"),
    "FrozenLake": partial(gymnasium.make, "FrozenLake-v1"),
    "odd": Odd,
    "texts": texts,
    **{name: exact(space) for name, space in SPACES.items()},
}
ACTIONS: list[Any] = [1, 0.5, np.float32(0.5), np.float64(0.5), np.array(0.5, np.float32), True]


def plain(result: Any) -> Any:
    """Returns a step's result with the reward and the flags as Python's own, as leases have it."""
    observation, reward, terminated, truncated, info = result
    return observation, float(reward), bool(terminated), bool(truncated), info


def check_episodes(maker: Callable[[], Any], lease: Any) -> None:
    """Plays episodes in an environment and in a lease, and compares everything."""
    env = maker()
    env.action_space.seed(3)
    for seed in (5, 6, 7):
        options = {"of": [seed]} if isinstance(env, Odd) else None
        began = env.reset(seed=seed, options=options)
        assert_same(lease.reset(seed=seed, options=options), began, f"reset {seed}")
        for i in range(30):
            action: Any = env.action_space.sample()
            if isinstance(env, Odd) and i % 2:
                action = ACTIONS[i % len(ACTIONS)]
            expected = env.step(action)
            assert_same(lease.step(action), plain(expected), f"step {i} of {seed}")
            if expected[2] or expected[3]:
                with pytest.raises(NotResetError, match="its episode has ended"):
                    lease.step(action)
                break


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize("name", MAKERS)
def test_workers_return_what_the_environment_returns(name: str) -> None:
    maker = MAKERS[name]
    with LeasePool([maker], start_method="fork") as pool, pool.lease() as lease:
        check_episodes(maker, lease)


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1", "Blackjack-v1", "FrozenLake-v1"])
def test_natives_return_what_gymnasium_make_returns(name: str) -> None:
    with LeasePool(name, 3) as pool:
        for _ in range(2):
            with pool.lease() as first, pool.lease() as lease:
                first.reset(seed=1)
                check_episodes(partial(gymnasium.make, name), lease)


def test_results_are_the_callers_own() -> None:
    with LeasePool([Odd], start_method="fork") as pool, pool.lease() as lease:
        first, _ = lease.reset()
        kept = [lease.step(1)[0]["picture"] for _ in range(10)]
        first["picture"][:] = 99
        assert [int(each[0, 0]) for each in kept] == list(range(1, 11))
        assert all(each.flags.writeable for each in kept)
    with LeasePool("CartPole-v1", 2) as pool, pool.lease() as lease:
        one, _ = lease.reset(seed=1)
        before = one.copy()
        for _ in range(5):
            lease.step(0)
        np.testing.assert_array_equal(one, before)

    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            one, _ = await env.reset(seed=1)
            for _ in range(5):
                await env.step(0)
            np.testing.assert_array_equal(one, before)

    with LeasePool("CartPole-v1", 2) as pool:
        asyncio.run(play(pool))


def test_methods_and_attributes() -> None:
    class Speaking(Odd):
        words = ("a", "b")

        def add(self, a: int, *, b: int) -> int:
            return self.at + a + b

    async def play(pool: LeasePool) -> None:
        async with pool.lease() as env:
            # before the first reset too
            assert await env.call("add", 1, b=2) == 3
            await env.reset()
            await env.step(1)
            assert await env.call("add", 1, b=2) == 4
            assert await env.call("words") == ("a", "b")
            with pytest.raises(AttributeError):
                await env.call("nothing")
            await env.step(1)

    with LeasePool([Speaking], start_method="fork") as pool:
        asyncio.run(play(pool))
    with (
        LeasePool("CartPole-v1") as pool,
        pool.lease() as lease,
        pytest.raises(StateError, match="native environments have no methods"),
    ):
        lease.call("render")


def test_arguments() -> None:
    with pytest.raises(TypeError, match="num_envs=3 is for an id"):
        LeasePool([Odd], 3)
    with pytest.raises(TypeError, match="num_workers=3 is for functions"):
        LeasePool("CartPole-v1", num_workers=3)
    with pytest.raises(ValueError, match="grace=None"):
        LeasePool("CartPole-v1", grace=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="players"):
        LeasePool("mpe/simple_spread_v3", N=2)
    with LeasePool("CartPole-v1", 3, gravity=1.0, max_episode_steps=2) as pool:
        assert pool.num_envs == 3 and pool.observation_space.shape == (4,)
        with pool.lease() as lease:
            with pytest.raises(ValueError, match="seed=-1"):
                lease.reset(seed=-1)
            with pytest.raises(ValueError, match="timeout=-1"):
                lease.reset(timeout=-1)
            lease.reset()
            with pytest.raises(ValueError, match="action"):
                lease.step(7)
            assert not lease.step(0)[3] and lease.step(0)[3]
        with pytest.raises(ValueError, match="timeout=-1"):
            pool.lease(timeout=-1)
        asyncio.run(_wrong_actions(pool))


async def _wrong_actions(pool: LeasePool) -> None:
    """They step nothing: the second good one is the last of an episode."""
    async with pool.lease() as env:
        await env.reset()
        for is_last in (False, True):
            with pytest.raises(ValueError, match="action"):
                await env.step(7)
            assert (await env.step(0))[3] == is_last


@pytest.mark.parametrize("timeout", [math.inf, 1e12, 2**70])
def test_timeouts_without_an_end(timeout: float) -> None:
    async def play(pool: LeasePool) -> float:
        async with pool.lease(timeout=timeout) as env:
            await env.reset(timeout=timeout)
            async with env.branches(timeout=timeout) as (branch,):
                return (await branch.step(0, timeout=timeout))[1]

    with LeasePool("CartPole-v1", 1, max_branches=1, timeout=timeout) as pool:
        with pool.lease(timeout=timeout) as env:
            env.reset(timeout=timeout)
            with env.branches(timeout=timeout) as (branch,):
                assert branch.step(0, timeout=timeout)[1] == 1.0
        assert asyncio.run(play(pool)) == 1.0


def test_they_cannot_be_copied() -> None:
    async def refuse(pool: LeasePool) -> None:
        async with pool.lease() as env:
            refused(env)

    def refused(each: Any) -> None:
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                copied(each)

    with LeasePool("CartPole-v1") as pool:
        with pool.lease() as lease:
            refused(pool)
            refused(lease)
        asyncio.run(refuse(pool))


def test_threads_of_native_environments_do_not_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would take more of the cores than the steps and all that Python does for them."""
    quiet: list[Any] = []
    monkeypatch.setattr(native_envs, "stop_spinning", quiet.append)
    with LeasePool("CartPole-v1", 3):
        assert [(type(each), each.num_envs) for each in quiet] == [(Pool, 3)]
