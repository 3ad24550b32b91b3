"""Orphans: processes that a worker has started itself, and that its death leaves behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time

# seconds for them to end by themselves, and between two looks whether they have
GRACE, LOOK = 2.0, 0.05
# seconds without a look after which a group's number may be that of another
STALE = 5.0


def lead() -> None:
    """Makes this process the leader of a group of its own, in which all that it starts will be.

    A terminal does not know that group: neither Ctrl-C nor Ctrl-Z reach it, and its creator sees to
    both. It is no session of its own, for the system shares out cores by sessions, and the user's
    `nice` would count for nothing in another.
    """
    # it leads a session already
    with contextlib.suppress(PermissionError):
        os.setpgid(0, 0)
    # a terminal may be set to stop others that print
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)


class Orphans:
    """What is left of the group of a process that has ended.

    They are asked to end, by SIGTERM, so that they can clean up; those that do not are killed.
    """

    def __init__(self, leader: int) -> None:
        """Asks them; before the leader is reaped, for its number is nobody else's until then."""
        self._leader = leader
        self._looked = time.monotonic()
        self._end = self._looked + GRACE
        self._signal(signal.SIGTERM)

    def are_gone(self) -> bool:
        """Says whether there is nobody to wait for; call it after the leader was reaped, and every
        `LOOK` seconds then.

        While there is anybody in a group its number is given to nobody else. They may have gone
        since the last look, but numbers come round again only after all others.
        """
        now = time.monotonic()
        if now - self._looked > STALE:  # this process was stopped
            return True
        self._looked = now
        if now < self._end:
            return not self._signal(0)
        self._signal(signal.SIGKILL)
        return True

    def _signal(self, number: int) -> bool:
        """Says whether there is anybody who could be told."""
        try:
            os.killpg(self._leader, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True
