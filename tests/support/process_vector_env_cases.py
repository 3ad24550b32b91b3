"""What the tests of ProcessVectorEnv share: environments that do what their action names."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv

# seconds after which a hanging test fails; nothing here sleeps longer
FOREVER = 60.0
ACTIONS = np.zeros(4, np.int64)


class OwnError(Exception):
    """Can't be made from its `args`, so it can't be unpickled."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one + other)


class Doer(gymnasium.Env[Any, Any]):
    """Counts its steps, shows the count, and calls what its action names.

    Args:
        index: the second number that it shows.
        length: of an episode.
        doings: functions by action.
    """

    action_space: ClassVar[Any] = spaces.Discrete(9)
    observation_space: ClassVar[Any] = spaces.Box(-1, 1e6, (2,), np.float32)

    def __init__(self, index: int = 0, length: int = 10**6, doings: Any = ()) -> None:
        self.index, self.length = index, length
        self.doings: dict[int, Callable[[Doer], Any]] = dict(doings)
        self.count = self.total = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if options and "do" in options:
            options["do"](self)
        self.count = 0
        return self.show(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        self.total += 1
        shown = self.doings[int(action)](self) if int(action) in self.doings else None
        if shown is None:
            shown = self.show()
        return shown, self.count, self.count >= self.length, False, {}

    def show(self) -> Any:
        return np.array([self.index, self.count], np.float32)

    def render(self) -> Any:
        return np.full((2, 2, 3), self.count, np.uint8)

    def sleep(self, seconds: float) -> int:
        time.sleep(seconds)
        return self.index

    def hold(self, barrier: Barrier) -> int:
        barrier.hold()
        return self.index

    def fail(self, error: Exception) -> None:
        raise error

    def tell(self, name: str = "", timeout: float = 0, env_ids: Any = None) -> Any:
        return self.index, name, timeout, env_ids


def doers(do: Callable[[Doer], Any] | None = None, count: int = 4) -> list[Any]:
    """Functions of environments, of which the second calls something at action 1."""
    doings = [{1: do} if do is not None and i == 1 else {} for i in range(count)]
    return [partial(Doer, i, doings=doings[i]) for i in range(count)]


@contextmanager
def made(do: Callable[[Doer], Any] | None = None, **kwargs: Any) -> Iterator[ProcessVectorEnv]:
    """Four of them in two workers."""
    env = ProcessVectorEnv(doers(do), context="fork", num_workers=2, **kwargs)
    try:
        yield env
    finally:
        env.close(timeout=0.5)
        assert env.closed


def nap(seconds: float) -> Callable[[Doer], None]:
    return lambda env: time.sleep(seconds)


class Barrier:
    """Holds environments of forked workers until the test says so, whatever the machine is doing.

    Make it before them: it is two pipes, which they inherit.
    """

    def __init__(self) -> None:
        self._come, self._told = os.pipe()
        self._pass, self._let = os.pipe()

    def hold(self, env: Any = None) -> None:
        """Says that an environment is here, and holds it."""
        os.write(self._told, b".")
        os.read(self._pass, 1)

    def wait(self) -> None:
        """Waits in the test until an environment is held."""
        os.read(self._come, 1)

    def open(self, count: int = 1) -> None:
        """Lets environments pass, also before they come."""
        os.write(self._let, b"." * count)

    def close(self) -> None:
        for end in (self._come, self._told, self._pass, self._let):
            os.close(end)


def pids(env: ProcessVectorEnv) -> list[int]:
    return sorted(set(env.pool.apply(lambda env: os.getpid())))


@contextmanager
def interrupted(barrier: Barrier) -> Iterator[None]:
    """Sends Ctrl-C to the block, once it has an environment held."""

    def interrupt() -> None:
        barrier.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        yield
    thread.join()
