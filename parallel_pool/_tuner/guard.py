"""Guard: ends scripts whose tuner was killed while they were stopped, as they can't do that.

`python guard.py` reads numbers of process groups, one a line, and kills those groups once its input
ends; "-" before a number says that the group has ended. It imports nothing of this package, so it
starts at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import TextIO


class Guard:
    """The guard's process, which ends with this one, and with `close`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            text=True,
            bufsize=1,
            # signals for the group of the command are not for the guard
            start_new_session=True,
        )

    def add(self, group: int) -> None:
        """Guards a group of processes."""
        self._say(group)

    def remove(self, group: int) -> None:
        """Forgets a group, which has ended: its number may become another's."""
        self._say(-group)

    def close(self) -> None:
        """Ends the guard, and all groups that it guards."""
        self._process.__exit__(None, None, None)

    def _say(self, number: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n")


def watch(lines: TextIO) -> None:
    """Reads numbers until the end, and kills the groups that are left."""
    groups: set[int] = set()
    for number in map(int, lines):
        if number > 0:
            groups.add(number)
        else:
            groups.discard(-number)
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    watch(sys.stdin)
