"""Rate: how many messages one session may send in a second."""

from __future__ import annotations

import math
import time


class Rate:
    """A bucket of a second's messages, which refills steadily."""

    __slots__ = ("_at", "_left", "_limit")

    def __init__(self, limit: float) -> None:
        """
        Args:
            limit: messages per second; math.inf for no limit.
        """
        self._limit = limit
        self._left = limit
        self._at = time.monotonic()

    def take(self) -> float:
        """Takes one message; returns the seconds to wait before the next is read, mostly 0."""
        if self._limit == math.inf:
            return 0.0
        now = time.monotonic()
        self._left = min(self._limit, self._left + (now - self._at) * self._limit) - 1
        self._at = now
        return 0.0 if self._left >= 0 else -self._left / self._limit
