"""Remote: a side in a process of its own, which may crash or never return."""

from __future__ import annotations

import mmap
import os
import pickle
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

from parallel_pool._prover.child import LENGTH, PROGRESS
from parallel_pool._prover.endings import signal_name
from parallel_pool._prover.packing import pack_events, unpack_results
from parallel_pool._prover.player import PROCESS, Result
from parallel_pool._prover.script import Case, Event
from parallel_pool._prover.target import Facts, Native, Reference
from parallel_pool._workers.start import anonymous_file

# seconds that a process has to start and to load a library
START = 60.0
# seconds that the system's timeouts can count, some of them as nanoseconds
MAX_SECONDS = 1e9
# lines of its stderr that a message repeats
SHOWN_LINES = 12


class _Ended(Exception):
    """The process has ended, or does not answer; the message says how."""


class Remote:
    """A side in another process.

    Attributes:
        facts: as a side has them.
        spaces: of an observation and an action of the case that was opened.
    """

    facts: Facts
    spaces: tuple[Any, Any]

    def __init__(
        self,
        target: Native | Reference,
        timeout: float,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts the process.

        Args:
            target: what it plays, loaded there.
            timeout: seconds for some hundred steps, after which they count as endless.
            environment: variables of the process, in addition to this one's.

        Raises:
            ValueError: the environment can't be loaded, or ends the process at once.
        """
        self._target, self._environment = target, environment or {}
        self._timeout = min(timeout, MAX_SECONDS)
        self._opened: tuple[Case, int] | None = None
        self._played: list[Event] = []
        self._begun: Sequence[Event] = ()
        self._start()

    def _start(self) -> None:
        progress = anonymous_file.create("progress")
        os.truncate(progress, PROGRESS.size)
        self._progress = mmap.mmap(progress, PROGRESS.size)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        requests, answers = os.pipe(), os.pipe()
        fds = (requests[0], answers[1], progress)
        path = [entry for entry in sys.path if entry]
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "parallel_pool._prover.child"),
                *map(str, (*fds, os.getpid())),
            ],
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **self._environment},
        )
        for fd in fds:
            os.close(fd)
        self._requests: IO[bytes] = os.fdopen(requests[1], "wb")
        self._answers: IO[bytes] = os.fdopen(answers[0], "rb", buffering=0)
        try:
            self._send(self._target)
            answer = self._receive(START)
        except _Ended as error:
            self.close()
            raise ValueError(f"{self._target.place}: {error}") from None
        if isinstance(answer, Exception):
            self.close()
            raise answer
        self.facts = answer
        self.spaces = self.facts.observation_space, self.facts.action_space

    def open(self, case: Case, num_envs: int) -> str:
        """As Side.open."""
        if self._process.poll() is not None:
            self._start()
        self._opened, self._played = (case, num_envs), []
        try:
            self._send(("open", case, num_envs))
            refused, self.spaces = self._receive(self._timeout)
            return str(refused)
        except _Ended as error:
            return str(error)

    def begin(self, events: Sequence[Event]) -> None:
        """As Side.begin."""
        self._begun = events
        self._send(("play", pack_events(events)))

    def finish(self) -> list[Result]:
        """As Side.finish; the last result of a process that has ended says how it did."""
        try:
            results = unpack_results(self._receive(self._timeout))
        except _Ended as error:
            (count,) = PROGRESS.unpack_from(self._progress, 0)
            return [*self._replay(count), {PROCESS: str(error)}]
        self._played += self._begun
        return results

    def _replay(self, count: int) -> list[Result]:
        """Plays again, in a new process, what came before the event that ended the old one."""
        assert self._opened is not None
        before = len(self._played)
        events = [*self._played, *self._begun[:count]]
        self.close()
        self._start()
        try:
            self._send(("open", *self._opened))
            self._receive(self._timeout)
            self._send(("play", pack_events(events)))
            return unpack_results(self._receive(START))[before:]
        except _Ended:
            return []

    def _send(self, request: Any) -> None:
        self._is_busy = True
        try:
            pickle.dump(request, self._requests, pickle.HIGHEST_PROTOCOL)
            self._requests.flush()
        except BrokenPipeError:
            # _receive says how it ended
            return

    def _receive(self, timeout: float) -> Any:
        """Returns an answer.

        Raises:
            _Ended: there is none in time, or the process has ended.
        """
        deadline = time.monotonic() + timeout
        (size,) = LENGTH.unpack(self._read(LENGTH.size, deadline, timeout))
        answer = pickle.loads(self._read(size, deadline, timeout))
        self._is_busy = False
        return answer

    def _read(self, size: int, deadline: float, timeout: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._answers], [], [], left)[0]:
                self._process.kill()
                self._process.wait()
                raise _Ended(
                    f"it did not return within {timeout:g} s: look for a loop that never ends, or"
                    " give it more time"
                )
            part = os.read(self._answers.fileno(), min(size - len(data), 1 << 20))
            if not part:
                raise _Ended(self._how_it_ended())
            data += part
        return bytes(data)

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        if status < 0:
            return (
                f"the process ended with {signal_name(-status)}: look for a wrong pointer, an index"
                " beyond an array, or a call of abort"
            )
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return "\n".join([f"the process ended with status {status}", *lines[-SHOWN_LINES:]])

    def close(self) -> None:
        """Ends the process, which writes what it has counted before, unless it is in a step."""
        if self._is_busy:
            self._process.kill()
        for stream in (self._requests, self._answers):
            try:
                stream.close()
            except OSError:
                continue
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()
