"""Guard: ends scripts whose tuner was killed while they were stopped, as they can't do that.

`python -m parallel_pool._tuner.guard` reads numbers of sessions, one a line, and kills their
processes once its input ends; "-" before a number says that the session has ended.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TextIO

from parallel_pool._tuner import session


class Guard:
    """The guard's process, which ends with this one, and with `close`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "parallel_pool._tuner.guard"],
            stdin=subprocess.PIPE,
            text=True,
            # signals for the group of the command are not for the guard
            start_new_session=True,
        )

    @property
    def is_alive(self) -> bool:
        """Whether it would do what it is for."""
        return self._process.poll() is None

    def add(self, number: int) -> None:
        """Guards a session."""
        self._say(number)

    def remove(self, number: int) -> None:
        """Forgets a session, which has ended: its number may become another's."""
        self._say(-number)

    def close(self) -> None:
        """Ends the guard, and all sessions that it guards."""
        # it may have been killed
        with contextlib.suppress(BrokenPipeError):
            self._process.__exit__(None, None, None)

    def _say(self, number: int) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{number}\n")
            self._process.stdin.flush()


def watch(lines: TextIO) -> None:
    """Reads numbers until the end, and kills the sessions that are left."""
    left: set[int] = set()
    for number in map(int, lines):
        if number > 0:
            left.add(number)
        else:
            left.discard(-number)
    for number in left:
        session.kill(number)


if __name__ == "__main__":
    watch(sys.stdin)
