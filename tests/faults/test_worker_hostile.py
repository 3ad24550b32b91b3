"""Environments that change or damage their process: they work, or fail with one exception."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._workers.pool_arguments import MAX_WORKERS, MAX_YIELDED
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.compat import sb3
from parallel_pool.errors import WorkerError
from tests.faults.failing_envs import OBS, Counting

pytestmark = pytest.mark.usefixtures("alarm")


def close_files() -> None:
    os.closerange(0, 256)


def close_shared_files() -> None:
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if "parallel_pool" in os.readlink(f"/proc/self/fd/{fd}"):
                os.close(fd)
        except OSError:
            pass


def handle_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, lambda *_: None)


def block_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def set_frequent_timer() -> None:
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)


def limit(what: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(what, (value, value))


def leave_threads() -> None:
    threading.Thread(target=time.sleep, args=(1000,)).start()


def lose_streams() -> None:
    sys.stdout = sys.stderr = None  # type: ignore[assignment]


def write_much() -> None:
    for _ in range(200):
        print("x" * 10000)
        print("x" * 10000, file=sys.stderr)


def limit_files() -> None:
    # Python would cut compiled modules short, too
    sys.dont_write_bytecode = True
    limit(resource.RLIMIT_FSIZE, 10)()


def limit_recursion() -> None:
    sys.setrecursionlimit(150)


# after all of these the environment goes on as before
HARMLESS: dict[str, Callable[[], Any]] = {
    "files": close_files,
    "shared files": close_shared_files,
    "folder": lambda: os.chdir("/proc"),
    "handlers": handle_signals,
    "blocked": block_signals,
    "timer": set_frequent_timer,
    "memory": limit(resource.RLIMIT_AS, 1 << 20),
    "number of files": limit(resource.RLIMIT_NOFILE, 3),
    "size of files": limit_files,
    "threads": leave_threads,
    "streams": lose_streams,
    "output": write_much,
    "recursion": limit_recursion,
    "variables": os.environ.clear,
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", HARMLESS)
def test_an_environment_that_changes_its_process_goes_on(name: str) -> None:
    fns = [lambda: Counting(HARMLESS[name], 1), Counting]
    with ProcessPool(fns, num_workers=1, start_method="fork") as pool:
        pool.reset(seed=0)
        for steps in range(1, 4):
            shown = pool.step(np.zeros(2, np.int64))[OBS].view(np.float32).reshape(2, -1)
            assert shown[:, 0].tolist() == [steps] * 2
        pool.reset(seed=0)


def test_an_environment_that_closes_files_can_still_report_a_long_exception() -> None:
    """The descriptor for replies has a high number, which code that closes files does not reach."""

    def fail() -> None:
        close_files()
        raise ValueError("x" * 300_000)

    with ProcessPool([lambda: Counting(fail, 1)], start_method="fork") as pool:
        pool.reset(seed=0)
        with pytest.raises(ValueError, match=r"x{300000}"):
            pool.step([0])


class SaysNothing(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class Unpicklable(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("no")


def fail_in_circles() -> None:
    error = ValueError("round")
    error.__context__ = error
    raise error


def raises(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


FAILING: dict[str, tuple[Callable[[], Any], str]] = {
    "SystemExit": (raises(SystemExit("bye")), "SystemExit: bye"),
    "KeyboardInterrupt": (raises(KeyboardInterrupt()), "KeyboardInterrupt"),
    "GeneratorExit": (raises(GeneratorExit()), "GeneratorExit"),
    "BaseException": (raises(BaseException("base")), "BaseException: base"),
    "unpicklable": (raises(Unpicklable("own words")), "Unpicklable: own words"),
    "no text": (raises(SaysNothing()), ""),
    "circle": (fail_in_circles, "round"),
    "exit": (lambda: os._exit(5), "ended with exit code 5"),
    "signal": (lambda: os.kill(os.getpid(), signal.SIGTERM), "was killed by SIGTERM"),
    "memory": (lambda: bytearray(1 << 60), ""),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("at", ["step", "reset"])
@pytest.mark.parametrize("name", FAILING)
def test_each_failure_is_one_exception_in_the_caller(name: str, at: str) -> None:
    trouble, text = FAILING[name]
    fns = [Counting, lambda: Counting(trouble, 1, at)]
    with ProcessPool(fns, num_workers=2, start_method="fork") as pool:
        with pytest.raises(Exception) as caught:
            pool.reset(seed=0)
            pool.step(np.zeros(2, np.int64))
        assert text == "" or text in str(caught.value)
        assert pool.in_flight == 0
        if isinstance(caught.value, WorkerError):
            return
        pool.reset(seed=0)
        pool.step([0], [0])


# --------------------------------------------------------------------------------- env_fns --


def endless() -> Iterator[Callable[[], Any]]:
    for number in itertools.count():
        # refused before it can fill the memory
        assert number <= MAX_YIELDED
        yield Counting


@pytest.mark.parametrize(
    "kind",
    [
        ProcessPool,
        ProcessVectorEnv,
        pytest.param(lambda fns: sb3.PoolVecEnv(fns), marks=pytest.mark.slow, id="PoolVecEnv"),
    ],
)
def test_an_endless_iterable_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match=f"generator that yields more than {MAX_YIELDED}"):
        kind(endless())


def test_a_sequence_that_is_too_long_is_refused_before_it_is_read() -> None:
    class Long:
        def __len__(self) -> int:
            return 10**12

        def __getitem__(self, index: int) -> Any:
            raise AssertionError("read")

    with pytest.raises(ValueError, match="num_envs=1000000000000: choose 1 to"):
        ProcessPool(Long())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"num_workers=100000: choose 0 to {MAX_WORKERS}"):
        ProcessPool([Counting] * 100_000, num_workers=100_000)
    with ProcessPool(
        (Counting for _ in range(2)),  # type: ignore[arg-type]
        num_workers=1,
        start_method="fork",
    ) as pool:
        assert pool.num_envs == 2
