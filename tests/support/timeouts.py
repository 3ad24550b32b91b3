"""Timeouts of tests: one that hangs fails with a message."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# seconds after which a test counts as hanging
TEST_TIMEOUT = 180.0


@contextlib.contextmanager
def limited(seconds: float = TEST_TIMEOUT) -> Iterator[None]:
    """Raises AssertionError in the with statement when time is up; see the fixture `alarm`."""
    is_late = False

    def fail(*_: Any) -> None:
        nonlocal is_late
        is_late = True
        raise AssertionError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, fail)
    # repeated: the interrupted code may hang again, or swallow the exception
    signal.setitimer(signal.ITIMER_REAL, seconds, 5.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not is_late


def wait_for(is_so: Callable[[], Any]) -> None:
    """Waits until a condition is true; fails after `TEST_TIMEOUT` seconds."""
    end = time.monotonic() + TEST_TIMEOUT
    while not is_so():
        assert time.monotonic() < end, f"the condition was not true within {TEST_TIMEOUT} s"
        time.sleep(0.002)


def has_ended(pid: int) -> bool:
    """Says whether a process has ended; it may not be reaped yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"
