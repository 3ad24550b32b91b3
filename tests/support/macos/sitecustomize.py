"""Takes from Python, on Linux, what it lacks on macOS, and gives it what macOS has instead.

Python imports this module when it starts, before all others, if this folder is in PYTHONPATH. So
it acts in all processes of a program. The code of the engine, in C, stays Linux's.

    PYTHONPATH=tests/support/macos python -m pytest -n 2 tests/faults/test_worker_deaths.py
"""

from __future__ import annotations

import builtins
import os
import select
import signal
import socket
import struct
import sys
from typing import Any

# Names that Python has on Linux and not on macOS, of those that parallel_pool uses; and a few that
# others use in their place. tests/faults/test_worker_other_systems.py holds that none is missing.
LACKING: dict[Any, tuple[str, ...]] = {
    os: (
        *("memfd_create", "MFD_CLOEXEC", "sched_getaffinity", "sched_setaffinity"),
        *("pidfd_open", "P_PIDFD", "waitid", "eventfd", "eventfd_write", "eventfd_read"),
        *("EFD_CLOEXEC", "EFD_NONBLOCK", "posix_fallocate", "pipe2", "getrandom", "ST_NOEXEC"),
    ),
    select: ("epoll", "EPOLLIN"),
    signal: ("pidfd_send_signal", "sigwaitinfo", "sigtimedwait"),
    socket: (
        *("SO_PEERCRED", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "MSG_CMSG_CLOEXEC", "MSG_NOSIGNAL"),
    ),
}

pidfd_open, getsockopt, SO_PEERCRED = os.pidfd_open, socket.socket.getsockopt, socket.SO_PEERCRED
real_open = builtins.open

for module, names in LACKING.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

# they would take the kqueue below for one that can do everything
import asyncio  # noqa: E402, F401
import selectors  # noqa: E402, F401


class kqueue:
    """A kqueue, which can report the end of a process and no more."""

    def __init__(self) -> None:
        # not readable: nobody writes to it
        self._fd, self._writer = os.pipe()

    def fileno(self) -> int:
        return self._fd

    def control(self, changes: list[kevent], max_events: int) -> list[kevent]:
        (change,) = changes
        assert max_events == 0
        pidfd = pidfd_open(change.ident)
        # a zombie can't be watched
        if select.select([pidfd], [], [], 0)[0]:
            os.close(pidfd)
            raise ProcessLookupError
        os.dup2(pidfd, self._fd, inheritable=False)
        os.close(pidfd)
        return []

    def close(self) -> None:
        os.close(self._fd)
        os.close(self._writer)


class kevent:
    def __init__(self, ident: int, *, filter: int, flags: int, fflags: int) -> None:
        # EVFILT_PROC, EV_ADD, NOTE_EXIT of sys/event.h
        assert (filter, flags, fflags) == (-5, 1, 0x80000000)
        self.ident = ident


def getsockopt_of_macos(self: socket.socket, level: int, option: int, *size: int) -> Any:
    if self.family == socket.AF_UNIX and (level, option) == (0, 2):
        # SOL_LOCAL, LOCAL_PEERPID
        return getsockopt(self, socket.SOL_SOCKET, SO_PEERCRED, 12)[: struct.calcsize("i")]
    return getsockopt(self, level, option, *size)


def open_without_proc(file: Any, *arguments: Any, **options: Any) -> Any:
    caller = sys._getframe(1).f_globals.get("__name__", "")
    # a process may keep its name, by which tests find it
    is_proc = str(file).startswith("/proc/") and not str(file).endswith("/comm")
    if is_proc and caller.startswith("parallel_pool."):
        raise FileNotFoundError(file)
    return real_open(file, *arguments, **options)


here: Any = select
here.kqueue, here.kevent = kqueue, kevent
here.KQ_FILTER_PROC, here.KQ_EV_ADD, here.KQ_NOTE_EXIT = -5, 1, 0x80000000
socket.socket.getsockopt = getsockopt_of_macos  # type: ignore[assignment]
builtins.open = open_without_proc
