"""Session: all processes that a script has started, whatever groups they are in.

Worker processes lead groups of their own, so signals for the group of a script do not reach them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# in /proc/<pid>/stat after the name
STATE, GROUP, SESSION, PAGES = 0, 2, 3, 21
# seconds that killed processes have to end, and between two looks
GRACE, PERIOD = 5.0, 0.01


class Member(NamedTuple):
    """A process of a session.

    Attributes:
        pid, group: its numbers.
        memory: bytes.
    """

    pid: int
    group: int
    memory: int


def members(session: int) -> Iterator[Member]:
    """Yields the processes of a session that have not ended; none if the system does not say."""
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not name.isdecimal():
            continue
        # it may have ended
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", errors="replace") as file:
            values = file.read().rpartition(")")[2].split()
            if int(values[SESSION]) == session and values[STATE] not in "ZX":
                size = int(values[PAGES]) * os.sysconf("SC_PAGE_SIZE")
                yield Member(int(name), int(values[GROUP]), size)


def send(session: int, groups: Iterable[int], number: signal.Signals) -> None:
    """Sends a signal to groups of processes of a session."""
    for group in groups:
        # a group that has ended, whose number may be another's
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(group) == session:
                os.killpg(group, number)


def kill(session: int) -> None:
    """Kills the processes of a session, which may be stopped; its leader may be a zombie then."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGKILL)
    until = time.monotonic() + GRACE
    # a process may start others meanwhile
    while (found := list(members(session))) and time.monotonic() < until:
        for member in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(member.pid, signal.SIGKILL)
        time.sleep(PERIOD)
