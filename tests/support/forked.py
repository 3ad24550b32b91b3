"""Runs a function in a forked child, for tests of what works there."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from tests.support.timeouts import TEST_TIMEOUT

# seconds: where a thread computes all the time, a fork waits for it no longer
MAX_WAIT = 1.0


def in_child(function: Callable[[], Any]) -> None:
    """Runs a function in a forked child; fails with its exception, or when it hangs."""
    assert run(function, TEST_TIMEOUT) == ("fine", 0)


def run(function: Callable[[], Any], timeout: float | None) -> tuple[str, int]:
    """Runs a function in a forked child, which is killed after `timeout` seconds.

    Returns:
        "fine", or what the function raised, or nothing if it ended the child; and the exit code, as
        of `os.waitstatus_to_exitcode`.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        # if an exception reached pytest, the child would go on with other tests
        report = b"nothing"
        try:
            function()
            report = b"fine"
        except BaseException:
            report = traceback.format_exc().encode()
        finally:
            os.write(write, report)
            os._exit(0)
    os.close(write)
    try:
        if not select.select([read], [], [], timeout)[0]:
            os.kill(child, signal.SIGKILL)
        report = os.read(read, 1 << 16)
    finally:
        os.close(read)
        _, status = os.waitpid(child, 0)
    return report.decode(), os.waitstatus_to_exitcode(status)


def wait_before_forks() -> None:
    """Under ASan, lets every fork of this process wait until no thread starts or ends.

    A thread that starts or ends takes locks of ASan. ASan of gcc before 14 does not release them in
    a forked child, which would wait for them for ever as it starts a thread of its own: one of a
    thousand children did, where another thread only started threads. The threads of a pool take
    none once they have named themselves.
    """
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        os.register_at_fork(before=_wait)


def _wait() -> None:
    looks, end = 0, time.monotonic() + MAX_WAIT
    while looks < 2 and time.monotonic() < end:
        # between two looks, a thread that another one had made wait goes on
        time.sleep(0.001)
        looks = 0 if is_any_thread_busy() else looks + 1


def is_any_thread_busy() -> bool:
    """Returns whether a thread runs that is not this one, the process's first, or a pool's.

    It keeps the GIL from the list of threads on, so that no thread of Python starts another.
    """
    others = {os.getpid(), threading.get_native_id()}
    threads = [int(name) for name in os.listdir("/proc/self/task")]
    for thread in threads:
        name, state = _stat(f"/proc/self/task/{thread}/stat")
        if thread not in others and "(pp-worker" not in name and state[0] in "RD":
            return True
    # a thread that has started since the list was made is not in it
    return int(_stat("/proc/self/stat")[1].split()[17]) != len(threads)


def _stat(path: str) -> tuple[str, str]:
    """Returns what a stat file has before and after the name of its thread; keeps the GIL."""
    libc, text = ctypes.PyDLL(None), ctypes.create_string_buffer(1024)
    fd = libc.open(path.encode(), os.O_RDONLY | os.O_CLOEXEC)
    size = libc.read(fd, text, len(text) - 1)
    if fd >= 0:
        libc.close(fd)
    # nothing can be read of a thread that has ended
    return text.value.decode().rpartition(") ")[::2] if size > 0 else ("", "R")
