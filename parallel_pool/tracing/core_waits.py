"""Core waits: how long worker processes wait for a core that another thread has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def wait_of(pid: int) -> int | None:
    """Returns the nanoseconds for which a process has waited for a core while it could have run.

    Of its main thread, since it began. None if the system does not say, or the process has ended.
    """
    try:
        with open(f"/proc/{pid}/schedstat") as file:
            return int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None


def waits_of(pids: Iterable[int | None]) -> Mapping[int, int]:
    """Returns the nanoseconds of those processes of which the system tells them, by pid."""
    found = {pid: wait_of(pid) for pid in pids if pid is not None}
    return {pid: wait for pid, wait in found.items() if wait is not None}
