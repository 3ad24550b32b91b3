"""What tests that start worker processes share: start methods, and what this process has open."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from multiprocessing import resource_tracker

import pytest

from parallel_pool._workers.start.launch import METHODS, Worker
from tests.support.timeouts import wait_for

TARGETS = "tests.support.workers_targets"

# imports everything again for each worker: left out of make check
SPAWN = pytest.param("spawn", marks=pytest.mark.slow)
methods = pytest.mark.parametrize(
    "method", [SPAWN if name == "spawn" else name for name in METHODS]
)
pickling_methods = pytest.mark.parametrize("method", ["forkserver", SPAWN])

Start = Callable[..., list[Worker]]


def children(state: str = "") -> set[int]:
    """Returns the ids of this process's children, zombies included; or of those in a state.

    Without the resource tracker of multiprocessing, which the first pool starts.
    """
    found = set()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                its_state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state in its_state:
            found.add(int(name))
    return found - {resource_tracker._resource_tracker._pid}  # type: ignore[attr-defined]


def kinds() -> Counter[str]:
    """Counts open descriptors by kind, because sockets of fork servers come and go."""
    return Counter(re.sub(r":\[\d+\]", "", place) for place in descriptors().values())


class Ends:
    """A callback for a watcher that records its calls: workers and their exit codes."""

    def __init__(self) -> None:
        self.received: list[tuple[Worker, int | None]] = []

    def __call__(self, worker: Worker) -> None:
        self.received.append((worker, worker.exitcode))

    def wait_for(self, worker: Worker, code: int) -> None:
        wait_for(lambda: (worker, code) in self.received)


def descriptors() -> dict[str, str]:
    """Returns what this process has open, by descriptor."""
    found = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            found[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
    return found
