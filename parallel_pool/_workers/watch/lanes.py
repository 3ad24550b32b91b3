"""Lanes: what a pool of Python environments asks of whatever serves its lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from parallel_pool._workers.watch.failures import Death
from parallel_pool._workers.watch.supervisor import Activity
from parallel_pool._workers.watch.timer import Timer


class Lanes(Protocol):
    """Worker processes (`Supervisor`), or this process in the place of one (`LocalLane`)."""

    @property
    def deaths(self) -> Mapping[int, Death]:
        """By lane, how its last worker died."""
        ...

    @property
    def lost(self) -> Mapping[int, str]:
        """By lane, why it has no worker any more and gets none."""
        ...

    @property
    def seeds(self) -> Mapping[int, int | None]:
        """By environment, the seed with which it starts after a restart of its worker."""
        ...

    @property
    def timer(self) -> Timer | None:
        """What checks for turns that take too long; None without a timeout."""
        ...

    def pid_of(self, lane: int) -> int | None:
        """Returns the process that serves a lane, None if there is none."""
        ...

    def activities(self) -> list[Activity]:
        """Returns what the lanes are doing that have turns to do."""
        ...

    def describe(self, activity: Activity) -> str:
        """Returns words for what a lane is doing."""
        ...

    def note_interrupt(self) -> None:
        """Notes that Ctrl-C ended a wait: what is in its turn now gets less time to end."""
        ...

    def close(self, *, grace: float | None) -> None:
        """Ends the workers, or closes the environments.

        Args:
            grace: seconds that workers have to end by themselves.
        """
        ...

    def close_in_thread(self) -> None:
        """Closes, for a pool that was deleted."""
        ...
