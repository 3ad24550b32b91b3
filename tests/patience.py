"""Patience: how long tests wait, so that one that hangs fails and says so."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# seconds after which something counts as hanging
PATIENCE = 60.0


@contextlib.contextmanager
def limited(seconds: float = PATIENCE) -> Iterator[None]:
    """What is done within this fails if it takes longer; `pytest.mark.usefixtures("alarm")`."""
    is_late = False

    def fail(*_: Any) -> None:
        nonlocal is_late
        is_late = True
        raise AssertionError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, fail)
    # again and again: what it interrupts may hang once more, or swallow exceptions
    signal.setitimer(signal.ITIMER_REAL, seconds, 5.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not is_late


def wait_for(is_so: Callable[[], Any]) -> None:
    """Waits until something is so; fails if it is not in time."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "this does not come"
        time.sleep(0.002)


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or waits for nothing but being reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"
