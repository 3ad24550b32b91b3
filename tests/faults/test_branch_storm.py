"""A storm of branches: tasks branch, step, cancel and kill, while workers are killed from outside.

Each step of each branch is checked: none may be lost or done twice, or by another process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from typing import Any

import pytest

from parallel_pool._workers.watch import supervisor
from parallel_pool.errors import (
    BusyError,
    ClosedError,
    NotResetError,
    PoolTimeoutError,
    StateError,
    WorkerError,
)
from parallel_pool.leases import AsyncLease, LeasePool
from tests.faults.lease_envs import LONG_SECONDS, Asked
from tests.support.timeouts import wait_for

pytestmark = pytest.mark.usefixtures("alarm")

# what a task must expect of a lease, which it then gives up; ValueError is an environment's own
EXPECTED = (
    WorkerError,
    PoolTimeoutError,
    NotResetError,
    ClosedError,
    ValueError,
    asyncio.CancelledError,
)
DEPTH = 4


class Player:
    """Does random things with leases, and counts the steps that it has checked."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.checked = 0

    async def play(self, pool: LeasePool, rounds: int) -> None:
        for _ in range(rounds):
            async with pool.lease() as lease:
                with contextlib.suppress(*EXPECTED):
                    await lease.reset(seed=1, retries=3, timeout=LONG_SECONDS)
                    await self.use(lease, 0, 0)

    async def use(self, lease: AsyncLease, steps: int, depth: int) -> None:
        for _ in range(self.random.randrange(6)):
            kind = self.random.choices(
                ("step", "reset", "abandon", "trouble", "branch", "cancel"), (11, 1, 1, 1, 5, 1)
            )
            if kind == ["step"]:
                observation, reward, *_ = await lease.step("on")
                steps += 1
                assert observation[1] == reward == steps
                self.checked += 1
            elif kind == ["reset"]:
                await lease.reset(seed=1)
                steps = 0
            elif kind == ["abandon"]:
                await self.abandon(lease)
            elif kind == ["trouble"]:
                await lease.step(self.random.choice(["kill", "exit", "raise"]))
            elif depth < DEPTH:
                try:
                    await self.branch(lease, steps, depth, is_cancelled=kind == ["cancel"])
                except BusyError:
                    pass
                except StateError as error:
                    if "is being replaced: reset it first" not in str(error):
                        raise
                    # the worker was killed, and a busy machine takes long to replace it
                    return

    async def abandon(self, lease: AsyncLease) -> None:
        """Gives up a step that would last for ever."""
        step = asyncio.create_task(lease.step("spin", timeout=0.3))
        await asyncio.sleep(self.random.random() / 100)
        if self.random.random() < 0.4:
            step.cancel()
        elif self.random.random() < 0.5:
            lease.kill()
        await step

    async def branch(
        self, lease: AsyncLease, steps: int, depth: int, *, is_cancelled: bool
    ) -> None:
        branching = lease.branches(self.random.randrange(1, 4), timeout=LONG_SECONDS)
        if is_cancelled:
            entering = asyncio.create_task(branching.__aenter__())
            await asyncio.sleep(self.random.random() / 50)
            entering.cancel()
            for branch in await entering:
                branch.close()
            return
        async with branching as branches:
            uses = [self.use(branch, steps, depth + 1) for branch in branches]
            for result in await asyncio.gather(*uses, return_exceptions=True):
                if isinstance(result, BaseException) and not isinstance(result, EXPECTED):
                    raise result


async def kill_some(pool: LeasePool, seed: int, pause: float) -> None:
    """Kills workers, those that are just starting included, until it is cancelled.

    Args:
        pause: seconds between two kills, at most.
    """
    chooser = random.Random(seed)
    while True:
        await asyncio.sleep(chooser.random() * pause)
        pids = [pid for pid in pool.worker_pids if pid is not None]
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chooser.choice(pids), signal.SIGKILL)


STORMS = [
    pytest.param(6, "fork", marks=pytest.mark.sanitizers),
    *(pytest.param(*each, marks=pytest.mark.slow) for each in ((60, "fork"), (25, "forkserver"))),
]


@pytest.mark.parametrize(("rounds", "method"), STORMS)
def test_no_step_is_lost_or_done_twice(
    rounds: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # an environment is given up after some kills in a row, which chance may bring
    monkeypatch.setattr(supervisor, "MAX_RESTARTS", 1000)
    players = [Player(seed) for seed in range(4)]

    async def main(pool: LeasePool) -> None:
        pause = 0.1
        while sum(player.checked for player in players) <= rounds:
            killing = asyncio.create_task(kill_some(pool, 9, pause))
            await asyncio.gather(*[player.play(pool, rounds) for player in players])
            killing.cancel()
            # on a busy machine hardly any worker lived long enough for a step
            pause *= 2

    fns: list[Any] = [lambda: Asked(0)] * 3
    with LeasePool(fns, start_method=method, max_branches=12, timeout=LONG_SECONDS) as pool:
        asyncio.run(main(pool))
        wait_for(lambda: not pool.num_branches and pool.num_free == 3)
        assert pool.num_waiting == 0
    assert sum(player.checked for player in players) > rounds
