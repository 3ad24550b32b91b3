"""Process descriptor: what to poll for the end of a process.

It is a pidfd on Linux, which also sends signals, and a kqueue on macOS. Linux before 5.3, and some
sandboxes, have neither: there it is a copy of the connection's descriptor, which hangs up when the
process ends, unless a process that it has forked keeps the connection open.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
from typing import Any

from parallel_pool._workers.start import child_exit


def _has_pidfd() -> bool:
    """Returns whether pidfds work, for all that they are used for."""
    if not (hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal")):
        return False
    try:
        pidfd = os.pidfd_open(os.getpid())
    except OSError:
        return False
    try:
        signal.pidfd_send_signal(pidfd, 0)
        child_exit.peek(os.getpid(), pidfd)
    except ChildProcessError:
        # expected: a process is not its own child
        return True
    except OSError:
        return False
    finally:
        os.close(pidfd)
    return True


HAS_PIDFD = _has_pidfd()
HAS_KQUEUE = hasattr(select, "kqueue")
# What to poll a process's descriptor for. A hang-up is reported without being asked for on Linux,
# and not on macOS, which needs kqueues for that.
ENDED = select.POLLIN if HAS_PIDFD or HAS_KQUEUE else 0


def create(pid: int, connection: int) -> int:
    """Returns a descriptor of a process, which the caller closes: poll it for `ENDED`.

    Args:
        pid: of a process whose number no other can have yet.
        connection: descriptor of the connection to the process.

    Raises:
        ProcessLookupError: it has ended and was reaped.
        OSError: this process has too many files open.
    """
    if HAS_PIDFD and hasattr(os, "pidfd_open"):
        pidfd: int = os.pidfd_open(pid)
        return pidfd
    return _kqueue(pid) if HAS_KQUEUE else os.dup(connection)


def close(fd: int) -> None:
    """Closes a process's descriptor, or a copy of it."""
    # a forked child does not inherit kqueues
    with contextlib.suppress(OSError):
        os.close(fd)


def send_signal(fd: int, number: int) -> None:
    """Sends a signal to the process of a pidfd, and never to another one.

    Raises:
        ProcessLookupError: it has ended.
    """
    assert hasattr(signal, "pidfd_send_signal")
    signal.pidfd_send_signal(fd, number)


# Linux 6.15: ioctl number and struct of PIDFD_GET_INFO, a mask first and the wait status last, and
# the bit of the mask that asks for the status of a process that was reaped
GET_INFO, INFO, INFO_EXIT = 0xC040FF0B, struct.Struct("<Q52xi"), 1 << 3


def exit_code(fd: int) -> int | None:
    """Returns the exit code of a pidfd's process that its parent has reaped, -N for signal N.

    Returns None if it was not reaped, or the system does not know.
    """
    info = bytearray(INFO.pack(INFO_EXIT, 0))
    try:
        fcntl.ioctl(fd, GET_INFO, info, True)
    except OSError:
        return None
    mask, status = INFO.unpack(info)
    return os.waitstatus_to_exitcode(status) if mask & INFO_EXIT else None


def _kqueue(pid: int) -> int:
    """Returns a kqueue that becomes readable when a process has ended."""
    bsd: Any = select
    queue = bsd.kqueue()
    try:
        end = bsd.kevent(
            pid, filter=bsd.KQ_FILTER_PROC, flags=bsd.KQ_EV_ADD, fflags=bsd.KQ_NOTE_EXIT
        )
        queue.control([end], 0)
        return os.dup(queue.fileno())
    except ProcessLookupError:
        return _ended()
    finally:
        queue.close()


def _ended() -> int:
    """Returns a descriptor that is readable already: a pipe that nobody can write to."""
    reader, writer = os.pipe()
    os.close(writer)
    return reader
