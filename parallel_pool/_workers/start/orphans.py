"""Orphans: processes that a worker started and that outlive it when it dies."""

from __future__ import annotations

import contextlib
import os
import signal
import time

# seconds that orphans have to end after SIGTERM, and seconds between two checks
GRACE, POLL_INTERVAL = 2.0, 0.05
# seconds without a check after which the group's number may belong to another group
MAX_GAP = 5.0


def lead_group() -> None:
    """Makes this process the leader of a new process group, which its children join.

    The terminal does not know that group, so neither Ctrl-C nor Ctrl-Z reaches it; the parent
    process handles both. It is not a new session: the kernel shares out CPU time by sessions, and
    the user's `nice` would have no effect in another one.
    """
    # PermissionError: the process leads a session already
    with contextlib.suppress(PermissionError):
        os.setpgid(0, 0)
    # A terminal may be set to stop background processes that write to it, and stops all that change
    # its settings. Programs that environments start are in the same group, and must be able to do
    # both, as they could in the parent's group: so this is not a handler, which they would lose.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)


def has_children(pid: int) -> bool:
    """Returns whether a process has child processes; True where that is unknown."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                if file.read():
                    return True
    except OSError:
        return True
    return False


class Orphans:
    """The rest of a process group whose leader has ended.

    They receive SIGTERM, so that they can clean up. Those that remain are killed.
    """

    def __init__(self, leader: int) -> None:
        """Sends SIGTERM. Call it before the leader is reaped: until then no other process can have
        its number."""
        self._leader = leader
        self._checked = time.monotonic()
        self._end = self._checked + GRACE
        self._signal(signal.SIGTERM)

    def are_gone(self) -> bool:
        """Returns whether no process is left to wait for; kills those that are left after `GRACE`.

        Call it after the leader was reaped, every `POLL_INTERVAL` seconds.

        While a group has members the kernel gives its number to no other process. The members may
        have ended since the last check, but a number is given out again only after all others.
        """
        now = time.monotonic()
        if now - self._checked > MAX_GAP:  # this process was stopped
            return True
        self._checked = now
        if now < self._end:
            return not self._signal(0)
        self._signal(signal.SIGKILL)
        return True

    def _signal(self, number: int) -> bool:
        """Sends a signal to the group; returns whether it has a member that can receive one."""
        try:
            os.killpg(self._leader, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True
