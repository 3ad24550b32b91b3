"""Leasing: tasks that play leases of a pool under faults, and check that no call is lost.

Environments crash as in the soak test of batches. Besides, tasks miss deadlines, cancel calls and
kill their worker, and workers are killed from outside. Each environment counts its calls, so that a
call that was lost or done twice shows in the next result of the same life.
"""

from __future__ import annotations

import asyncio
import functools
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from benchmarks.harness import counting
from benchmarks.harness.counting import ACTION, EPISODE, LIFE, STEP, TOTAL
from parallel_pool.errors import PoolTimeoutError, WorkerError
from parallel_pool.leases import AsyncLease, LeasePool

# seconds of a deadline that is missed, and of those that are not
SHORT_SECONDS, LONG_SECONDS = 0.05, 60.0
# attempts of a reset, which another death may meet
RETRIES = 20
# tasks that wait for a lease, besides those that have one
WAITING_TASKS = 4


class Stalling(counting.Counting):
    """An environment of the soak test that can be made to never return."""

    def stall(self) -> None:
        """Spins for ever."""
        while True:
            pass


def factories(count: int, crash_every: int) -> list[Callable[[], Stalling]]:
    """Returns functions that make environments, of each kind in turn."""
    kinds = list(counting.KINDS)
    return [
        functools.partial(Stalling, i, kinds[i % len(kinds)], crash_every) for i in range(count)
    ]


class Leasing:
    """Plays all leases of a pool.

    Attributes:
        steps: done, and found right.
        events: how often each kind of fault was caused or met.
        faults: descriptions of results that were wrong.
    """

    def __init__(self, pool: LeasePool, event_every: int, seed: int = 0) -> None:
        """
        Args:
            pool: of `Stalling` environments.
            event_every: steps between two faults of each kind that a task causes, on average.
            seed: of the order of actions and faults.
        """
        self._pool = pool
        self._event_every = event_every
        self._random = random.Random(seed)
        # by environment: its life and calls as of its last result, and calls given up since
        self._seen: dict[int, tuple[int, int]] = {}
        self._given_up: Counter[int] = Counter()
        self._wanted = 0
        self.steps = 0
        self.events: Counter[str] = Counter()
        self.faults: list[str] = []

    async def play(self, steps: int) -> None:
        """Plays until so many more steps were done."""
        self._wanted = self.steps + steps
        await asyncio.gather(
            *[self._play_leases() for _ in range(self._pool.num_envs + WAITING_TASKS)]
        )

    def _is_over(self) -> bool:
        return self.steps >= self._wanted or bool(self.faults)

    def _is_due(self, event: str) -> bool:
        """Returns whether a fault is to be caused now; counts it."""
        is_due = self._random.random() * self._event_every < 1
        self.events[event] += is_due
        return is_due

    async def _play_leases(self) -> None:
        while not self._is_over():
            async with self._pool.lease() as env:
                # one after another, so that leases of few steps change hands often
                for _ in range(self._random.randrange(1, 4)):
                    try:
                        await self._play_episode(env)
                    except WorkerError:
                        self._lose(env, "deaths")
                    except counting.Crash:
                        # it raises from now on
                        self._lose(env, "crashes")
                        env.kill()

    async def _play_episode(self, env: AsyncLease) -> None:
        observation, info = await env.reset(seed=1, timeout=LONG_SECONDS, retries=RETRIES)
        self._check_counts(env, observation, info, STEP, 0)
        is_ended = False
        while not is_ended and not self._is_over():
            if self._is_due("kills"):
                self._kill_one()
            if self._is_due("deadlines"):
                await self._miss_deadline(env)
                return
            action = self._random.randrange(counting.ACTIONS)
            if self._is_due("cancelled"):
                await self._cancel(env, action)
                return
            before = observation["count"].tolist()
            observation, reward, terminated, truncated, info = await env.step(
                action, timeout=LONG_SECONDS
            )
            self._check_step(env, before, action, observation, reward, info)
            is_ended = terminated or truncated
            self.steps += 1

    # -------------------------------------------------------------------------------- faults --

    def _kill_one(self) -> None:
        pid = self._random.choice(self._pool.worker_pids)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def _miss_deadline(self, env: AsyncLease) -> None:
        try:
            await env.call("stall", timeout=SHORT_SECONDS)
        except PoolTimeoutError:
            self._lose(env, "missed")
        else:
            self.faults.append(f"{env}: a call that never ends has returned")

    async def _cancel(self, env: AsyncLease, action: int) -> None:
        """Cancels a step in flight. The environment does it all the same."""
        step = asyncio.create_task(env.step(action, timeout=LONG_SECONDS))
        await asyncio.sleep(0)
        step.cancel()
        with suppress(asyncio.CancelledError):
            await step
        self._given_up[env.env_id] += 1

    def _lose(self, env: AsyncLease, event: str) -> None:
        self.events[event] += 1
        self._given_up[env.env_id] += 1

    # -------------------------------------------------------------------------------- checks --

    def _check_step(
        self,
        env: AsyncLease,
        before: list[int],
        action: int,
        observation: Any,
        reward: float,
        info: Any,
    ) -> None:
        after = observation["count"].tolist()
        is_next = (
            after[LIFE] == before[LIFE]
            and after[EPISODE] == before[EPISODE]
            and after[ACTION] == action
            and reward == after[STEP]
        )
        if not is_next:
            self.faults.append(f"{env}: {after} with reward {reward} follows {before}")
        self._check_counts(env, observation, info, STEP, before[STEP] + 1)

    def _check_counts(
        self, env: AsyncLease, observation: Any, info: Any, column: int, expected: int
    ) -> None:
        """Checks one result against the last of this environment."""
        counts, picture = observation["count"].tolist(), observation["picture"]
        life, total = counts[LIFE], counts[TOTAL]
        if info["total"] != total or counts[column] != expected or (picture != total & 255).any():
            self.faults.append(f"{env}: a torn result: {counts}, {info}, expected {expected}")
        known_life, known_total = self._seen.get(env.env_id, (life, 0))
        given_up = self._given_up.pop(env.env_id, 0)
        if life == known_life and not 1 <= total - known_total <= 1 + given_up:
            self.faults.append(
                f"{env}: {total} calls after {known_total}, of which {given_up} were given up"
            )
        if life != known_life and not given_up:
            self.events["replaced at rest"] += 1
        self._seen[env.env_id] = life, total
