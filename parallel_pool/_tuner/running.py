"""Running: a script in a process of its own, which can be stopped for a while."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parallel_pool._command import signals_wait
from parallel_pool._tuner.setting import Setting

# seconds between two looks at a process that says nothing
PERIOD = 0.05
# of the script's last output that a failure shows
SHOWN = 300
# in /proc/<pid>/stat after the name: the process's group, and its pages in memory
GROUP, PAGES = 2, 21

# beginning and end of an interval in which a script ran, in nanoseconds of the monotonic clock
Slice = tuple[int, int]


class EndedError(Exception):
    """The script has ended, or has said nothing for too long.

    Attributes:
        facts: what its process has measured until then; None if it did not say.
    """

    def __init__(self, facts: dict[str, Any] | None = None) -> None:
        super().__init__("the script has ended")
        self.facts = facts


class Running:
    """A script that runs with a setting, until it is closed.

    Its process answers through a pipe, as `child` says.

    Attributes:
        pid: of its process, and of the group of all processes that it has started.
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
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="pp-tune-"))
        self._bytes = b""
        asked, self._ask = os.pipe()
        self._told, tell = os.pipe()
        request = {
            **setting.overrides(),
            "asks": asks,
            "parent": os.getpid(),
            "asked": asked,
            "tell": tell,
        }
        command = [sys.executable, "-m", "parallel_pool._tuner.child", json.dumps(request)]
        command += [str(path), *setting.arguments(arguments)]
        try:
            with self._log.open("wb") as output, signals_wait():
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=setting.environment(),
                    pass_fds=(asked, tell),
                    # what the script starts belongs to its group, and is ended with it
                    start_new_session=True,
                )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(asked)
            os.close(tell)
        self.pid = self._process.pid

    @property
    def _log(self) -> Path:
        return self._folder / "log.txt"

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
                self._reply(until)

    def begin(self, deadline: float) -> None:
        """Begins to measure."""
        self._tell(None)
        self._reply(deadline)

    def end(self, slices: Sequence[Slice], deadline: float) -> dict[str, Any]:
        """Ends to measure.

        Args:
            slices: when it ran; none if it was never stopped.
            deadline: of `time.monotonic`.

        Returns:
            What `child` has found.
        """
        self._tell(slices)
        return self._reply(deadline)

    def stop(self) -> None:
        """Stops its processes."""
        os.killpg(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets its processes go on after `stop`."""
        os.killpg(self.pid, signal.SIGCONT)

    def memory(self) -> int:
        """Returns the bytes of memory that its processes have; 0 if the system does not say."""
        pages = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            # a process may have ended
            with contextlib.suppress(OSError):
                values = path.read_text(errors="replace").rpartition(")")[2].split()
                if int(values[GROUP]) == self.pid:
                    pages += int(values[PAGES])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """Ends its processes; can be called twice."""
        if not self._folder.exists():
            return
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self.status = self._process.wait()
            self.last_words = self._log.read_text(errors="replace").strip()[-SHOWN:]
        os.close(self._ask)
        os.close(self._told)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _tell(self, message: Any) -> None:
        # a process that has ended reads nothing
        with contextlib.suppress(BrokenPipeError):
            os.write(self._ask, json.dumps(message).encode() + b"\n")

    def _reply(self, deadline: float) -> dict[str, Any]:
        """Returns its next message."""
        while b"\n" not in self._bytes:
            left = deadline - time.monotonic()
            if left <= 0:
                raise EndedError
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
        return self._process is not None and self._process.poll() is not None
