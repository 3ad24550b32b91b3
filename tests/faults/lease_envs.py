"""Environments of leases that fail when an action or an option says so, and helpers for them."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from parallel_pool.leases import AsyncLease, LeasePool
from tests.support.timeouts import wait_for

# seconds that no call of a healthy environment takes
LONG_SECONDS = 30.0


class Unpicklable:
    """An object that can't leave its process."""

    def __reduce__(self) -> Any:
        raise TypeError("not this one")


def _raise() -> None:
    raise ValueError("as asked")


def spin() -> None:
    while True:
        pass


def _eat() -> None:
    import resource

    limit = 4 << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    held = []
    while True:
        held.append(bytearray(1 << 28))


TROUBLES: dict[str, Callable[[], Any]] = {
    "raise": _raise,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(3),
    "spin": spin,
    "sleep": lambda: time.sleep(1e6),
    "nap": lambda: time.sleep(0.2),
    "eat": _eat,
}


class Gate:
    """A trouble that lasts until the test opens it.

    Attributes:
        trouble: what to ask an environment for.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.trouble = f"gate {path}"

    @property
    def is_reached(self) -> bool:
        """Whether an environment waits, or has waited."""
        return self._path.with_suffix(".reached").exists()

    def open(self) -> None:
        self._path.touch()

    def wait(self) -> None:
        self._path.with_suffix(".reached").touch()
        while not self._path.exists():
            time.sleep(0.002)


class Asked(gymnasium.Env[Any, Any]):
    """Observes (number, steps), and has the trouble that a step, reset or method is asked for."""

    observation_space = gymnasium.spaces.Box(-1, 1e9, (2,), np.float64)
    action_space: Any = gymnasium.spaces.Text(20)

    def __init__(self, number: int = 0) -> None:
        self.number, self.steps = number, 0

    def _show(self) -> Any:
        return np.array([self.number, self.steps], np.float64)

    def have(self, trouble: str) -> str:
        if trouble == "gate":
            # of a space that has no paths
            Gate(Path(os.environ["TEST_GATE"])).wait()
        elif trouble.startswith("gate "):
            Gate(Path(trouble.removeprefix("gate "))).wait()
        else:
            TROUBLES[trouble]()
        return "went on"

    def give(self, value: Any) -> Any:
        return Unpicklable() if value == "unpicklable" else value

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if options:
            self.have(options)
        self.steps = 0
        return self._show(), {"pid": os.getpid()}

    def step(self, action: str) -> Any:
        if action in TROUBLES or action.startswith("gate"):
            self.have(action)
        self.steps += 1
        info = {"gone": Unpicklable()} if action == "unpicklable" else {}
        return self._show(), float(self.steps), action == "end", action == "cut", info


class OnlyOnce(Asked):
    """Can be made only by the first process that makes one."""

    def __init__(self, path: str) -> None:
        super().__init__()
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))


def pool_of(count: int = 2, **options: Any) -> LeasePool:
    """Makes a pool of these environments, numbered from 0, each in its worker."""
    fns = [lambda number=i: Asked(number) for i in range(count)]
    return LeasePool(fns, **{"start_method": "fork", **options})


def run(
    play: Callable[[LeasePool], Coroutine[Any, Any, Any]], count: int = 2, **options: Any
) -> Any:
    """Runs a coroutine function with a pool, to which all environments must come back."""

    async def main(pool: LeasePool) -> Any:
        return await play(pool)

    with pool_of(count, **options) as pool:
        result = asyncio.run(main(pool))
        wait_for(lambda: pool.num_free == count)
        assert pool.num_waiting == 0
        return result


async def begun(env: AsyncLease, steps: int = 2) -> None:
    """Begins an episode and makes some steps."""
    await env.reset(seed=1, timeout=LONG_SECONDS)
    for _ in range(steps):
        await env.step("on", timeout=LONG_SECONDS)


async def goes_on(env: AsyncLease, steps: int = 2) -> None:
    """Checks that an episode that has made some steps makes another."""
    observation, reward, *_ = await env.step("on", timeout=LONG_SECONDS)
    assert observation.tolist() == [env.env_id, steps + 1] and reward == steps + 1


async def begins_again(env: AsyncLease) -> None:
    """Checks that an environment needs a reset, and works after it."""
    await begun(env)
    await goes_on(env)
