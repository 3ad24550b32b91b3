"""Launch: starts worker processes, and represents each one in the parent as a `Worker`.

`start` runs a function in new processes, each at the other end of a `Connection`. There are three
methods:

- "forkserver" (the default): a helper process, started at first use, has imported what workers need
  and forks them. As fast as fork and as safe as spawn.
- "spawn": each worker is a new interpreter.
- "fork": each worker is a copy of this process. The argument need not be picklable. Unsafe while
  other threads run: a lock that one of them holds, in Python or in a C library, stays locked in the
  child for ever. Threads of native pools do not exist there, nor does a CUDA context.

With the first two, workers do not import `__main__` unless something is looked up in it by name:
see `main_module`. Notebooks, scripts without an `if __name__ == "__main__"`, and `python -` work,
because cloudpickle includes what `__main__` defines. A worker has the parent's import path,
arguments, environment variables, current folder and interpreter flags; it inherits stdout and
stderr, and its stdin is empty. It is a process of `multiprocessing`: see `child_process`. It leads
a process group, which is ended if the worker dies: see `orphans`. So Ctrl-C in a terminal does not
reach it; it also ignores SIGINT, because the parent process handles Ctrl-C.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import pickle
import signal
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn, Protocol

from parallel_pool._engine.arguments import quote
from parallel_pool._workers.start import (
    bootstrap,
    child_exit,
    child_process,
    forkserver,
    main_module,
    orphans,
    process_fd,
)
from parallel_pool._workers.start.connection import Connection, Dumps, by_reference, by_value, wait
from parallel_pool._workers.start.deadline import Deadline
from parallel_pool._workers.start.interpreter import Interpreter, environment
from parallel_pool._workers.start.orphans import Orphans
from parallel_pool._workers.start.shared_objects import Package

METHODS = ("forkserver", "spawn", "fork")
# seconds for a killed process to be gone
KILL_TIMEOUT = 5.0
# errors of a system that lacks something, and the cure
LACK = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
MORE = "Fewer workers, more memory, or higher limits of processes and files (ulimit -u -n) may help"


class ProcessHandle(Protocol):
    """Acts on a worker through its parent: this process or the fork server."""

    def exitcode(self) -> int | None:
        """Returns the exit code and reaps the process; None if it has not ended."""

    def signal(self, number: int) -> None:
        """Sends a signal, where there is no pidfd to do so."""


class Worker:
    """A worker process, as the parent process sees it. Usable from any thread.

    Attributes:
        name: shown in lists of processes.
        pid: its process id.
        pidfd: a descriptor to poll for `ENDED`, see `process_fd`; -1 once closed.
        connection: this process's end of the connection to the worker.
    """

    def __init__(
        self, name: str, pid: int, pidfd: int, connection: Connection, handle: ProcessHandle
    ) -> None:
        self.name = name
        self.pid = pid
        self.pidfd = pidfd
        self.connection = connection
        self._handle = handle
        self._exitcode: int | None = None
        # reentrant: a signal handler may end the worker, whatever this thread is doing
        self._lock = threading.RLock()
        # number of threads in `join`; if the pidfd was released, the last of them closes it
        self._waiting = 0
        _workers.add(self)

    def __del__(self) -> None:
        # nothing else refers to the process; at exit the modules used here may be gone
        with contextlib.suppress(Exception):
            self.kill()
            self.release()

    def __repr__(self) -> str:
        state = "running" if self._exitcode is None else f"exit code {self._exitcode}"
        return f"<Worker {self.name} pid={self.pid} {state}>"

    @property
    def exitcode(self) -> int | None:
        """How the process ended: None while it runs, -N if signal N killed it, 255 if unknown,
        because the fork server died or other code has waited for the process."""
        with self._lock:
            if (
                self._exitcode is None
                and self.pidfd >= 0
                and wait(self.pidfd, 0.0, process_fd.ENDED)
            ):
                code = self._handle.exitcode()
                # a signal handler may have asked meanwhile, and only the first call gets the code
                if self._exitcode is None:
                    self._exitcode = code
            return self._exitcode

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Sends a signal to the process if it has not ended, and never to another process."""
        with self._lock:
            if self._exitcode is not None or self.pidfd < 0:
                return
            with contextlib.suppress(ProcessLookupError):
                if process_fd.HAS_PIDFD:
                    process_fd.send_signal(self.pidfd, number)
                else:
                    self._handle.signal(number)

    def join(self, timeout: float | None = None) -> bool:
        """Waits at most `timeout` seconds for the process to end; returns whether it has."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            if self._exitcode is not None or self.pidfd < 0:
                return self._exitcode is not None
            # no `dup`: it would fail at the limit of open files, and workers must still be joined
            pidfd = self.pidfd
            self._waiting += 1
        try:
            if not wait(pidfd, until, process_fd.ENDED):
                return False
            # other descriptors report the end a moment before the process can be reaped
            while self.exitcode is None and not process_fd.HAS_PIDFD and self.pidfd >= 0:
                if until is not None and time.monotonic() > until:
                    return False
                time.sleep(0.001)
        finally:
            with self._lock:
                self._waiting -= 1
                if self.pidfd < 0 and not self._waiting:
                    process_fd.close(pidfd)
        return True

    def close(self) -> None:
        """Kills the process if it has not ended, and closes all descriptors."""
        self.kill()
        self.join(KILL_TIMEOUT)
        self.release()

    def release(self) -> None:
        """Closes the descriptors and leaves the process alone."""
        self.connection.close()
        with self._lock:
            pidfd, self.pidfd = self.pidfd, -1
            is_last = pidfd >= 0 and not self._waiting
        if is_last:
            process_fd.close(pidfd)


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()
# Held while a process is started. `subprocess` waits for a pipe to close, and a worker that another
# thread forked meanwhile would keep it open as long as it lives.
_starting = threading.Lock()


def _reset_after_fork() -> None:
    """Closes the workers' descriptors in a forked child.

    An open end of a connection would hide the parent's death from its worker.
    """
    global _starting
    _starting = threading.Lock()
    for worker in list(_workers):
        # threads that held the lock, or waited, do not exist in the child
        worker._lock = threading.RLock()
        worker._waiting = 0
        worker.release()
    _workers.clear()
    _orphans.clear()


os.register_at_fork(after_in_child=_reset_after_fork)


class ChildWorker:
    """The handle of a worker that is a child of this process: a `ProcessHandle`."""

    def __init__(self, pid: int, pidfd: int) -> None:
        self._pid = pid
        self._pidfd = pidfd if process_fd.HAS_PIDFD else None
        self._code: int | None = None

    def exitcode(self) -> int | None:
        try:
            ended = child_exit.peek(self._pid, self._pidfd)
            if ended is None:
                return None
            # kept before the process is reaped: Ctrl-C from then on must not lose the code
            _, code = ended
            self._code = code
            if code:
                _orphans[self._pid] = Orphans(self._pid)
            child_exit.reap(self._pid, self._pidfd)
            if code:
                _end_orphans(self._pid)
        except ChildProcessError:
            return forkserver.UNKNOWN if self._code is None else self._code
        return code

    def signal(self, number: int) -> None:
        os.kill(self._pid, number)


class BranchWorker:
    """The handle of a worker that another worker has forked: a `ProcessHandle`.

    That one reaps it only when it is told to, so until then its exit code can be read.

    Attributes:
        leaves_nothing: it has no child processes that outlive it.
    """

    def __init__(self, pid: int, pidfd: int, parent: int, ended: list[int]) -> None:
        """
        Args:
            pid, pidfd: of the process.
            parent: process id of the worker that has forked it.
            ended: gets the process id once the exit code was read.
        """
        self._pid = pid
        self._pidfd = pidfd
        self._parent = parent
        self._ended = ended
        self.leaves_nothing = False

    def exitcode(self) -> int | None:
        code = forkserver.zombie_code(self._pid, self._parent)
        if code is None:
            # the other worker has died, too, and the system has reaped this one
            code = process_fd.exit_code(self._pidfd)
            return forkserver.UNKNOWN if code is None else code
        if code and not self.leaves_nothing:
            # before it is reaped: until then no other process can have its number
            _orphans[self._pid] = Orphans(self._pid)
            _end_orphans(self._pid)
        self._ended.append(self._pid)
        return code

    def signal(self, number: int) -> None:
        process_fd.send_signal(self._pidfd, number)


# by process id: what children of this process left behind when they died
_orphans: dict[int, Orphans] = {}


def _end_orphans(pid: int) -> None:
    left = _orphans.get(pid)
    if left is None or left.are_gone():
        _orphans.pop(pid, None)
        return
    try:
        threading.Thread(
            target=_wait_for_orphans, args=(pid, left), name="pp-orphans", daemon=True
        ).start()
    except RuntimeError:  # there are too many threads, or Python is exiting
        _wait_for_orphans(pid, left)


def _wait_for_orphans(pid: int, left: Orphans) -> None:
    # a signal that this thread received would not wake the main thread: Ctrl-C would be late
    with bootstrap.blocked(signal.valid_signals()):
        while not left.are_gone():
            time.sleep(orphans.POLL_INTERVAL)
    _orphans.pop(pid, None)


@atexit.register
def _end_all_orphans() -> None:
    """Waits for all orphans before Python exits, which does not wait for daemon threads."""
    for pid, left in list(_orphans.items()):
        _wait_for_orphans(pid, left)


# -------------------------------------------------------------------------------------- start --


def start(
    method: str | None,
    target: str,
    arguments: Sequence[Any],
    *,
    name: str | Sequence[str],
    deadline: Deadline | None = None,
    interpreters: Sequence[Interpreter | None] = (),
) -> list[Worker]:
    """Starts a worker for each argument, all at once.

    Args:
        method: "forkserver", "spawn" or "fork"; None for forkserver.
        target: "module:function", called with the worker's end of the connection and its argument.
            An exception that it raises, or that importing its module raises, is received from the
            connection as ("failed", exception or None, traceback); the exit code is then 1.
        arguments: one for each worker. cloudpickle must be able to pickle them, except with fork.
        name: of each worker, or one for all, to which a number is added.
        deadline: for the whole start; None without a limit.
        interpreters: of each worker; None for this process's own. Others are started by "spawn".

    Returns:
        The workers, in the order of their arguments. They may not have called the target yet.

    Raises:
        ValueError: there is no such method.
        RuntimeError: this process is a worker that imports the program's main module, or no
            interpreter can be started.
        OSError: not all could be started; those that could were ended.
        TimeoutError: the same, because the deadline has passed.
        Exception: what pickling an argument raised; none was started.
    """
    main_module.check_not_importing()
    if method is None:
        method = METHODS[0]
    if method not in METHODS:
        raise ValueError(
            f"start method {quote(method)}: choose one of {', '.join(map(repr, METHODS))}"
        )
    names = [f"{name}-{i}" for i in range(len(arguments))] if isinstance(name, str) else name
    _open_missing_streams()
    deadline = deadline or Deadline(None)
    own = [i for i in range(len(arguments)) if not interpreters or interpreters[i] is None]
    started = _STARTS[method](target, [arguments[i] for i in own], [names[i] for i in own])
    by_index = dict(zip(own, started, strict=True))
    for i, interpreter in enumerate(interpreters):
        if interpreter is not None:
            by_index[i] = _start_other(target, arguments[i], names[i], interpreter)
    starts = [by_index[i] for i in range(len(arguments))]
    workers: list[Worker] = []
    try:
        for start_one in starts:
            with deadline.hold(_starting):
                workers.append(start_one(deadline))
            # the worker waits for this, see `bootstrap.run`; if it has ended, that is found later
            with contextlib.suppress(EOFError):
                workers[-1].connection.send("start")
    except BaseException as error:
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.close()
        if isinstance(error, OSError) and not isinstance(error, TimeoutError):
            cure = f" {MORE}" if error.errno in LACK else ""
            raise OSError(
                error.errno,
                f"only {len(workers)} of {len(arguments)} worker processes could be started: "
                f"{error.strerror or error}. They were ended.{cure}",
            ) from error
        raise
    return workers


Starts = list[Callable[[Deadline], Worker]]


def _open_missing_streams() -> None:
    """Opens /dev/null as stdin, stdout and stderr where this process was started without them.

    Otherwise a connection or the pool's memory would get one of their numbers, and what an
    environment prints would be written to it.
    """
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= 2:
        os.set_inheritable(fd, True)
        fd = os.dup(fd)
    os.close(fd)


def _pack_all(target: str, arguments: Sequence[Any], names: Sequence[str]) -> list[Package]:
    """Pickles everything before any worker is started."""
    packed = []
    # starting multiprocessing's resource tracker would unblock signals of this thread
    with bootstrap.blocked(set()):
        child_process.tracker_fd()
    for index, (argument, name) in enumerate(zip(arguments, names, strict=True)):
        try:
            packed.append(bootstrap.pack(target, argument, name))
        except Exception as error:
            error.add_note(
                f"while pickling what worker {index} of {len(arguments)} needs; the start method "
                "'fork' needs no pickling"
            )
            raise
    return packed


def _starts_spawn(target: str, arguments: Sequence[Any], names: Sequence[str]) -> Starts:
    state = pickle.dumps(bootstrap.process_state(is_complete=False), 5)

    def start_one(package: Package, name: str, deadline: Deadline) -> Worker:
        here, there = Connection.pair()
        with there, _closed_on_error(here), bootstrap.startup_file(state, *package.parts) as file:
            fds = [there.fileno(), *package.fds]
            pid = bootstrap.run_python("parallel_pool._workers.start.bootstrap", file, fds, name)
            return _child(pid, name, here, by_value)

    return [
        partial(start_one, package, name)
        for package, name in zip(_pack_all(target, arguments, names), names, strict=True)
    ]


def _start_other(
    target: str, argument: Any, name: str, interpreter: Interpreter
) -> Callable[[Deadline], Worker]:
    """Returns what starts a worker of another interpreter, for which it is pickled now."""
    package = bootstrap.pack(target, argument, name, interpreter)
    state = pickle.dumps(bootstrap.state_of_other(), 5)

    def start_one(deadline: Deadline) -> Worker:
        here, there = Connection.pair()
        with (
            there,
            _closed_on_error(here),
            bootstrap.startup_file(state, *package.parts, path=bootstrap.other_path()) as file,
        ):
            fds = [there.fileno(), *package.fds]
            module = "parallel_pool._workers.start.bootstrap"
            pid = bootstrap.run_python(module, file, fds, name, interpreter, env=environment())
            return _child(pid, name, here, by_value)

    return start_one


def _starts_forkserver(target: str, arguments: Sequence[Any], names: Sequence[str]) -> Starts:
    state = pickle.dumps(bootstrap.process_state(is_complete=True), 5)

    def start_one(package: Package, name: str, deadline: Deadline) -> Worker:
        here, there = Connection.pair()
        with there, _closed_on_error(here), bootstrap.startup_file(state, *package.parts) as file:
            fds = [there.fileno(), *package.fds]
            try:
                forked = forkserver.current(deadline).fork(name, file, fds, deadline)
            except forkserver.StoppedError:
                # it was killed; its successor gets the same descriptors, which are still open here
                forked = forkserver.current(deadline).fork(name, file, fds, deadline)
            handle, pid, pidfd = forked
            try:
                if not process_fd.HAS_PIDFD:
                    if pidfd is not None:
                        os.close(pidfd)
                    # the worker waits for a message, so it has hardly ended and been reaped
                    pidfd = process_fd.create(pid, here.fileno())
                if pidfd is None:
                    why = "the fork server could not open a pidfd"
                    raise OSError(errno.EMFILE, why)
                return Worker(name, pid, pidfd, Connection(here, by_value), handle)
            except BaseException:
                handle.signal(signal.SIGKILL)
                raise

    return [
        partial(start_one, package, name)
        for package, name in zip(_pack_all(target, arguments, names), names, strict=True)
    ]


def _starts_fork(target: str, arguments: Sequence[Any], names: Sequence[str]) -> Starts:
    def start_one(argument: Any, name: str, deadline: Deadline) -> Worker:
        here, there = Connection.pair()
        ancestry = child_process.ancestry(name)

        def body() -> NoReturn:
            here.close()
            bootstrap.detach_stdin()
            bootstrap.name_process(name)
            connection = Connection(there, by_reference)

            def load() -> tuple[Callable[[Connection, Any], None], Any]:
                bootstrap.become(ancestry, (), connection)
                return bootstrap.import_function(target), argument

            bootstrap.exit_process(bootstrap.run(connection, load, by_reference))

        with there, _closed_on_error(here):
            return _child(bootstrap.fork(body), name, here, by_reference)

    return [
        partial(start_one, argument, name) for argument, name in zip(arguments, names, strict=True)
    ]


_STARTS: dict[str, Callable[[str, Sequence[Any], Sequence[str]], Starts]] = {
    "spawn": _starts_spawn,
    "forkserver": _starts_forkserver,
    "fork": _starts_fork,
}


def _child(pid: int, name: str, here: socket.socket, dumps: Dumps) -> Worker:
    """Returns the worker for a child of this process that was just started."""
    try:
        pidfd = process_fd.create(pid, here.fileno())
        return Worker(name, pid, pidfd, Connection(here, dumps), ChildWorker(pid, pidfd))
    except BaseException:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        raise


@contextlib.contextmanager
def _closed_on_error(here: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        here.close()
        raise
