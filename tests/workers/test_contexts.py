"""Environments with contexts: what only the process that made it can use is made and closed in the
worker, and close returns within its bound even if the environment's own close does not."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool import ProcessPool
from parallel_pool.compat import sb3
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.leases import LeasePool
from tests.support.sampling import sampled
from tests.support.timeouts import has_ended, wait_for

pytestmark = pytest.mark.usefixtures("alarm")

# seconds: what a bound of 0.3 s, and the ends of some processes, may take on a busy machine
MAX_SECONDS = 20.0


class Simulator(gymnasium.Env[Any, Any]):
    """Holds what simulators with cameras hold, as strictly as the strictest of them.

    - a context: only the thread that made it may use it, as with EGL;
    - a device, which one context at a time may have;
    - a server's socket.

    Its close takes `seconds`.
    """

    observation_space = gymnasium.spaces.Box(0, 255, (4, 4, 3), np.uint8)
    action_space: Any = gymnasium.spaces.Discrete(2)

    def __init__(self, device: Path, seconds: float = 0.0) -> None:
        self.device, self.seconds = device.open("w"), seconds
        fcntl.flock(self.device, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.context = os.getpid(), threading.get_ident()

    def _draw(self) -> Any:
        if self.context != (os.getpid(), threading.get_ident()):
            raise RuntimeError("EGL_BAD_ACCESS: the context is another thread's")
        return np.zeros((4, 4, 3), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._draw(), {}

    def step(self, action: Any) -> Any:
        if action:
            raise ValueError("the simulation is unstable")
        return self._draw(), 1.0, False, False, {}

    def held(self) -> tuple[int, int]:
        """Returns the process and the server's port."""
        return os.getpid(), self.server.getsockname()[1]

    def close(self) -> None:
        self._draw()
        time.sleep(self.seconds)
        self.server.close()
        self.device.close()


def makers(folder: Path, count: int = 2, seconds: float = 30.0) -> list[Callable[[], Any]]:
    return [lambda i=i: Simulator(folder / str(i), seconds) for i in range(count)]


def check_free(folder: Path, held: list[tuple[int, int]]) -> None:
    """Fails unless processes have ended, and another simulator can have what they held."""
    for i, (pid, port) in enumerate(held):
        assert pid != os.getpid()
        wait_for(lambda pid=pid: has_ended(pid))
        assert socket.socket().connect_ex(("127.0.0.1", port)) != 0
        Simulator(folder / str(i)).close()


def test_contexts_are_made_used_and_closed_by_the_worker(tmp_path: Path) -> None:
    with ProcessPool(makers(tmp_path, seconds=0.0), num_workers=1, start_method="fork") as pool:
        pool.reset(seed=1)
        pool.step([0, 0])
        held = pool.call("held")
    check_free(tmp_path, held)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:closing the pool")
@pytest.mark.parametrize("kind", sampled(["pool", "vector", "sb3", "leases", "block"], {"vector"}))
def test_a_close_that_hangs_takes_no_longer_than_its_bound(kind: str, tmp_path: Path) -> None:
    fns = makers(tmp_path)
    pool: Any
    if kind in ("pool", "block"):
        pool = ProcessPool(fns, num_workers=2, start_method="fork")
        held = pool.call("held")
    elif kind == "vector":
        pool = PoolVectorEnv(fns, num_workers=2, context="fork")
        held = list(pool.call("held"))
    elif kind == "sb3":
        pool = sb3.PoolVecEnv(fns, num_workers=2, start_method="fork")
        held = pool.env_method("held")
    else:
        pool = LeasePool(fns, start_method="fork")
        with pool.lease() as one, pool.lease() as other:
            one.reset(seed=1)
            other.reset(seed=1)
            held = [one.call("held"), other.call("held")]
    start = time.monotonic()
    if kind == "block":
        # without a bound of its own it is five seconds
        with pool:
            pass
        assert time.monotonic() - start < 5 + MAX_SECONDS
    else:
        pool.close(timeout=0.3)
        assert time.monotonic() - start < MAX_SECONDS
    check_free(tmp_path, held)


@pytest.mark.slow
def test_the_close_before_an_environment_is_made_again_has_the_deadline_of_steps(
    tmp_path: Path,
) -> None:
    fns = makers(tmp_path, 1)
    options: dict[str, Any] = {"on_error": "restart", "timeout": 3.0, "context": "fork"}
    with closing(PoolVectorEnv(fns, num_workers=1, **options)) as envs:
        envs.reset(seed=1)
        first = envs.call("held")
        start = time.monotonic()
        *_, truncations, infos = envs.step([1])
        assert time.monotonic() - start < MAX_SECONDS
        assert truncations[0] and infos["worker_restarted"][0]
        envs.step([0])
        assert envs.call("held")[0][0] != first[0][0]
        held = list(envs.call("held"))
        envs.close(timeout=0.1)
    check_free(tmp_path, held)


@pytest.mark.slow
def test_a_worker_that_is_replaced_has_a_context_of_its_own(tmp_path: Path) -> None:
    fns = makers(tmp_path)
    with closing(PoolVectorEnv(fns, num_workers=2, on_error="restart", context="fork")) as envs:
        envs.reset(seed=1)
        held = list(envs.call("held"))
        os.kill(held[1][0], signal.SIGKILL)
        wait_for(lambda: has_ended(held[1][0]))
        assert envs.step([0, 0])[3].tolist() == [False, True]
        envs.step([0, 0])
        again = list(envs.call("held"))
        assert again[0] == held[0] and again[1] != held[1]
        envs.close(timeout=0.1)
    check_free(tmp_path, again)


def test_processes_that_prepare_resets_have_contexts_of_their_own(tmp_path: Path) -> None:
    def make() -> Any:
        # whichever of two devices is free
        try:
            return Simulator(tmp_path / "0")
        except BlockingIOError:
            return Simulator(tmp_path / "1")

    fns = [lambda: gymnasium.wrappers.TimeLimit(make(), 3)]
    with ProcessPool(fns, episode_seeds=True, prepare_resets=True, start_method="fork") as pool:
        pool.reset(seed=1)
        held = []
        for _ in range(16):
            pool.step([0])
            held.append(pool.call("held")[0])
        assert len(set(held)) == 2
    check_free(tmp_path, list(set(held)))
