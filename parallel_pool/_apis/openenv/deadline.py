"""Deadline: calls back when something takes too long, for what begins and ends all the time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class Deadline:
    """One timer for things of which each ends before the next begins.

    To set it costs no timer of the event loop, as long as one that is set comes no later.
    """

    __slots__ = ("_at", "_callback", "_due", "_loop", "_timer")

    def __init__(self) -> None:
        """To be made in its event loop."""
        self._loop = asyncio.get_running_loop()
        self._callback: Callable[[], object] | None = None
        self._due = math.inf
        # the timer, and when it comes
        self._timer: asyncio.TimerHandle | None = None
        self._at = math.inf

    def set(self, seconds: float, callback: Callable[[], object]) -> None:
        """Has a function called after these seconds, in place of what was set before.

        Args:
            seconds: math.inf for never.
            callback: called in the event loop.
        """
        self._callback = callback
        self._due = due = self._loop.time() + seconds
        if due < self._at:
            self._start(due)

    def cancel(self) -> None:
        """Has nothing called any more, until it is set again."""
        self._due = self._at = math.inf
        if self._timer is not None:
            self._timer.cancel()

    def _start(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._at = self._loop.call_at(when, self._fire), when

    def _fire(self) -> None:
        self._timer, self._at = None, math.inf
        if self._due > self._loop.time():
            # it was set anew meanwhile
            if self._due < math.inf:
                self._start(self._due)
            return
        self._due = math.inf
        assert self._callback is not None
        self._callback()
