"""Deadline: the time by which something must be done, shared by all steps that it takes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

# seconds between two checks of whether the time is up
POLL_INTERVAL = 0.1


class Deadline:
    """A number of seconds, counted from the object's construction. Usable from any thread.

    Attributes:
        seconds: the time there was at the beginning; None without a limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Returns the seconds that remain, at least 0; None without a limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def pause(self) -> float:
        """Returns how many seconds to wait before the next check.

        Raises:
            TimeoutError: the time is up.
        """
        remaining = self.remaining()
        if remaining == 0.0:
            raise TimeoutError("time is up")
        return POLL_INTERVAL if remaining is None else min(POLL_INTERVAL, remaining)

    def within(self, seconds: float) -> Deadline:
        """Returns this deadline, or one after that many seconds if that comes first."""
        remaining = self.remaining()
        return self if remaining is not None and remaining < seconds else _Earlier(self, seconds)

    def expire(self) -> None:
        """Makes the time up now, for all threads that wait by this deadline."""
        self._end = 0.0

    @contextlib.contextmanager
    def hold(self, lock: threading.Lock | threading.RLock) -> Iterator[None]:
        """Holds a lock for the with statement.

        Raises:
            TimeoutError: another thread holds the lock until the deadline.
        """
        while not lock.acquire(timeout=self.pause()):
            pass
        try:
            yield
        finally:
            lock.release()


class _Earlier(Deadline):
    """An earlier deadline, which also expires when the later one does."""

    def __init__(self, later: Deadline, seconds: float) -> None:
        super().__init__(seconds)
        self._later = later

    def remaining(self) -> float | None:
        own, other = super().remaining(), self._later.remaining()
        return own if other is None or own is None else min(own, other)
