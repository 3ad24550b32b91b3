"""Targets of the workers that tests start. Workers import this module, so it imports little."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time
from typing import Any

import gymnasium
import numpy as np

from parallel_pool._workers.start.connection import Connection


def echo(connection: Connection, argument: Any) -> None:
    """Sends its process id and argument, then sends back each message, descriptors as paths."""
    connection.send(("hello", os.getpid(), argument))
    while True:
        try:
            value, fds = connection.recv()
        except EOFError:
            return
        connection.send((value, [os.readlink(f"/proc/self/fd/{fd}") for fd in fds]))


def evaluate(connection: Connection, source: str) -> None:
    """Sends the value of an expression and ends."""
    connection.send(eval(source, {**globals(), "connection": connection}))


def call(connection: Connection, task: Any) -> None:
    """Sends what a function returns for an argument."""
    function, argument = task
    connection.send(function(argument))


class Env(gymnasium.Env[Any, Any]):
    """Its observation is the number of its steps."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return np.full(2, self.steps, np.float32), 1.0, False, False, {}


class OwnError(Exception):
    """An exception class that Python does not define."""


class Unreadable(Exception):
    """An exception that can be pickled, but not unpickled."""

    def __init__(self, first: object, second: object) -> None:
        super().__init__("one argument instead of two")


def fail(connection: Connection, argument: str) -> None:
    if argument == "own":
        raise OwnError("of my own", 7)
    if argument == "unpicklable":
        raise OwnError(threading.Lock())
    if argument == "unreadable":
        raise Unreadable(1, 2)
    raise ValueError(argument)


def crash(number: signal.Signals = signal.SIGSEGV) -> None:
    """Ends its process as a defect in C does, without a report of pytest's faulthandler.

    Forked workers inherit the handler, and its report would look like a failed test run.
    """
    faulthandler.disable()
    if number == signal.SIGSEGV:
        ctypes.string_at(0)
    os.kill(os.getpid(), number)


def end(connection: Connection, how: str) -> None:
    """Ends its process in the given way, after a message."""
    connection.send("here")
    connection.recv()
    if how == "return":
        return
    if how == "os._exit":
        os._exit(3)
    if how == "sys.exit":
        sys.exit(4)
    if how == "segfault":
        crash()
    if how == "sleep":
        time.sleep(600)
    os.kill(os.getpid(), signal.Signals[how])
    time.sleep(600)


class Poison:
    """An argument that can be pickled, but not unpickled."""

    def __reduce__(self) -> Any:
        return _refuse, ()


def _refuse() -> None:
    raise RuntimeError("this argument cannot be read")


def process_state() -> dict[str, Any]:
    """Returns what a worker takes over from its parent process, and what it must not inherit."""
    return {
        "argv": sys.argv,
        "environ": dict(os.environ),
        "folder": os.getcwd(),
        "path": sys.path,
        "cores": os.sched_getaffinity(0),
        "stdin": sys.stdin.read(),
        "open": sorted(
            os.readlink(f"/proc/self/fd/{fd}").partition(":")[0]
            for fd in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{fd}")
        ),
        "flags": sys.flags.optimize,
        "warnings": sys.warnoptions,
        "comm": open("/proc/self/comm").read().strip(),
        "handlers": [
            str(number)
            for number in signal.valid_signals()
            if number != signal.SIGSEGV and callable(signal.getsignal(number))
        ],
        "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
    }
