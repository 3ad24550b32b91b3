"""Forkserver: a process that has imported what workers need, and forks them on request.

One for each creator, started at first use. It has one thread and none of the creator's state, so
forking it is safe. It ends when its creator does, and its children's deaths do not harm it.
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
from typing import IO, Any, NoReturn

from parallel_pool.workers import bootstrap, orphans
from parallel_pool.workers.connection import Connection, by_reference
from parallel_pool.workers.deadline import Deadline
from parallel_pool.workers.orphans import Orphans

# imported once for all workers; who lacks one of them will say so
PRELOAD = ("numpy", "cloudpickle", "gymnasium", "parallel_pool.workers.worker")

# Libraries read these when they are loaded: a forkserver that has loaded them under other values
# would hand those on.
LOADED_BY = ("OMP_", "KMP_", "OPENBLAS_", "MKL_", "BLIS_", "NPY_", "LD_", "PYTHON")

# seconds for the forkserver to import everything and fork, and for it to say something that it has
# begun to say; as good as for ever, for a process that was not stopped
PATIENCE, NEWS = 120.0, 5.0
# seconds for it to notice a death that the system has told of already
OBITUARY = 1.0
# looks in a row at which it was stopped, after which nobody waits for it any more
STOPPED = 10

# exit code of a process whose parent died, or that somebody else has waited for: nobody knows it
UNKNOWN = 255

# --------------------------------------------------------------------------------- in creator --


class StoppedError(OSError):
    """The forkserver was stopped, by SIGSTOP say, and has been ended: another one may serve."""


class Forkserver:
    """The creator's side of a forkserver. Usable from any thread.

    Attributes:
        pid: its process id.
        is_dead: it has ended.
    """

    def __init__(self) -> None:
        """Starts it.

        Raises:
            OSError: there are too many processes or there is too little memory.
            RuntimeError: nobody knows where Python is.
        """
        self._loaded_by = _loaded_by()
        # the garbage collector may drop a worker, who is then killed, whatever this is about
        self._lock = threading.RLock()
        self._numbers = itertools.count()
        self._exitcodes: dict[int, int] = {}
        # children whose end the system has told of itself
        self._known: set[int] = set()
        self.is_dead = False
        here, there = Connection.pair()
        self._wire = Connection(here, by_reference)
        try:
            with there, bootstrap.tell(pickle.dumps(PRELOAD)) as told:
                self.pid = bootstrap.run_python(
                    "parallel_pool.workers.forkserver",
                    told,
                    there.fileno(),
                    "parallel_pool-forkserver",
                    stdout=subprocess.DEVNULL,
                )
        except BaseException:
            self._wire.close()
            raise
        _unreaped.add(self.pid)
        _forkservers.add(self)
        # workers hold on to it, so it lives as long as any of its children is of interest
        weakref.finalize(self, self._wire.close).atexit = False

    def is_fit(self, limit: Deadline) -> bool:
        """Says whether it can fork, and has loaded what it did under the present variables."""
        with limit.hold(self._lock):
            self._listen(0.0)
        return not self.is_dead and self._loaded_by == _loaded_by()

    def fork(
        self, name: str, told: int, connection: int, limit: Deadline
    ) -> tuple[Offspring, int, int | None]:
        """Starts a worker that runs `bootstrap.main`.

        Returns:
            The worker's parent, its process id, and a pidfd, None where there is no such thing.

        Raises:
            OSError: it could not fork, or it ended.
            StoppedError: it was stopped, and ended for that.
            TimeoutError: it has not answered within the limit, or `PATIENCE`, and was ended.
        """
        streams = [fd for fd in (1, 2) if _is_open(fd)]
        limit = limit.within(PATIENCE)
        with limit.hold(self._lock):
            number = next(self._numbers)
            try:
                fds = [told, connection, *streams]
                self._wire.send(("fork", number, name, streams), fds, limit.left())
                while True:
                    self._await(limit)
                    heard, fds = self._wire.recv(NEWS)
                    if heard[:2] == ("forked", number):
                        pid = heard[2]
                        return Offspring(self, number, pid), pid, fds[0] if fds else None
                    if heard[:2] == ("refused", number):
                        raise OSError(heard[2], f"fork: {os.strerror(heard[2])}")
                    self._hear(heard, fds)
            except (TimeoutError, StoppedError):
                # whatever it has forked for this ends as well, its connection having been closed
                self.end()
                raise
            except (EOFError, ConnectionError):
                self._die()
                raise OSError(
                    errno.ECHILD,
                    f"the process {self.pid} that forks workers ended; stderr may tell why, and "
                    "the start method 'spawn' does without it",
                ) from None
            except BaseException:
                # Ctrl-C: nobody will hear of the child, and what it makes may take for ever
                self.kill(number, signal.SIGKILL)
                raise

    def _await(self, limit: Deadline) -> None:
        """Waits until it says something, or has ended."""
        looks = 0
        while not self._wire.poll(limit.look()):
            looks = looks + 1 if _state(self.pid) == "T" else 0
            if looks == STOPPED:
                raise StoppedError(
                    errno.ESRCH, f"the process {self.pid} that forks workers was stopped"
                )

    def exitcode(self, number: int, pid: int, limit: Deadline) -> int | None:
        """Returns how a child ended, None if that is not known within the limit.

        It need not answer for that, nor need the lock be free: the system tells of those that it
        has not waited for.
        """
        code = None
        with contextlib.suppress(TimeoutError):
            pause = 0.0
            while True:
                if self._lock.acquire(timeout=pause) if pause else self._lock.acquire(False):
                    try:
                        self._listen(pause)
                        if number in self._exitcodes or self.is_dead:
                            return self._exitcodes.pop(number, UNKNOWN if code is None else code)
                        code = _zombie_code(pid, self.pid)
                        # 0 is also what the system says to those who may not know
                        if code:
                            self._known.add(number)
                            return code
                    finally:
                        self._lock.release()
                elif code := _zombie_code(pid, self.pid):
                    return code
                pause = limit.look()
        return code

    def kill(self, number: int, signal_number: int) -> None:
        """Sends a signal to a child, where there is no pidfd to do so."""
        with self._lock, contextlib.suppress(EOFError, ConnectionError, TimeoutError):
            self._wire.send(("kill", number, signal_number), timeout=NEWS)

    def end(self) -> None:
        """Ends it; its children go on."""
        if not self.is_dead:
            # nobody else waits for it, so the number is still its own
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._die()

    def let_go(self) -> None:
        """Closes this end."""
        self._wire.close()
        self.is_dead = True

    def _listen(self, timeout: float) -> bool:
        """Hears all that was said, and waits for something; says whether there was any."""
        has_heard = False
        try:
            while self._wire.poll(0.0 if has_heard else timeout):
                self._hear(*self._wire.recv(NEWS))
                has_heard = True
        except (EOFError, ConnectionError):
            self._die()
        return has_heard

    def _hear(self, heard: Any, fds: list[int]) -> None:
        if heard[0] == "ended" and heard[1] in self._known:
            self._known.discard(heard[1])
        elif heard[0] == "ended":
            self._exitcodes[heard[1]] = heard[2]
        # forked for a call that was interrupted and has had it killed
        for fd in fds:
            os.close(fd)

    def _die(self) -> None:
        self.is_dead = True
        self._wire.close()


class Offspring:
    """A forkserver, as the parent of one worker."""

    def __init__(self, forkserver: Forkserver, number: int, pid: int) -> None:
        self._forkserver = forkserver
        self._number = number
        self._pid = pid

    def exitcode(self) -> int | None:
        return self._forkserver.exitcode(self._number, self._pid, Deadline(OBITUARY))

    def kill(self, number: int) -> None:
        self._forkserver.kill(self._number, number)


_current: Forkserver | None = None
_lock = threading.Lock()
_forkservers: weakref.WeakSet[Forkserver] = weakref.WeakSet()
# process ids of those that may have ended
_unreaped: set[int] = set()


def current(limit: Deadline | None = None) -> Forkserver:
    """Returns this process's forkserver; starts one if there is none that is fit.

    Raises:
        TimeoutError: another thread needs it for longer than the limit.
    """
    global _current
    limit = limit or Deadline(None)
    with limit.hold(_lock):
        if _current is None or not _current.is_fit(limit):
            _current = None
            _reap()
            _current = Forkserver()
        return _current


def retire() -> None:
    """Lets this process's forkserver end as soon as nobody asks for its children."""
    global _current
    with _lock:
        _current = None


def _reap() -> None:
    for pid in list(_unreaped):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _unreaped.discard(pid)


def _forget() -> None:
    """In a forked child: forkservers are its parent's."""
    global _current, _lock
    _lock = threading.Lock()
    _current = None
    for forkserver in list(_forkservers):
        forkserver.let_go()
    _forkservers.clear()
    _unreaped.clear()


os.register_at_fork(after_in_child=_forget)


def _loaded_by() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(LOADED_BY)}


def _stat(pid: int) -> list[str]:
    """What the system says of a process, from its state on; nothing if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _state(pid: int) -> str:
    return (_stat(pid) or [""])[0]


def _zombie_code(pid: int, parent: int) -> int | None:
    """How a child of a process has ended for which that has not waited; None if it has."""
    told = _stat(pid)
    if told[:2] != ["Z", str(parent)]:
        return None
    # the last of those that Linux has had since 3.5
    return os.waitstatus_to_exitcode(int(told[49]))


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


# -------------------------------------------------------------------------------- in forkserver --


def main(told: IO[bytes], fd: int) -> NoReturn:
    """What a forkserver runs."""
    bootstrap.settle_signals()
    bootstrap.name_process("parallel_pool-forkserver")
    control = bootstrap.adopt(fd, by_reference)
    with told:
        preload(pickle.load(told))
    Nursery(control).serve()


def preload(names: tuple[str, ...]) -> None:
    for name in names:
        # a worker that needs it will tell its creator
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    bootstrap.freeze()


class Nursery:
    """The forkserver's side: what it forked, and has to tell about."""

    def __init__(self, control: Connection) -> None:
        self._control = control
        # by process id
        self._numbers: dict[int, int] = {}
        # by process id
        self._remains: dict[int, Orphans] = {}
        # nobody asks any more how they ended
        self._is_over = False
        self._alarm, alarm = socket.socketpair()
        self._alarm.setblocking(False)
        alarm.setblocking(False)
        self._alarm_end = alarm
        # a handler must be there for the alarm to ring
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(alarm.fileno(), warn_on_full_buffer=False)

    def serve(self) -> NoReturn:
        """Forks and reaps until the creator is gone."""
        poll = select.poll()
        poll.register(self._control.fileno(), select.POLLIN)
        poll.register(self._alarm.fileno(), select.POLLIN)
        try:
            while True:
                look = orphans.LOOK * 1000 if self._remains else None
                ready = {fd for fd, _ in poll.poll(look)}
                if self._alarm.fileno() in ready:
                    self._reap()
                if self._control.fileno() in ready:
                    asked, fds = self._control.recv()
                    self._answer(asked, fds)
                self._look()
        except (EOFError, ConnectionError):
            with contextlib.suppress(Exception):
                self._end()
        finally:
            os._exit(0)

    def _end(self) -> None:
        """Sees to what is left of children, who end as this does, with the creator."""
        self._is_over = True
        end = time.monotonic() + NEWS
        while (self._numbers or self._remains) and time.monotonic() < end:
            self._reap()
            self._look()
            select.select([self._alarm], [], [], orphans.LOOK)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._alarm.recv(4096)
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid, code = ended.si_pid, bootstrap.exitcode(ended)
            # none of ours: what a library left while it was imported
            number = self._numbers.pop(pid, None)
            if number is not None and (code or self._is_over):
                self._remains[pid] = Orphans(pid)
            os.waitpid(pid, 0)
            if number is not None and not self._is_over:
                self._control.send(("ended", number, code))

    def _look(self) -> None:
        for pid, left in list(self._remains.items()):
            if left.are_gone():
                del self._remains[pid]

    def _answer(self, asked: Any, fds: list[int]) -> None:
        if asked[0] == "kill":
            for pid, number in self._numbers.items():
                if number == asked[1]:
                    os.kill(pid, asked[2])
            return
        _, number, name, streams = asked
        try:
            pid = bootstrap.fork(lambda: self._become(name, fds, streams))
        except OSError as error:
            self._control.send(("refused", number, error.errno))
            return
        finally:
            for fd in fds:
                os.close(fd)
        self._numbers[pid] = number
        try:
            pidfds = [os.pidfd_open(pid)]
        except (AttributeError, OSError):
            pidfds = []
        self._control.send(("forked", number, pid), pidfds)
        for fd in pidfds:
            os.close(fd)

    def _become(self, name: str, fds: list[int], streams: list[int]) -> NoReturn:
        """Turns the fork of a forkserver into a worker."""
        self._control.close()
        self._alarm.close()
        self._alarm_end.close()
        bootstrap.name_process(name)
        told, connection, *copies = fds
        bootstrap.take_streams(list(zip(copies, streams, strict=True)))
        # NumPy's own generator was seeded when it was imported, unlike Python's not again by a fork
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()
        file = os.fdopen(told, "rb")
        sys.path[:] = pickle.load(file)
        bootstrap.main(file, connection)
