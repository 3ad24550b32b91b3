"""Branches of leases: each goes on as a deep copy of the environment would, bit by bit."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import random
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool.errors import NotResetError, StateError
from parallel_pool.leases import Lease, LeasePool
from tests.support.same import assert_same

pytestmark = pytest.mark.usefixtures("alarm")


def minigrid() -> Any:
    pytest.importorskip("minigrid")
    return gymnasium.make("MiniGrid-DoorKey-6x6-v0")


MAKERS: dict[str, Callable[[], Any]] = {
    "CartPole": partial(gymnasium.make, "CartPole-v1"),
    "Blackjack": partial(gymnasium.make, "Blackjack-v1"),
    "MiniGrid": minigrid,
}


def plain(result: Any) -> Any:
    """Returns a step's result with the reward and the flags as Python's own, as leases have it."""
    observation, reward, terminated, truncated, info = result
    return observation, float(reward), bool(terminated), bool(truncated), info


def check_going_on(env: Any, lease: Lease, seed: int, steps: int = 40) -> None:
    """Plays an environment and a lease that are in one state, through ends of episodes."""
    chooser = np.random.default_rng(seed)
    for i in range(steps):
        action = int(chooser.integers(env.action_space.n))
        expected = env.step(action)
        assert_same(lease.step(action), plain(expected), f"step {i} of {seed}")
        if expected[2] or expected[3]:
            with pytest.raises(NotResetError, match="its episode has ended"):
                lease.step(action)
            # without a seed: the generators are in one state, too
            assert_same(lease.reset(), env.reset(), f"reset after step {i} of {seed}")


def begun(env: Any, lease: Lease, steps: int) -> None:
    env.reset(seed=7)
    lease.reset(seed=7)
    for _ in range(steps):
        if any(env.step(0)[2:4]):
            env.reset()
        if any(lease.step(0)[2:4]):
            lease.reset()


@pytest.mark.quick(0, sanitizers=1)
@pytest.mark.parametrize("name", MAKERS)
def test_eight_branches_equal_eight_deep_copies(name: str) -> None:
    maker = MAKERS[name]
    with LeasePool([maker], start_method="fork", max_branches=8) as pool, pool.lease() as lease:
        env = maker()
        begun(env, lease, 5)
        copies = [copy.deepcopy(env) for _ in range(8)]
        with lease.branches(8) as branches:
            for seed, (own, branch) in enumerate(zip(copies, branches, strict=True)):
                check_going_on(own, branch, seed)
            check_going_on(env, lease, 99)


def test_natives_have_the_same_branches() -> None:
    maker = MAKERS["CartPole"]
    with LeasePool("CartPole-v1", 2, max_branches=9) as pool, pool.lease() as lease:
        env = maker()
        begun(env, lease, 5)
        copies = [copy.deepcopy(env) for _ in range(8)]
        with lease.branches(8) as branches:
            assert pool.num_branches == 8
            for seed, (own, branch) in enumerate(zip(copies, branches, strict=True)):
                check_going_on(own, branch, seed)
            with branches[0].branches() as (twin,):
                check_going_on(copies[0], twin, 5)
            check_going_on(env, lease, 99)
        assert pool.num_branches == 0
        with (
            pytest.raises(StateError, match="seeded by their resets alone"),
            lease.branches(seed=1),
        ):
            pass


class Story(gymnasium.Env[Any, Any]):
    """Its state is in a Python generator, an open file and global generators: no deep copy."""

    observation_space: Any = gymnasium.spaces.Text(200)
    action_space: Any = gymnasium.spaces.Discrete(3)

    def __init__(self, path: Path) -> None:
        self.path = path

    def _tell(self) -> Generator[str, int, None]:
        told: list[int] = []
        with self.path.open() as file:
            while True:
                told.append((yield f"{sum(told)} {file.readline()[:9]} {self._draws()}"))

    def _draws(self) -> list[float]:
        return [random.random(), float(np.random.random()), float(self.np_random.random())]  # noqa: NPY002

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        self.story = self._tell()
        return next(self.story), {}

    def step(self, action: int) -> Any:
        # the generator gets the action and yields what is observed next
        shown = self.story.send(int(action))
        return shown, 1.0, False, False, {"pid": os.getpid()}


def told(lease: Lease, actions: list[int]) -> list[str]:
    return [lease.step(action)[0] for action in actions]


@pytest.mark.sanitizers
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_stateful_generator_goes_on_in_each_branch(tmp_path: Path, method: str) -> None:
    path = tmp_path / "story"
    # long lines, so that Python reads from the file every other step
    path.write_text("".join(f"line {i} {'x' * 5000}\n" for i in range(100)))
    with (
        LeasePool([partial(Story, path)] * 2, start_method=method, max_branches=3) as pool,
        pool.lease() as lease,
        pool.lease() as replay,
    ):
        with pytest.raises(TypeError):
            begin = Story(path)
            begin.reset(seed=3)
            copy.deepcopy(begin)
        lease.reset(seed=3)
        told(lease, [1, 2])
        ways = [[0, 1] * 20, [2, 2] * 20, [1, 0] * 20]
        with lease.branches(3) as branches:
            # in turns: none disturbs the others, the file's offset included
            found: list[list[str]] = [[], [], []]
            for i in range(0, 40, 2):
                for own, branch, way in zip(found, branches, ways, strict=True):
                    own += told(branch, way[i : i + 2])
            for own, way in zip(found, ways, strict=True):
                replay.reset(seed=3)
                assert told(replay, [1, 2, *way])[2:] == own
            replay.reset(seed=3)
            assert told(replay, [1, 2, *ways[0]])[2:] == told(lease, ways[0])


@pytest.mark.sanitizers
def test_branches_of_branches_of_branches() -> None:
    """A long chain, of which only the last is left: a search that always keeps the best."""
    maker = MAKERS["CartPole"]
    with (
        LeasePool([maker], start_method="fork", max_branches=2) as pool,
        pool.lease() as lease,
        contextlib.ExitStack() as stack,
    ):
        env = maker()
        begun(env, lease, 1)
        last = lease
        for i in range(30):
            (following,) = stack.enter_context(last.branches())
            if last is not lease:
                last.close()
            last = following
            check_going_on(env, last, i, steps=2)


@pytest.mark.sanitizers
def test_seeds_of_branches() -> None:
    """Each branch has another stream, the same in each run; without seeds they have one."""

    def draws(lease: Lease, **options: Any) -> list[str]:
        with lease.branches(3, **options) as branches:
            return [told(branch, [0] * 3)[-1] for branch in branches]

    maker = partial(Story, Path(os.devnull))
    with LeasePool([maker], start_method="fork", max_branches=3) as pool, pool.lease() as lease:
        lease.reset(seed=3)
        assert len(set(draws(lease))) == 1
        seeded = draws(lease, seed=5)
        assert len(set(seeded)) == 3
        assert draws(lease, seed=5) == seeded
        assert draws(lease, seed=[6, None, 5]) == [seeded[1], draws(lease)[0], seeded[0]]
        with pytest.raises(ValueError, match="2 seeds for 3"):
            lease.branches(3, seed=[1, 2])
        with pytest.raises(ValueError, match="count=4"):
            lease.branches(4)


@pytest.mark.sanitizers
def test_branches_for_tasks() -> None:
    async def play() -> None:
        async with (
            LeasePool([MAKERS["CartPole"]], start_method="fork", max_branches=4) as pool,
            pool.lease() as lease,
        ):
            await lease.reset(seed=1)
            for _ in range(3):
                async with lease.branches(4) as branches:
                    results = await asyncio.gather(*[each.step(1) for each in branches])
                    for result in results[1:]:
                        assert_same(result, results[0], "branches")
                    assert pool.num_branches == 4
            assert_same(await lease.step(1), results[0], "the original")

    asyncio.run(play())


def test_a_branch_that_needs_a_reset_needs_it_too() -> None:
    with (
        LeasePool([MAKERS["CartPole"]], start_method="fork", max_branches=2) as pool,
        pool.lease() as lease,
        lease.branches() as (branch,),
    ):
        with pytest.raises(NotResetError, match="not reset in this lease"):
            branch.step(0)
        branch.reset(seed=1)
        while not any(branch.step(0)[2:4]):
            pass
        with branch.branches() as (twin,):
            with pytest.raises(NotResetError, match="its episode has ended"):
                twin.step(0)
            observation, _ = twin.reset(seed=1)
            np.testing.assert_array_equal(observation, branch.reset(seed=1)[0])
