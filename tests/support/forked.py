"""Runs a function in a forked child, for tests of what works there."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.timeouts import TEST_TIMEOUT


def in_child(function: Callable[[], Any]) -> None:
    """Runs a function in a forked child; fails with its exception, or when it hangs."""
    assert run(function, TEST_TIMEOUT) == ("fine", 0)


def run(function: Callable[[], Any], timeout: float | None) -> tuple[str, int]:
    """Runs a function in a forked child, which is killed after `timeout` seconds.

    Returns:
        "fine", or what the function raised, or nothing if it ended the child; and the exit code, as
        of `os.waitstatus_to_exitcode`.
    """
    wait_for_starting_threads()
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


def wait_for_starting_threads() -> None:
    """Under ASan, waits until every thread of a pool has started; call it before a fork.

    While a thread starts, it takes memory from ASan's allocator. ASan of gcc before 14 does not
    release the allocator's locks in a forked child, which would wait for them for ever. The threads
    of a pool allocate nothing once they have named themselves.
    """
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        return
    looks = 0
    while looks < 2:
        # between two looks, a thread that a starting one had made wait goes on
        time.sleep(0.001)
        looks = 0 if is_any_thread_starting() else looks + 1


def is_any_thread_starting() -> bool:
    """Returns whether a thread runs that is neither this process's first nor a pool's."""
    for thread in os.listdir("/proc/self/task"):
        # a thread may end meanwhile
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/self/task/{thread}/stat").read_text()
            name, state = stat.rpartition(") ")[::2]
            if int(thread) != os.getpid() and "(pp-worker" not in name and state[0] in "RD":
                return True
    return False
