"""Endless steps: a step in C that never returns hangs neither close, nor Ctrl-C, nor the exit."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine import closing
from parallel_pool._engine.pool import Pool
from parallel_pool.errors import ClosedError, PoolTimeoutError
from parallel_pool.testing import inspect
from tests.support.sampling import thinned
from tests.support.timeouts import TEST_TIMEOUT, wait_for

# the last environment spins in its first step, for ever
START = """
import contextlib, gc, os, signal, sys, threading, time, warnings
import numpy as np
from parallel_pool._engine import closing
from parallel_pool.errors import ClosedError, ForkedError, PoolTimeoutError, StateError
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.pool import Pool
from parallel_pool.testing import inspect

closing.CLOSE_TIMEOUT = closing.DELETE_TIMEOUT = 0.05


def wait_for_step(pool, env_id):
    with contextlib.suppress(PoolTimeoutError):
        # a thread takes the place of an ordered pool's caller
        pool.recv(timeout=0)
    while env_id not in inspect(pool).stepping:
        time.sleep(0.001)


def endless(num_envs=4, batch_size=2, num_threads=3):
    pool = Pool(
        *("test/Fault-v0", num_envs),
        batch_size=batch_size,
        num_threads=num_threads,
        options={"spin": 10**15, "slow_env": num_envs - 1},
    )
    pool.send_reset()
    for _ in range(num_envs // batch_size):
        pool.recv()
    # a thread may not have left a reset whose row was received
    while inspect(pool).stepping:
        time.sleep(0.001)
    pool.send(np.zeros(num_envs, int))
    wait_for_step(pool, num_envs - 1)
    return pool


def works():
    pool = Pool("test/Fault-v0", 3, num_threads=2)
    pool.reset()
    # longer than CLOSE_TIMEOUT, as an endless step may keep a core busy
    pool.close(timeout=60)


def interrupted(pool, state, call):
    # Ctrl-C reaches a call that waits, for which the pool is in a state
    def work():
        while inspect(pool).state != state:
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=work)
    try:
        thread.start()
        call()
    except KeyboardInterrupt:
        thread.join()
        return
    raise AssertionError("not interrupted")


signal.signal(signal.SIGINT, signal.default_int_handler)
"""

NAMED = "a step or reset of environment 3 did not return within 0.05 s"

# what a program does, and how many warnings that gives
PROGRAMS = {
    "ends": ("pool = endless()", 1),
    "ends with an ordered pool": ("pool = endless(batch_size=4)", 1),
    "closes": ("pool = endless()\npool.close()\nworks()", 1),
    "closes twice": ("pool = endless()\npool.close()\npool.close()\nworks()", 2),
    "closes and deletes": ("pool = endless()\npool.close()\ndel pool\nworks()", 1),
    "deletes": ("pool = endless()\ndel pool\nworks()", 1),
    "collects a cycle": (
        "cycle = [endless()]\ncycle.append(cycle)\ndel cycle\ngc.collect()\nworks()",
        1,
    ),
    "ends with a cycle": ("cycle = [endless()]\ncycle.append(cycle)", 1),
    "ends with many pools": ("pools = [endless(num_envs) for num_envs in (2, 4, 6)]", 1),
    "forks": (
        """
pool = endless()
pid = os.fork()
if not pid:
    try:
        pool.recv()
    except ForkedError:
        pool.close()
        works()
        os._exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
""",
        1,
    ),
    "forks after it gave up": (
        """
pool = endless()
pool.close()
pid = os.fork()
if not pid:
    pool.close()
    del pool
    works()
    os._exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
""",
        1,
    ),
    "a daemon thread waits": (
        """
pool = endless()
def receive():
    try:
        pool.recv()
    except ClosedError:
        pass
threading.Thread(target=receive, daemon=True).start()
time.sleep(0.1)
""",
        1,
    ),
    "interrupts a receive": (
        """
pool = endless(batch_size=4)
interrupted(pool, "receiving", pool.recv)
assert pool.in_flight == 4
try:
    pool.recv(timeout=0.1)
except PoolTimeoutError:
    pass
""",
        1,
    ),
    "interrupts a close": (
        """
pool = endless()
interrupted(pool, "closed", lambda: pool.close(timeout=float("inf")))
assert pool.closed
try:
    pool.recv()
except ClosedError:
    pass
pool.close()
works()
""",
        1,
    ),
    "interrupts a step": (
        """
pool = Pool("test/Fault-v0", 4, num_threads=2, options={"spin": 10**15, "slow_env": 3})
pool.reset()
interrupted(pool, "receiving", lambda: pool.step([0, 0, 0, 0], timeout=1000))
assert pool.in_flight == 4
try:
    pool.step([0, 0, 0, 0], timeout=1000)
except StateError as error:
    assert "pending (4 environments)" in str(error)
""",
        1,
    ),
    "makes warnings errors": (
        """
warnings.simplefilter("error")
pool = endless()
try:
    pool.close()
except RuntimeWarning as error:
    sys.stderr.write(str(error))
works()
""",
        1,
    ),
}


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START + script],
        capture_output=True,
        text=True,
        check=False,
        timeout=TEST_TIMEOUT,
    )


@pytest.mark.sanitizers
@pytest.mark.parametrize("name", thinned(PROGRAMS, 3))
def test_a_program_goes_on_and_ends(name: str) -> None:
    script, count = PROGRAMS[name]
    done = run(script + "\nsys.exit(7)")
    assert (done.returncode, done.stdout) == (7, ""), done.stderr
    assert done.stderr.count(NAMED) == count, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_thread_that_outlives_the_interpreter_writes_to_memory_that_is_there() -> None:
    """Its step returns, and writes its row, when all objects of Python are gone."""
    script = """
import ctypes
pool = Pool("test/Fault-v0", 1, num_threads=1, options={"sleep_ms": 3000})
pool.reset()
pool.send([0])
wait_for_step(pool, 0)
# called with the exit status after the interpreter has ended: sleeps as many seconds
ctypes.CDLL(None).on_exit(ctypes.cast(ctypes.CDLL(None).sleep, ctypes.c_void_p), None)
sys.exit(5)
"""
    done = run(script)
    assert (done.returncode, done.stdout) == (5, ""), done.stderr
    assert done.stderr.count("did not return within 0.05 s") == 1, done.stderr


def slow_pool(sleep_ms: int) -> Pool:
    """Returns a pool in whose thread a step runs, unless this process stood still for as long."""
    pool = Pool("test/Fault-v0", 1, num_threads=1, options={"sleep_ms": sleep_ms})
    pool.reset()
    pool.send([0])
    with contextlib.suppress(PoolTimeoutError):
        pool.recv(timeout=0)
    end = time.monotonic() + sleep_ms / 1000
    wait_for(lambda: inspect(pool).stepping or time.monotonic() > end)
    return pool


def keepers() -> weakref.WeakSet[closing.Keeper]:
    """Returns what keeps the memory of this process's pools, without keeping it."""
    return weakref.WeakSet(each for each in gc.get_objects() if type(each) is closing.Keeper)


@pytest.mark.sanitizers
def test_a_step_that_returns_later_frees_the_memory() -> None:
    others = keepers()
    pool = slow_pool(3000)
    own = keepers() - others
    assert len(own) == 1
    with pytest.warns(RuntimeWarning, match="environment 0 did not return within 0 s"):
        pool.close(timeout=0)
    del pool
    gc.collect()
    assert len(own) == 1

    def is_freed() -> bool:
        Pool("test/Fault-v0", 1, num_threads=1).close()
        gc.collect()
        return not own

    wait_for(is_freed)


@pytest.mark.sanitizers
def test_close_waits_for_a_step_that_returns_in_time() -> None:
    others = keepers()
    pool = slow_pool(250)
    (own,) = keepers() - others
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pool.close()
    assert own not in closing.open_keepers
    with pytest.raises(ClosedError):
        pool.recv()


def single() -> Any:
    from parallel_pool._apis.gymnasium.single_env import class_of

    env = class_of("test/Fault-v0")()
    env.reset()
    return env


def vector_env() -> Any:
    from parallel_pool.compat.gymnasium import PoolVectorEnv

    return PoolVectorEnv("test/Fault-v0", 2)


def vec_env() -> Any:
    from parallel_pool.compat.sb3 import PoolVecEnv

    return PoolVecEnv("test/Fault-v0", 2)


def parallel_env() -> Any:
    from parallel_pool.compat.pettingzoo import PoolParallelEnv

    return PoolParallelEnv("test/Duel-v0", num_envs=2)


APIS: dict[str, Callable[[], Any]] = {
    "Pool": lambda: Pool("test/Fault-v0", 2),
    "PoolVectorEnv": vector_env,
    "TorchEnv": lambda: vector_env().torch(),
    "single": single,
    "PoolVecEnv": vec_env,
    "EnvPool": lambda: parallel_pool.make("test/Fault-v0", env_type="gymnasium", num_envs=2),
    "EnvPool's dm_env": lambda: parallel_pool.make_dm("test/Fault-v0", num_envs=2),
    "PoolParallelEnv": parallel_env,
}


@pytest.mark.parametrize("api", thinned(APIS, 3))
def test_close_of_every_api_takes_a_timeout(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float | None] = []
    close = closing.Keeper.close

    def see(self: closing.Keeper, timeout: float | None = None) -> None:
        seen.append(timeout)
        close(self, timeout)

    monkeypatch.setattr(closing.Keeper, "close", see)
    first, second = APIS[api](), APIS[api]()
    first.close()
    second.close(timeout=0.25)
    assert seen == [None, 0.25]


@pytest.mark.parametrize("wrong", [-1, "soon", True, float("nan")])
def test_wrong_timeouts_are_refused(wrong: Any) -> None:
    pool = Pool("CartPole-v1", 2)
    with pytest.raises((TypeError, ValueError), match="timeout="):
        pool.close(timeout=wrong)
    assert not pool.closed
    pool.close(timeout=np.float32(1))
