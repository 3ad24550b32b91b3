"""Core waits: how long worker processes run, and wait for cores that other threads have."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence


def wait_of(pid: int) -> int | None:
    """Returns the nanoseconds for which a process has waited for a core while it could have run.

    Of its main thread, since it began. None if the system does not say, or the process has ended.
    """
    try:
        with open(f"/proc/{pid}/schedstat") as file:
            return int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None


def cpu_of(pid: int) -> int | None:
    """Returns the nanoseconds for which the threads of a process have run.

    None if the system does not say, or the process has ended.
    """
    try:
        # the kernel's number of a process' own clock (clock_getcpuclockid)
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return None


class CoreWaits:
    """What a pool's workers have waited since `begin`, those that have ended since included.

    Args:
        workers: a method of the pool, which returns the pid of each worker, None for one that has
            ended. The pool is not kept.
        read: returns nanoseconds of a process; None for `wait_of`.
    """

    def __init__(
        self,
        workers: Callable[[], Sequence[int | None]],
        read: Callable[[int], int | None] | None = None,
    ) -> None:
        self._read = read
        self._workers = weakref.WeakMethod(workers)
        # by worker and pid: at first and at last
        self._first: dict[tuple[int, int], int] = {}
        self._last: dict[tuple[int, int], int] = {}
        self._count = 0

    def begin(self) -> None:
        """Reads the waits for the first time."""
        self.look()
        self._first = dict(self._last)

    def look(self) -> None:
        """Reads the waits as they are now; called by one thread at a time."""
        workers = self._workers()
        pids = () if workers is None else workers()
        self._count = max(self._count, len(pids))
        for lane, pid in enumerate(pids):
            wait = None if pid is None else (self._read or wait_of)(pid)
            if pid is not None and wait is not None:
                self._last[lane, pid] = wait

    @property
    def seconds(self) -> list[float]:
        """What each worker has waited between the first look and the last."""
        found = [0.0] * self._count
        for (lane, pid), wait in self._last.items():
            # a worker that was started later has waited only since then
            found[lane] += (wait - self._first.get((lane, pid), 0)) / 1e9
        return found
