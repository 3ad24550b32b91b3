"""Program: runs a compiler, which has a deadline and ends with all that it has started."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from parallel_pool._engine.arguments import quote
from parallel_pool._source.excerpt import Excerpt
from parallel_pool.errors import SourceError

# seconds for one program; what compiles for longer is made of several files
LIMIT = 120.0
VARIABLE = "PP_COMPILE_TIMEOUT"
# seconds between two looks at whether a program has ended, whose streams another process may keep
# open, at whether it is unwanted, and at Ctrl-C
POLL_INTERVAL = 0.1
# seconds that an unwanted program has to end while its caller waits; killed ones end at once
MAX_WAIT = 2.0
# characters of a command that a message shows
COMMAND = 2000


class Done(NamedTuple):
    """What a program has done.

    Attributes:
        status: its exit status; below 0 the signal that ended it.
        out, err: what it printed, shortened if it is long.
    """

    status: int
    out: str
    err: str


def run(command: Sequence[str], folder: Path | None = None) -> Done:
    """Runs a program without input, in a folder or in the current one.

    It leads a process group, so that its children (a compiler's passes) end with it at the deadline
    and at Ctrl-C, which the terminal does not send to that group.

    Raises:
        SourceError: it can't be started, or has not ended in time.
    """
    call = _Call(command, seconds(), folder)
    try:
        call.start()
        # Not join, which takes a thread for ended if Ctrl-C interrupts it (before Python 3.13). And
        # not one long wait: Ctrl-C in the moment before it begins would not end it.
        while not call.has_ended.wait(POLL_INTERVAL):
            pass
    except BaseException:
        call.is_unwanted.set()
        call.has_ended.wait(MAX_WAIT)
        raise
    if call.error is not None:
        raise call.error
    assert call.done is not None
    return call.done


class _Call(threading.Thread):
    """Runs a program in a thread, where Ctrl-C raises nothing: so no started one is lost.

    Attributes:
        is_unwanted: set if the program must end early, or need not start.
        has_ended: set when nothing of the program is left.
        done, error: what became of it.
    """

    def __init__(self, command: Sequence[str], limit: float, folder: Path | None) -> None:
        super().__init__(name="pp-compiler")
        self.is_unwanted, self.has_ended = threading.Event(), threading.Event()
        self.done: Done | None = None
        self.error: BaseException | None = None
        self._command, self._limit, self._folder = command, limit, folder

    def run(self) -> None:
        try:
            self.done = self._run()
        except BaseException as error:
            self.error = error
        finally:
            self.has_ended.set()

    def _run(self) -> Done | None:
        if self.is_unwanted.is_set():
            return None
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=self._folder,
                process_group=0,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SourceError(f"{command_text(self._command)} can't be run: {reason}") from None
        end = time.monotonic() + self._limit
        with process:
            try:
                out, err = self._read(process, end)
                status = process.wait(max(0.0, end - time.monotonic()))
            except (TimeoutError, subprocess.TimeoutExpired):
                raise SourceError(
                    f"{command_text(self._command)} has not ended within {self._limit:g} s, and"
                    " was ended: see whether it waits for something (a file system, a license), or"
                    f" give it more seconds with {VARIABLE}"
                ) from None
            finally:
                _end(process)
        return Done(status, out.text(), err.text())

    def _read(self, process: subprocess.Popen[bytes], end: float) -> tuple[Excerpt, Excerpt]:
        """Reads what a program prints until it has ended.

        Raises:
            TimeoutError: it has not ended in time, or is unwanted.
        """
        excerpts = Excerpt(), Excerpt()
        with selectors.DefaultSelector() as selector:
            for stream, excerpt in zip((process.stdout, process.stderr), excerpts, strict=True):
                assert stream is not None
                selector.register(stream, selectors.EVENT_READ, excerpt)
            while selector.get_map():
                left = end - time.monotonic()
                if left <= 0 or self.is_unwanted.is_set():
                    raise TimeoutError
                ready = selector.select(min(left, POLL_INTERVAL))
                # such as the server of a compiler cache, which its first client has started
                if not ready and process.poll() is not None:
                    break
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    if data:
                        key.data.add(data)
                    else:
                        selector.unregister(key.fileobj)
        return excerpts


def seconds() -> float:
    """Returns the seconds that a program has, by default or as the variable says.

    Raises:
        SourceError: it holds no number above 0.
    """
    given = os.environ.get(VARIABLE, "")
    try:
        limit = float(given or LIMIT)
    except ValueError:
        limit = math.nan
    if not 0 < limit < math.inf:
        raise SourceError(f"{VARIABLE}={quote(given)}: give seconds above 0")
    # more than a year overflows the system's timeouts
    return min(limit, 3e7)


def command_text(command: Sequence[str]) -> str:
    """Returns a command as one would type it, shortened if it is long."""
    text = shlex.join(command)
    return text if len(text) <= COMMAND else f"{text[:COMMAND]}..."


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills a program that was not reaped, and all others in its group."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
