"""Child: what a new process of ours does first and last, whatever started it."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import importlib
import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, NoReturn

from parallel_pool.workers import orphans, stray_forks
from parallel_pool.workers.connection import Connection, Dumps, Fragile, by_value, to_creator

Load = Callable[[], tuple[Callable[[Connection, Any], None], Any]]

# seconds that a worker waits for its creator to take the news of its failure
LAST_WORDS = 10.0

# What a new interpreter runs. Nothing may be imported before the creator's path is in place, and
# above all not from the folder that happens to be the current one.
CODE = (
    "import sys;sys.flags.safe_path or sys.path.pop(0);"
    "import pickle;told=open({told},'rb');sys.path[:]=pickle.load(told);"
    "from {module} import main;main(told,{connection})"
)

# --------------------------------------------------------------------------------- in creator --


def pack(target: str, argument: Any) -> bytes:
    """Pickles what a worker is to do, for `main` to read after the `surroundings`."""
    return by_value(target) + by_value(argument)


def surroundings(*, is_whole: bool) -> dict[str, Any]:
    """Describes where this process lives, for a new one to live in the same.

    Args:
        is_whole: tells also what a process started from here has anyway.
    """
    told: dict[str, Any] = {"argv": list(sys.argv)}
    if is_whole:
        told["environ"] = dict(os.environ)
        told["cores"] = os.sched_getaffinity(0)
        # the current folder may have been removed
        with contextlib.suppress(OSError):
            told["folder"] = os.getcwd()
    return told


@contextlib.contextmanager
def tell(*parts: bytes) -> Iterator[int]:
    """Makes a file in memory, for as long as the with statement lasts, that tells a new process
    the import path and then these pickles.

    Raises:
        OSError: there are too many files or there is too little memory.
    """
    path = [entry for entry in sys.path if isinstance(entry, str)]
    fd = os.memfd_create("parallel_pool told", os.MFD_CLOEXEC)
    try:
        with open(fd, "wb", closefd=False) as file:
            for part in (pickle.dumps(path, 5), *parts):
                file.write(part)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def run_python(module: str, told: int, connection: int, name: str, **options: Any) -> int:
    """Starts a Python that calls the module's main with what `tell` made and a connection's end.

    It inherits these two descriptors and stderr; options are those of `subprocess.Popen`. Returns
    its process id. The caller must wait for it.

    Raises:
        OSError: there are too many processes or there is too little memory.
        RuntimeError: nobody knows where Python is.
    """
    if not sys.executable:
        raise RuntimeError(
            "sys.executable is empty, as in programs that embed Python: set it to a Python "
            "interpreter, or choose the start method 'fork'"
        )
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    code = CODE.format(told=told, connection=connection, module=module)
    with blocked({signal.SIGINT}):
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", code, name],
            stdin=subprocess.DEVNULL,
            pass_fds=(told, connection),
            **options,
        )
    # who waits for it is not this object, which would complain about that when it is dropped
    process.returncode = 0
    return process.pid


def exitcode(ended: os.waitid_result) -> int:
    """Returns how a process ended, -N if signal N killed it."""
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


@contextlib.contextmanager
def blocked(signals: set[signal.Signals]) -> Iterator[None]:
    """Holds signals up; a process that is started meanwhile holds them up too."""
    # asked for first: the call that blocks them may raise what came just before, Ctrl-C say
    former = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


# ---------------------------------------------------------------------------------- in worker --


def main(told: IO[bytes], fd: int) -> NoReturn:
    """What a worker runs that was not forked from its creator."""
    settle_signals()
    # open to the very end, which its closing tells
    connection = adopt(fd, to_creator)
    leave(run(connection, lambda: _read(told), to_creator))


def adopt(fd: int, dumps: Dumps) -> Connection:
    """Makes a connection of an inherited descriptor, which nobody inherits from here."""
    os.set_inheritable(fd, False)
    return Connection(socket.socket(fileno=fd), dumps)


def _read(told: IO[bytes]) -> tuple[Callable[[Connection, Any], None], Any]:
    with told:
        live_in(pickle.load(told))
        target = find(pickle.load(told))
        return target, pickle.load(told)


def find(target: str) -> Callable[[Connection, Any], None]:
    """Imports what "module:function" names."""
    module, _, name = target.partition(":")
    found: Callable[[Connection, Any], None] = getattr(importlib.import_module(module), name)
    return found


def live_in(told: dict[str, Any]) -> None:
    """Takes over another process's surroundings."""
    sys.argv[:] = told["argv"]
    if "environ" in told and told["environ"] != dict(os.environ):
        os.environ.clear()
        os.environ.update(told["environ"])
    if "folder" in told:
        os.chdir(told["folder"])
    if "cores" in told:
        # a core may have gone offline
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, told["cores"])


def settle_signals() -> None:
    """Forgets handlers that came along; leaves Ctrl-C to the creator, whom it reaches as well."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def run(connection: Connection, load: Load, dumps: Dumps) -> int:
    """Does a worker's work; returns its exit code.

    From the first moment on it ends with its creator, whatever it is doing. It waits until the
    creator holds a record of it: Ctrl-C may come before that, and nobody would ever end it. What it
    raises reaches the creator as ("failed", exception, traceback as text), also when finding the
    target or reading the argument fails; the exception is None if it can't travel.
    """
    pid = os.getpid()
    try:
        orphans.lead()
        follow(connection.maker())
        try:
            connection.recv()
        except EOFError:
            return 0
        target, argument = load()
        target(connection, argument)
        stray_forks.end_here(pid, "all")
    except SystemExit as exit:
        stray_forks.end_here(pid, "all")
        return _code(exit)
    except BaseException as error:
        stray_forks.end_here(pid, "all")
        text = traceback.format_exc()
        try:
            connection.send(("failed", Fragile(error, dumps), text), timeout=LAST_WORDS)
        except EOFError:
            # nobody wants to know any more
            pass
        except Exception:
            with contextlib.suppress(Exception):
                sys.stderr.write(text)
        return 1
    return 0


def follow(pid: int) -> None:
    """Ends this process as soon as another one has ended.

    Raises:
        ProcessLookupError: it has.
        OSError: there are too many threads.
    """
    # nothing of the engine's is needed on the creator's side of this file
    from parallel_pool._native import lib

    if lib.pp_worker_exit_with(pid) < 0:
        with contextlib.suppress(PermissionError):
            os.kill(pid, 0)
        raise OSError(
            errno.EAGAIN,
            f"no thread could be started that follows process {pid}, which started this one: a"
            " higher limit of processes (ulimit -u) may help",
        )


def _code(exit: SystemExit) -> int:
    """The exit code that Python makes of it."""
    if exit.code is None:
        return 0
    if isinstance(exit.code, int):
        return exit.code & 0xFF
    with contextlib.suppress(Exception):
        print(exit.code, file=sys.stderr)
    return 1


def leave(code: int) -> NoReturn:
    """Ends this process: what was registered for its end runs, and threads are not waited for."""
    try:
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()
        os._exit(code)


# ---------------------------------------------------------------------------------- in a fork --


def fork(body: Callable[[], NoReturn]) -> int:
    """Forks a child that does nothing but the body, which must end it; returns its process id.

    The child has none of the parent's exit handlers and nothing left to flush.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    parent = os.getpid()
    pid = 0
    try:
        with blocked(set(signal.valid_signals())):
            try:
                pid = os.fork()
                if not pid:
                    settle_signals()
                    atexit._clear()
                    _leave_family()
                    body()
            finally:
                # whatever happens, a child must not go on with the parent's work
                if os.getpid() != parent:
                    os._exit(1)
    except BaseException:
        # Ctrl-C was held up: nobody will hear of the child
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        raise
    return pid


def _leave_family() -> None:
    """What the parent's multiprocessing has started is not this process's to end."""
    process, util = map(sys.modules.get, ("multiprocessing.process", "multiprocessing.util"))
    if process is not None and util is not None:
        with contextlib.suppress(AttributeError):
            process._children.clear()
            util._finalizer_registry.clear()
            atexit.register(util._exit_function)


def name_process(name: str) -> None:
    """Shows the name, or as much of it as the system takes, in lists of processes."""
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as file:
        file.write(name)


def take_stdin_away() -> None:
    """What the creator is given to read, its own source perhaps, is not for workers."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0, inheritable=True)
    os.close(null)
    with contextlib.suppress(Exception):
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)


def take_streams(fds: Sequence[tuple[int, int]]) -> None:
    """Puts descriptors in the places of stdout and stderr: pairs of a copy and a place."""
    for fd, place in fds:
        os.dup2(fd, place, inheritable=True)
        os.close(fd)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=stream is sys.stderr or stream.isatty())


def freeze() -> None:
    """Keeps the garbage collector from touching, and thereby copying, what children share."""
    gc.collect()
    gc.freeze()
