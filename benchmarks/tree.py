"""A process and all its descendants: who they are, what CPU time and memory they have used."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

# a process may end while it is looked at
GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def fields(pid: int) -> list[str]:
    """What follows the name in a process's stat: state, parent, ..."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def descendants(root: int) -> list[int]:
    """Children of a process, and theirs; zombies too."""
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
    """How many have ended without their parent having asked."""
    return sum(state == "Z" for state in each(pids, lambda pid: fields(pid)[0]))


def cpu_seconds(pid: int) -> float:
    """CPU time of a process, all threads, to the nanosecond: clock_getcpuclockid(3)'s clock."""
    return time.clock_gettime((~pid << 3) | 2)


def cpu_of(pids: Iterable[int]) -> dict[int, float]:
    """CPU time of each that is there."""
    found: dict[int, float] = {}
    for pid in pids:
        # the clock of a process that has gone is an invalid one
        with suppress(OSError):
            found[pid] = cpu_seconds(pid)
    return found


def memory_kb(pid: int, what: str = "Pss") -> int:
    """Memory in KB: Pss divides what processes share among them; Pss_Shmem is files in memory."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(rf"^{what}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0


def memory_of(pids: Iterable[int], what: str = "Pss") -> int:
    """Memory of all that are there, in KB."""
    return sum(each(pids, lambda pid: memory_kb(pid, what)))


def each(pids: Iterable[int], look: Callable[[int], T]) -> Iterator[T]:
    """Looks at all that are there."""
    for pid in pids:
        with suppress(*GONE):
            yield look(pid)
