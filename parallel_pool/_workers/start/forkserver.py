"""Fork server: a process that has imported what workers need, and forks them on request.

Each parent process has its own, started at first use. It has one thread and no state of the parent,
so it can be forked safely. It ends when the parent ends, and survives the death of its children.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import itertools
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from typing import IO, Any, NoReturn

from parallel_pool._workers.start import bootstrap, child_exit, orphans, process_fd
from parallel_pool._workers.start.connection import Connection, by_reference
from parallel_pool._workers.start.deadline import Deadline
from parallel_pool._workers.start.orphans import Orphans

# imported once for all workers; a module that is missing is reported by the worker that needs it
PRELOAD = ("numpy", "cloudpickle", "gymnasium", "parallel_pool._workers.run.worker")

# Libraries read environment variables with these prefixes when they are loaded. If the values have
# changed since the fork server loaded them, its workers would inherit the old ones.
LOAD_VARIABLES = ("OMP_", "KMP_", "OPENBLAS_", "MKL_", "BLIS_", "NPY_", "LD_", "PYTHON")

# seconds for the fork server to import everything and fork, and to finish a message that it has
# begun; ample for a process that was not stopped
FORK_TIMEOUT, MESSAGE_TIMEOUT = 120.0, 5.0
# seconds for the fork server to report a death that the system has reported already
EXITCODE_TIMEOUT = 1.0
# the fork server is killed after this many consecutive checks have found it stopped
MAX_STOPPED_CHECKS = 10

# in place of an unknown exit code: the process's parent died, or other code has waited for it
UNKNOWN = 255

# ---------------------------------------------------------------------- in the parent process --


class StoppedError(OSError):
    """The fork server was stopped, by SIGSTOP for example, and has been killed; start another."""


class Forkserver:
    """The parent process's side of a fork server. Usable from any thread.

    Attributes:
        pid: its process id.
        is_dead: it has ended.
        lock: held by the thread that asks it something.
    """

    def __init__(self) -> None:
        """Starts the process.

        Raises:
            OSError: there are too many processes or there is too little memory.
            RuntimeError: `sys.executable` is empty.
        """
        self._load_variables = _load_variables()
        # reentrant: the garbage collector may delete a worker, and so kill it, at any point
        self.lock = threading.RLock()
        self._numbers = itertools.count()
        self._exitcodes: dict[int, int] = {}
        # children whose exit code was read from /proc, before the fork server reported it
        self._known: set[int] = set()
        self.is_dead = False
        here, there = Connection.pair()
        self._connection = Connection(here, by_reference)
        try:
            with there, bootstrap.startup_file(pickle.dumps(PRELOAD)) as file:
                self.pid = bootstrap.run_python(
                    "parallel_pool._workers.start.forkserver",
                    file,
                    [there.fileno()],
                    "parallel_pool-forkserver",
                    stdout=subprocess.DEVNULL,
                )
        except BaseException:
            self._connection.close()
            raise
        unreaped.add(self.pid)
        _forkservers.add(self)
        # workers refer to this object, so the connection stays open as long as one of them exists
        weakref.finalize(self, self._connection.close).atexit = False

    def is_usable(self, deadline: Deadline) -> bool:
        """Returns whether it can fork and was loaded with the present environment variables."""
        with deadline.hold(self.lock):
            self._receive_all(0.0)
        return not self.is_dead and self._load_variables == _load_variables()

    def fork(
        self, name: str, file: int, fds: Sequence[int], deadline: Deadline
    ) -> tuple[ForkedWorker, int, int | None]:
        """Starts a worker that runs `bootstrap.main`.

        Args:
            name: of the process.
            file: descriptor of a `bootstrap.startup_file`.
            fds: descriptor of the worker's end of its connection, then those of a `Package`.
            deadline: for the answer; `FORK_TIMEOUT` if that is earlier.

        Returns:
            A handle of the worker, its process id, and a pidfd, None where the system has none.

        Raises:
            OSError: the process could not be forked, or the fork server has ended.
            ValueError: there are more descriptors than a message can carry.
            StoppedError: the fork server was stopped, and has been killed.
            TimeoutError: it has not answered by the deadline, and has been killed.
        """
        streams = [fd for fd in (1, 2) if _is_open(fd)]
        deadline = deadline.within(FORK_TIMEOUT)
        with deadline.hold(self.lock):
            number = next(self._numbers)
            try:
                self._connection.send(
                    ("fork", number, name, streams), [file, *streams, *fds], deadline.remaining()
                )
                while True:
                    self._wait_for_message(deadline)
                    message, pidfds = self._connection.recv(MESSAGE_TIMEOUT)
                    if message[:2] == ("forked", number):
                        pid = message[2]
                        return ForkedWorker(self, number, pid), pid, pidfds[0] if pidfds else None
                    if message[:2] == ("not forked", number):
                        raise OSError(message[2], f"fork: {os.strerror(message[2])}")
                    self._handle(message, pidfds)
            except (TimeoutError, StoppedError):
                # a worker that it has forked for this ends too: its connection gets closed
                self.kill()
                raise
            except (EOFError, ConnectionError):
                self._mark_dead()
                raise OSError(
                    errno.ECHILD,
                    f"the fork server (process {self.pid}) has ended: stderr may say why; "
                    "start_method='spawn' works without one",
                ) from None
            except BaseException:
                # Ctrl-C: the caller will not learn of the child, whose start may take for ever
                self.signal(number, signal.SIGKILL)
                raise

    def _wait_for_message(self, deadline: Deadline) -> None:
        """Waits until the fork server sends something or ends."""
        stopped = 0
        while not self._connection.poll(deadline.pause()):
            stopped = stopped + 1 if state_of(self.pid) == "T" else 0
            if stopped == MAX_STOPPED_CHECKS:
                raise StoppedError(
                    errno.ESRCH, f"the fork server (process {self.pid}) was stopped by a signal"
                )

    def exitcode(self, number: int, pid: int, deadline: Deadline) -> int | None:
        """Returns a child's exit code; None if that is unknown by the deadline.

        Works while the fork server does not answer or another thread holds the lock: /proc has the
        exit codes of processes that their parent has not waited for.
        """
        code = None
        with contextlib.suppress(TimeoutError):
            pause = 0.0
            while True:
                if self.lock.acquire(timeout=pause) if pause else self.lock.acquire(False):
                    try:
                        self._receive_all(pause)
                        if number in self._exitcodes or self.is_dead:
                            return self._exitcodes.pop(number, UNKNOWN if code is None else code)
                        code = zombie_code(pid, self.pid)
                        # /proc also shows 0 to processes that may not read the code
                        if code:
                            self._known.add(number)
                            return code
                    finally:
                        self.lock.release()
                elif code := zombie_code(pid, self.pid):
                    return code
                pause = deadline.pause()
        return code

    def signal(self, number: int, signal_number: int) -> None:
        """Sends a signal to a child, where there is no pidfd to do so."""
        with self.lock, contextlib.suppress(EOFError, ConnectionError, TimeoutError):
            self._connection.send(("signal", number, signal_number), timeout=MESSAGE_TIMEOUT)

    def kill(self) -> None:
        """Kills the fork server; its children continue."""
        if not self.is_dead:
            # only this process waits for it, so the number is still its own
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._mark_dead()

    def close(self) -> None:
        """Closes this end of the connection."""
        self._connection.close()
        self.is_dead = True

    def _receive_all(self, timeout: float) -> None:
        """Waits for a message and handles all that have arrived."""
        has_received = False
        try:
            while self._connection.poll(0.0 if has_received else timeout):
                self._handle(*self._connection.recv(MESSAGE_TIMEOUT))
                has_received = True
        except (EOFError, ConnectionError):
            self._mark_dead()

    def _handle(self, message: Any, fds: list[int]) -> None:
        if message[0] == "ended" and message[1] in self._known:
            self._known.discard(message[1])
        elif message[0] == "ended":
            self._exitcodes[message[1]] = message[2]
        # "forked" comes with a pidfd. It belongs to a call that was interrupted and has killed the
        # child.
        for fd in fds:
            os.close(fd)

    def _mark_dead(self) -> None:
        self.is_dead = True
        self._connection.close()


class ForkedWorker:
    """The handle of a worker that a fork server has forked: a `launch.ProcessHandle`."""

    def __init__(self, forkserver: Forkserver, number: int, pid: int) -> None:
        self._forkserver = forkserver
        self._number = number
        self._pid = pid

    def exitcode(self) -> int | None:
        return self._forkserver.exitcode(self._number, self._pid, Deadline(EXITCODE_TIMEOUT))

    def signal(self, number: int) -> None:
        self._forkserver.signal(self._number, number)


_current: Forkserver | None = None
_lock = threading.Lock()
_forkservers: weakref.WeakSet[Forkserver] = weakref.WeakSet()
# process ids of fork servers that have not been waited for
unreaped: set[int] = set()


def current(deadline: Deadline | None = None) -> Forkserver:
    """Returns this process's fork server; starts one if there is none that is usable.

    Raises:
        TimeoutError: another thread uses it until the deadline.
    """
    global _current
    deadline = deadline or Deadline(None)
    with deadline.hold(_lock):
        if _current is None or not _current.is_usable(deadline):
            _current = None
            _reap()
            _current = Forkserver()
        return _current


def retire() -> None:
    """Forgets this process's fork server, which ends once no `Worker` refers to it."""
    global _current
    with _lock:
        _current = None


def _reap() -> None:
    for pid in list(unreaped):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            unreaped.discard(pid)


def _reset_after_fork() -> None:
    """Forgets fork servers in a forked child: they are its parent's."""
    global _current, _lock
    _lock = threading.Lock()
    _current = None
    for forkserver in list(_forkservers):
        forkserver.close()
    _forkservers.clear()
    unreaped.clear()


os.register_at_fork(after_in_child=_reset_after_fork)


def _load_variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(LOAD_VARIABLES)}


def _stat(pid: int) -> list[str]:
    """Returns the fields of /proc/PID/stat from the state on; [] if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def state_of(pid: int) -> str:
    return (_stat(pid) or [""])[0]


def zombie_code(pid: int, parent: int) -> int | None:
    """Returns the exit code of a child that has ended; None once its parent has waited for it."""
    fields = _stat(pid)
    if fields[:2] != ["Z", str(parent)]:
        return None
    # exit_code is the last of the fields that Linux has had since 3.5
    return os.waitstatus_to_exitcode(int(fields[49]))


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


# ------------------------------------------------------------------------- in the fork server --


def main(file: IO[bytes], fd: int) -> NoReturn:
    """Runs a fork server.

    Args:
        file: a `bootstrap.startup_file`, of which the import path has been read.
        fd: its end of the connection.
    """
    bootstrap.reset_signals()
    bootstrap.name_process("parallel_pool-forkserver")
    connection = bootstrap.inherit_connection(fd, by_reference)
    with file:
        preload(pickle.load(file))
    Server(connection).serve()


def preload(names: tuple[str, ...]) -> None:
    for name in names:
        # a worker that needs the module reports the error to its parent
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    bootstrap.freeze_heap()


class Server:
    """The fork server's own side: it forks workers, reaps them and reports their exit codes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # workers' numbers by process id
        self._numbers: dict[int, int] = {}
        # processes that a dead worker left behind, by its process id
        self._orphans: dict[int, Orphans] = {}
        # the parent has ended, and exit codes are no longer reported
        self._is_over = False
        self._wakeup, wakeup = socket.socketpair()
        self._wakeup.setblocking(False)
        wakeup.setblocking(False)
        self._wakeup_end = wakeup
        # the wakeup descriptor is written to only for signals that have a handler
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)

    def serve(self) -> NoReturn:
        """Forks and reaps workers until the parent process has ended."""
        poll = select.poll()
        poll.register(self._connection.fileno(), select.POLLIN)
        poll.register(self._wakeup.fileno(), select.POLLIN)
        try:
            while True:
                pause = orphans.POLL_INTERVAL * 1000 if self._orphans else None
                ready = {fd for fd, _ in poll.poll(pause)}
                if self._wakeup.fileno() in ready:
                    self._reap()
                if self._connection.fileno() in ready:
                    request, fds = self._connection.recv()
                    self._answer(request, fds)
                self._check_orphans()
        except (EOFError, ConnectionError):
            with contextlib.suppress(Exception):
                self._end()
        finally:
            os._exit(0)

    def _end(self) -> None:
        """Ends the orphans of workers, which themselves end with the parent process."""
        self._is_over = True
        end = time.monotonic() + MESSAGE_TIMEOUT
        while (self._numbers or self._orphans) and time.monotonic() < end:
            self._reap()
            self._check_orphans()
            select.select([self._wakeup], [], [], orphans.POLL_INTERVAL)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._wakeup.recv(4096)
        while True:
            try:
                ended = child_exit.peek(-1)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid, code = ended
            # a child without a number was started by an imported library
            number = self._numbers.pop(pid, None)
            if number is not None and (code or self._is_over):
                self._orphans[pid] = Orphans(pid)
            child_exit.reap(pid)
            if number is not None and not self._is_over:
                self._connection.send(("ended", number, code))

    def _check_orphans(self) -> None:
        for pid, left in list(self._orphans.items()):
            if left.are_gone():
                del self._orphans[pid]

    def _answer(self, request: Any, fds: list[int]) -> None:
        if request[0] == "signal":
            for pid, number in self._numbers.items():
                if number == request[1]:
                    os.kill(pid, request[2])
            return
        _, number, name, streams = request
        try:
            pid = bootstrap.fork(lambda: self._become_worker(name, fds, streams))
        except OSError as error:
            self._connection.send(("not forked", number, error.errno))
            return
        finally:
            for fd in fds:
                os.close(fd)
        self._numbers[pid] = number
        pidfds = []
        if process_fd.HAS_PIDFD:
            with contextlib.suppress(OSError):
                pidfds = [process_fd.create(pid, self._connection.fileno())]
        self._connection.send(("forked", number, pid), pidfds)
        for fd in pidfds:
            os.close(fd)

    def _become_worker(self, name: str, fds: list[int], streams: list[int]) -> NoReturn:
        """Runs a worker in the forked child."""
        self._connection.close()
        self._wakeup.close()
        self._wakeup_end.close()
        bootstrap.name_process(name)
        startup, *others = fds
        count = len(streams)
        bootstrap.replace_streams(list(zip(others[:count], streams, strict=True)))
        file = os.fdopen(startup, "rb")
        sys.path[:] = pickle.load(file)
        bootstrap.main(file, *others[count:])
