"""Deadline: the time until which something must be done, by whatever threads and locks it takes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

# seconds between two looks whether it is over
LOOK = 0.1


class Deadline:
    """A number of seconds from its making on. Usable from any thread.

    Attributes:
        seconds: that there were at the beginning, None for any number.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Returns the seconds left, None for any number."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def look(self) -> float:
        """Returns how long to wait before the next look; raises TimeoutError when time is up."""
        left = self.left()
        if left == 0.0:
            raise TimeoutError("time is up")
        return LOOK if left is None else min(LOOK, left)

    def within(self, seconds: float) -> Deadline:
        """Returns this limit, or one of so many seconds if it is the shorter one."""
        left = self.left()
        return self if left is not None and left < seconds else _Part(self, seconds)

    def cancel(self) -> None:
        """Time is up now: nobody waits any more."""
        self._end = 0.0

    @contextlib.contextmanager
    def hold(self, lock: threading.Lock | threading.RLock) -> Iterator[None]:
        """Holds a lock for as long as the with statement lasts.

        Raises:
            TimeoutError: somebody else holds it for too long.
        """
        while not lock.acquire(timeout=self.look()):
            pass
        try:
            yield
        finally:
            lock.release()


class _Part(Deadline):
    """A shorter limit, which is over with the longer one."""

    def __init__(self, whole: Deadline, seconds: float) -> None:
        super().__init__(seconds)
        self._whole = whole

    def left(self) -> float | None:
        own, other = super().left(), self._whole.left()
        return own if other is None or own is None else min(own, other)
