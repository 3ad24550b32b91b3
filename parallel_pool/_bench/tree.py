"""Process trees: the descendants of a process, their CPU time and their memory."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

# The errors that reading /proc raises when the process has ended.
GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def fields(pid: int) -> list[str]:
    """Returns the fields of /proc/PID/stat after the name: state, parent, ..."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()


def descendants(root: int) -> list[int]:
    """Returns all descendants of a process, zombies included."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with suppress(*GONE):
                children.setdefault(int(fields(int(entry))[1]), []).append(int(entry))
    found, ahead = [], [root]
    while ahead:
        below = children.get(ahead.pop(), [])
        found += below
        ahead += below
    return found


def zombies(pids: Iterable[int]) -> int:
    """Returns how many of the processes are zombies."""
    return sum(state == "Z" for state in each(pids, lambda pid: fields(pid)[0]))


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time of all threads of a process, by the clock of clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


def cpu_of(pids: Iterable[int]) -> dict[int, float]:
    """Returns the CPU time of each process that still exists."""
    found: dict[int, float] = {}
    for pid in pids:
        # the clock of a process that has ended is invalid
        with suppress(OSError):
            found[pid] = cpu_seconds(pid)
    return found


def memory_kb(pid: int, what: str = "Pss") -> int:
    """Returns a process's memory in KB, from a line of /proc/PID/smaps_rollup.

    Args:
        what: "Pss" divides shared memory by the number of processes that share it; "Pss_Shmem" is
            the part that lies in shared memory files.
    """
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(rf"^{what}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0


def memory_of(pids: Iterable[int], what: str = "Pss") -> int:
    """Returns the memory of all processes that still exist, in KB."""
    return sum(each(pids, lambda pid: memory_kb(pid, what)))


def each(pids: Iterable[int], look: Callable[[int], T]) -> Iterator[T]:
    """Yields `look(pid)` for each process that still exists."""
    for pid in pids:
        with suppress(*GONE):
            yield look(pid)
