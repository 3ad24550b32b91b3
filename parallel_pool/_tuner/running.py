"""Running: a script in a process of its own, which can be stopped for a while."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parallel_pool._command import signals_wait
from parallel_pool._tuner import session
from parallel_pool._tuner.setting import Setting
from parallel_pool._workers.start import child_exit

# seconds between two looks at a process that says nothing
PERIOD = 0.05
# of the script's last output that a failure shows
MAX_OUTPUT_LETTERS = 300

# beginning and end of an interval in which a script ran, in nanoseconds of the monotonic clock
Slice = tuple[int, int]


class EndedError(Exception):
    """The script has ended, or has said nothing for too long.

    Attributes:
        facts: what its process has measured until then; None if it did not say.
        is_silent: whether it may still run.
    """

    def __init__(self, facts: dict[str, Any] | None = None, *, is_silent: bool = False) -> None:
        super().__init__("the script says nothing" if is_silent else "the script has ended")
        self.facts, self.is_silent = facts, is_silent


class Running:
    """A script that runs with a setting, until it is closed.

    Its process answers through a pipe, as `child` says.

    Attributes:
        pid: of its process, and of the session of all processes that it has started.
        status: exit status of its process once it is closed.
        last_words: the end of what it has printed, once it is closed.
    """

    def __init__(
        self, path: Path, arguments: Sequence[str], setting: Setting, *, asks: bool = False
    ) -> None:
        """
        Args:
            path, arguments: of the script, as on a command line.
            setting: what to change.
            asks: whether to ask for the trace's advice.
        """
        self.status: int | None = None
        self.last_words = ""
        self._bytes = b""
        self._exit: tuple[int, int] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._stack = contextlib.ExitStack()
        with contextlib.ExitStack() as child_ends:
            try:
                asked, self._ask = _pipe(child_ends, self._stack)
                self._told, tell = _pipe(self._stack, child_ends)
                os.set_blocking(self._ask, False)
                self._log = self._stack.enter_context(tempfile.TemporaryFile())
                request = {
                    **setting.overrides(),
                    "asks": asks,
                    "parent": os.getpid(),
                    "asked": asked,
                    "tell": tell,
                }
                command = [sys.executable, "-m", "parallel_pool._tuner.child", json.dumps(request)]
                command += [str(path), *setting.arguments(arguments)]
                with signals_wait():
                    self._process = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=self._log,
                        stderr=subprocess.STDOUT,
                        env=setting.environment(),
                        pass_fds=(asked, tell),
                        # what the script starts belongs to its session, and is ended with it
                        start_new_session=True,
                    )
            except BaseException:
                self.close()
                raise
        self.pid = self._process.pid
        self._groups = {self.pid}

    def warm_up(self, seconds: float, deadline: float) -> None:
        """Waits for the first steps, and for so many seconds more.

        Raises:
            EndedError: as for all methods, also if it takes until the deadline.
        """
        self._reply(deadline)
        self.let(seconds)

    def let(self, seconds: float) -> None:
        """Lets it run for some seconds."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._says_something(min(left, PERIOD)) or self._has_exited():
                # what it says ends with a line, or with its process
                self._reply(math.inf)

    def begin(self, deadline: float) -> None:
        """Begins to measure."""
        self._tell(None, deadline)
        self._reply(deadline)

    def end(self, slices: Sequence[Slice], deadline: float) -> dict[str, Any]:
        """Ends to measure.

        Args:
            slices: when it ran; none if it was never stopped.
            deadline: of `time.monotonic`.

        Returns:
            What `child` has found.
        """
        self._tell(slices, deadline)
        return self._reply(deadline)

    def look(self) -> int:
        """Looks which processes there are: those are stopped and go on.

        Returns:
            The bytes of memory that they have; 0 if the system does not say.
        """
        found = list(session.members(self.pid))
        self._groups = {self.pid, *(member.group for member in found)}
        return sum(member.memory for member in found)

    def stop(self) -> None:
        """Stops its processes."""
        session.send(self.pid, self._groups, signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets its processes go on after `stop`."""
        session.send(self.pid, self._groups, signal.SIGCONT)

    def close(self) -> None:
        """Ends its processes; can be called twice."""
        with self._stack.pop_all():
            if self._process is not None and self.status is None:
                session.kill(self._process.pid)
                status = self._process.wait()
                self.status = status if self._exit is None else self._exit[1]
                self._log.seek(0)
                output = self._log.read().decode(errors="replace").strip()
                self.last_words = output[-MAX_OUTPUT_LETTERS:]

    def _tell(self, message: Any, deadline: float) -> None:
        left = json.dumps(message).encode() + b"\n"
        # a process that has ended reads nothing
        with contextlib.suppress(BrokenPipeError):
            while left:
                if not select.select([], [self._ask], [], max(0.0, deadline - time.monotonic()))[1]:
                    raise EndedError(is_silent=True)
                left = left[os.write(self._ask, left) :]

    def _reply(self, deadline: float) -> dict[str, Any]:
        """Returns its next message."""
        while b"\n" not in self._bytes:
            left = deadline - time.monotonic()
            if left <= 0:
                raise EndedError(is_silent=True)
            # what it has said before its end is there when it has exited
            has_exited = self._has_exited()
            if self._says_something(min(left, PERIOD)):
                part = os.read(self._told, 1 << 16)
                if not part:
                    raise EndedError
                self._bytes += part
            elif has_exited:
                raise EndedError
        line, _, self._bytes = self._bytes.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        if found.pop("has_ended", False):
            raise EndedError(found)
        return found

    def _says_something(self, seconds: float) -> bool:
        return bool(self._bytes) or bool(select.select([self._told], [], [], seconds)[0])

    def _has_exited(self) -> bool:
        # it is not reaped before it is closed: its number must not become another's
        self._exit = self._exit or child_exit.peek(self.pid)
        return self._exit is not None


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """Makes a pipe, whose ends are closed with the stacks."""
    read, write = os.pipe()
    reader.callback(os.close, read)
    writer.callback(os.close, write)
    return read, write
