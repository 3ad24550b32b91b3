"""Runs a function in a forked child, for tests of what works there."""

from __future__ import annotations

import os
import select
import signal
import traceback
from collections.abc import Callable
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
