"""Launch: starts worker processes, and is what their creator holds of them.

`start` runs a function in new processes, each at the other end of a `Connection`. Three methods:

- "forkserver" (the default): a helper process, started at first use, has imported what workers need
  and forks them. As quick as fork and as safe as spawn.
- "spawn": each is a new interpreter.
- "fork": each is a copy of this process as it is. The argument need not be picklable. Unsafe while
  other threads run: a lock that one of them holds, in Python or in a C library, stays locked in the
  child for ever. Threads of native pools do not exist there, nor does a CUDA context.

With the first two nothing imports `__main__` again: notebooks, scripts without an
`if __name__ == "__main__"`, and `python -` work, for cloudpickle takes along what `__main__`
defines. A worker has the creator's import path, arguments, environment variables, folder and
interpreter flags, inherits stdout and stderr, and finds stdin empty. It ignores Ctrl-C, which a
terminal does not send it either: the creator decides what comes of it. It leads a process group,
which ends with it if it dies: see `remains`.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import pickle
import select
import signal
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn, Protocol

from parallel_pool.workers import bootstrap, forkserver, orphans
from parallel_pool.workers.connection import Connection, Dumps, by_reference, by_value, wait
from parallel_pool.workers.deadline import Deadline
from parallel_pool.workers.orphans import Orphans

METHODS = ("forkserver", "spawn", "fork")
# seconds for a killed process to be gone
BURIAL = 5.0


def _has_pidfd() -> bool:
    """Linux has had them from 5.3 on, and some sandboxes do not let them be used."""
    try:
        pidfd = os.pidfd_open(os.getpid())
    except (AttributeError, OSError):
        return False
    try:
        signal.pidfd_send_signal(pidfd, 0)
        os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOHANG)
    except ChildProcessError:
        # so it should be: nobody is a child of itself
        return True
    except (AttributeError, OSError):
        return False
    finally:
        os.close(pidfd)
    return True


HAS_PIDFD = _has_pidfd()
# what to poll a worker's pidfd for: a hang-up needs no asking
ENDED = select.POLLIN if HAS_PIDFD else 0


class Parent(Protocol):
    """The process that started a worker, and so the one that is told how it ended."""

    def exitcode(self) -> int | None:
        """Returns the code, None if the process has not ended; reaps it."""

    def kill(self, number: int) -> None:
        """Sends a signal, for want of a pidfd."""


class Worker:
    """A process that was started, from its creator's side. Usable from any thread.

    Attributes:
        name: what its process is called.
        pid: its process id.
        pidfd: a descriptor that becomes readable when the process has ended; -1 once closed. Where
            the system has no pidfds, a copy of the connection's, which hangs up then: poll for
            `ENDED`.
        connection: to talk to it.
    """

    def __init__(
        self, name: str, pid: int, pidfd: int, connection: Connection, parent: Parent
    ) -> None:
        self.name = name
        self.pid = pid
        self.pidfd = pidfd
        self.connection = connection
        self._parent = parent
        self._exitcode: int | None = None
        # a signal's handler may end the worker, whatever this thread is about
        self._lock = threading.RLock()
        # threads that wait for its end, of whom the last closes the pidfd if it was let go of
        self._waiting = 0
        _workers.add(self)

    def __del__(self) -> None:
        # nobody can talk to it any more; at exit there may be nothing left to say so with
        with contextlib.suppress(Exception):
            self.kill()
            self.let_go()

    def __repr__(self) -> str:
        state = "running" if self._exitcode is None else f"exit code {self._exitcode}"
        return f"<Worker {self.name} pid={self.pid} {state}>"

    @property
    def exitcode(self) -> int | None:
        """How the process ended: None while it runs, -N if signal N killed it, 255 if nobody can
        tell, because its parent died or somebody else waited for it."""
        with self._lock:
            if self._exitcode is None and self.pidfd >= 0 and wait(self.pidfd, 0.0, ENDED):
                code = self._parent.exitcode()
                # a signal's handler may have asked meanwhile, and only who asks first is told
                if self._exitcode is None:
                    self._exitcode = code
            return self._exitcode

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Sends a signal to the process, never to another one; none if it has ended."""
        with self._lock:
            if self._exitcode is not None or self.pidfd < 0:
                return
            with contextlib.suppress(ProcessLookupError):
                if HAS_PIDFD:
                    signal.pidfd_send_signal(self.pidfd, number)
                else:
                    self._parent.kill(number)

    def join(self, timeout: float | None = None) -> bool:
        """Waits for the process to end, for seconds or for ever; says whether it has."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            if self._exitcode is not None or self.pidfd < 0:
                return self._exitcode is not None
            # not a copy: who has too many files must be able to end workers all the same
            pidfd = self.pidfd
            self._waiting += 1
        try:
            if not wait(pidfd, end, ENDED):
                return False
            # the hang-up of a connection comes a moment before the end of its process
            while self.exitcode is None and not HAS_PIDFD and self.pidfd >= 0:
                if end is not None and time.monotonic() > end:
                    return False
                time.sleep(0.001)
        finally:
            with self._lock:
                self._waiting -= 1
                if self.pidfd < 0 and not self._waiting:
                    os.close(pidfd)
        return True

    def close(self) -> None:
        """Lets go of the connection and of the process, which is killed if it has not ended."""
        self.kill()
        self.join(BURIAL)
        self.let_go()

    def let_go(self) -> None:
        """Closes descriptors, no more."""
        self.connection.close()
        with self._lock:
            pidfd, self.pidfd = self.pidfd, -1
            is_last = pidfd >= 0 and not self._waiting
        if is_last:
            os.close(pidfd)


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()
# Whoever starts a Python waits for a pipe of `subprocess` to close: a worker that was forked by
# another thread meanwhile would hold it open for as long as it lives.
_starting = threading.Lock()


def _forget_workers() -> None:
    """In a forked child: an end that it held on to would hide the creator's death from workers."""
    global _starting
    _starting = threading.Lock()
    for worker in list(_workers):
        # the threads that held it, or waited, are not here any more
        worker._lock = threading.RLock()
        worker._waiting = 0
        worker.let_go()
    _workers.clear()
    _remains.clear()


os.register_at_fork(after_in_child=_forget_workers)


class OwnChild:
    """This process, as the parent of a worker."""

    def __init__(self, pid: int, pidfd: int) -> None:
        self._pid = pid
        # who is waited for
        self._who = (os.P_PIDFD, pidfd) if HAS_PIDFD else (os.P_PID, pid)

    def exitcode(self) -> int | None:
        try:
            # looked at first and reaped then, lest Ctrl-C come between and the code be lost
            ended = os.waitid(*self._who, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return None
            code = bootstrap.exitcode(ended)
            if code:
                _remains[self._pid] = Orphans(self._pid)
            os.waitid(*self._who, os.WEXITED | os.WNOHANG)
            if code:
                _end_remains(self._pid)
        except ChildProcessError:
            return forkserver.UNKNOWN
        return code

    def kill(self, number: int) -> None:
        os.kill(self._pid, number)


# by process id: what children of this process have left that died
_remains: dict[int, Orphans] = {}


def _end_remains(pid: int) -> None:
    left = _remains.get(pid)
    if left is None or left.are_gone():
        _remains.pop(pid, None)
        return
    try:
        threading.Thread(target=_wait_for, args=(pid, left), name="pp-remains", daemon=True).start()
    except RuntimeError:  # there are too many threads, or Python ends
        _wait_for(pid, left)


def _wait_for(pid: int, left: Orphans) -> None:
    # what arrives here would not wake the main thread, and Ctrl-C would be late
    with bootstrap.blocked(signal.valid_signals()):
        while not left.are_gone():
            time.sleep(orphans.LOOK)
    _remains.pop(pid, None)


@atexit.register
def _end_all_remains() -> None:
    """Before Python ends, for it waits for no thread of these."""
    for pid, left in list(_remains.items()):
        _wait_for(pid, left)


# -------------------------------------------------------------------------------------- start --


def start(
    method: str | None,
    target: str,
    arguments: Sequence[Any],
    *,
    name: str | Sequence[str],
    limit: Deadline | None = None,
) -> list[Worker]:
    """Starts a worker for each argument, all at once.

    Args:
        method: "forkserver", "spawn" or "fork"; None for forkserver.
        target: "module:function", called with the worker's end of the connection and its argument.
        What
            it raises comes as ("failed", exception or None, traceback) on the connection, be it
            raised by the import of its module; the exit code is then 1.
        arguments: one for each worker, anything that cloudpickle can pickle; with fork anything.
        name: of each worker, or of all, which are then numbered.
        limit: the time for it, None for any; what is only begun then is undone.

    Returns:
        The workers, in order of their arguments. They need not have begun.

    Raises:
        ValueError: there is no such method.
        OSError: not all could be started; those that could were ended.
        TimeoutError: the same, because time was up.
        Exception: what pickling an argument raised; none was started.
    """
    if method is None:
        method = METHODS[0]
    if method not in METHODS:
        raise ValueError(f"start method {method!r}: choose one of {', '.join(map(repr, METHODS))}")
    names = [f"{name}-{i}" for i in range(len(arguments))] if isinstance(name, str) else name
    _hold_streams()
    limit = limit or Deadline(None)
    starts = _STARTS[method](target, arguments, names)
    workers: list[Worker] = []
    try:
        for begin in starts:
            with limit.hold(_starting):
                workers.append(begin(limit))
            # it waits for this, see `bootstrap.run`; whoever has ended is found later
            with contextlib.suppress(EOFError):
                workers[-1].connection.send("begin")
    except BaseException as error:
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.close()
        if isinstance(error, OSError) and not isinstance(error, TimeoutError):
            raise OSError(
                error.errno,
                f"{len(workers)} of {len(arguments)} worker processes could be started, then: "
                f"{error.strerror or error}; those were ended. Fewer workers, or higher limits of "
                "processes, files (ulimit -u -n) or memory may help",
            ) from error
        raise
    return workers


Starts = list[Callable[[Deadline], Worker]]


def _hold_streams() -> None:
    """Gives a creator that was started without stdin, stdout or stderr empty ones, for good.

    Else a connection or the pool's memory would get one of their numbers, and what an environment
    prints would be written to it.
    """
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= 2:
        os.set_inheritable(fd, True)
        fd = os.dup(fd)
    os.close(fd)


def _packed(target: str, arguments: Sequence[Any]) -> list[bytes]:
    """Pickles everything before anything is started."""
    packed = []
    for index, argument in enumerate(arguments):
        try:
            packed.append(bootstrap.pack(target, argument))
        except Exception as error:
            error.add_note(
                f"while pickling what worker {index} of {len(arguments)} needs; the start method "
                "'fork' does without pickling"
            )
            raise
    return packed


def _starts_spawn(target: str, arguments: Sequence[Any], names: Sequence[str]) -> Starts:
    around = pickle.dumps(bootstrap.surroundings(is_whole=False), 5)

    def begin(packed: bytes, name: str, limit: Deadline) -> Worker:
        here, there = Connection.pair()
        with there, _closing_on_error(here), bootstrap.tell(around, packed) as told:
            pid = bootstrap.run_python(
                "parallel_pool.workers.bootstrap", told, there.fileno(), name
            )
            return _own_child(pid, name, here, by_value)

    return [
        partial(begin, packed, name)
        for packed, name in zip(_packed(target, arguments), names, strict=True)
    ]


def _starts_forkserver(target: str, arguments: Sequence[Any], names: Sequence[str]) -> Starts:
    around = pickle.dumps(bootstrap.surroundings(is_whole=True), 5)

    def begin(packed: bytes, name: str, limit: Deadline) -> Worker:
        here, there = Connection.pair()
        with there, _closing_on_error(here), bootstrap.tell(around, packed) as told:
            try:
                forked = forkserver.current(limit).fork(name, told, there.fileno(), limit)
            except forkserver.StoppedError:
                # it was ended; the descriptors are here still
                forked = forkserver.current(limit).fork(name, told, there.fileno(), limit)
            offspring, pid, pidfd = forked
            try:
                if not HAS_PIDFD:
                    if pidfd is not None:
                        os.close(pidfd)
                    pidfd = os.dup(here.fileno())
                if pidfd is None:
                    why = "the process that forks workers could give no pidfd"
                    raise OSError(errno.EMFILE, why)
                return Worker(name, pid, pidfd, Connection(here, by_value), offspring)
            except BaseException:
                offspring.kill(signal.SIGKILL)
                raise

    return [
        partial(begin, packed, name)
        for packed, name in zip(_packed(target, arguments), names, strict=True)
    ]


def _starts_fork(target: str, arguments: Sequence[Any], names: Sequence[str]) -> Starts:
    def begin(argument: Any, name: str, limit: Deadline) -> Worker:
        here, there = Connection.pair()

        def body() -> NoReturn:
            here.close()
            bootstrap.take_stdin_away()
            bootstrap.name_process(name)
            connection = Connection(there, by_reference)
            bootstrap.leave(
                bootstrap.run(connection, lambda: (bootstrap.find(target), argument), by_reference)
            )

        with there, _closing_on_error(here):
            return _own_child(bootstrap.fork(body), name, here, by_reference)

    return [partial(begin, argument, name) for argument, name in zip(arguments, names, strict=True)]


_STARTS: dict[str, Callable[[str, Sequence[Any], Sequence[str]], Starts]] = {
    "spawn": _starts_spawn,
    "forkserver": _starts_forkserver,
    "fork": _starts_fork,
}


def _own_child(pid: int, name: str, here: socket.socket, dumps: Dumps) -> Worker:
    """The worker that a child of this process is; nobody has waited for it yet."""
    try:
        pidfd = os.pidfd_open(pid) if HAS_PIDFD else os.dup(here.fileno())
        return Worker(name, pid, pidfd, Connection(here, dumps), OwnChild(pid, pidfd))
    except BaseException:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        raise


@contextlib.contextmanager
def _closing_on_error(here: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        here.close()
        raise
