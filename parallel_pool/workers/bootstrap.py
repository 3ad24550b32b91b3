"""Bootstrap: what a new process of this package does first and last, however it was started."""

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
from parallel_pool.workers.connection import Connection, Dumps, PickledOrNone, by_value, to_parent

Load = Callable[[], tuple[Callable[[Connection, Any], None], Any]]

# seconds that a worker waits until its parent has read why the worker failed
FAILURE_TIMEOUT = 10.0

# What a new interpreter runs. Nothing may be imported before the parent's import path is in place,
# above all not from the current folder.
CODE = (
    "import sys;sys.flags.safe_path or sys.path.pop(0);"
    "import pickle;file=open({file},'rb');sys.path[:]=pickle.load(file);"
    "from {module} import main;main(file,{connection})"
)

# ---------------------------------------------------------------------- in the parent process --


def pack(target: str, argument: Any) -> bytes:
    """Pickles a worker's target and argument, for `main` to read after the `process_state`."""
    return by_value(target) + by_value(argument)


def process_state(*, is_complete: bool) -> dict[str, Any]:
    """Returns what a new process takes over from this one.

    Args:
        is_complete: includes what a child of this process would inherit anyway.
    """
    state: dict[str, Any] = {"argv": list(sys.argv)}
    if is_complete:
        state["environ"] = dict(os.environ)
        state["cores"] = os.sched_getaffinity(0)
        # the current folder may have been removed
        with contextlib.suppress(OSError):
            state["folder"] = os.getcwd()
    return state


@contextlib.contextmanager
def startup_file(*parts: bytes) -> Iterator[int]:
    """Makes a file in memory for a new process to read: the import path, then these pickles.

    Yields its descriptor, which is closed at the end of the with statement.

    Raises:
        OSError: there are too many files or there is too little memory.
    """
    path = [entry for entry in sys.path if isinstance(entry, str)]
    fd = os.memfd_create("parallel_pool startup", os.MFD_CLOEXEC)
    try:
        with open(fd, "wb", closefd=False) as file:
            for part in (pickle.dumps(path, 5), *parts):
                file.write(part)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def run_python(module: str, file: int, connection: int, name: str, **options: Any) -> int:
    """Starts a Python interpreter that calls the module's `main`.

    The process inherits both descriptors and stderr. The caller must wait for it.

    Args:
        module: name of the module.
        file: descriptor of a `startup_file`.
        connection: descriptor of the process's end of its connection.
        name: shown in lists of processes.
        options: those of `subprocess.Popen`.

    Returns:
        The process id.

    Raises:
        OSError: there are too many processes or there is too little memory.
        RuntimeError: `sys.executable` is empty.
    """
    if not sys.executable:
        raise RuntimeError(
            "sys.executable is empty, as in programs that embed Python: set it to a Python "
            "interpreter, or choose the start method 'fork'"
        )
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    code = CODE.format(file=file, connection=connection, module=module)
    with blocked({signal.SIGINT}):
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", code, name],
            stdin=subprocess.DEVNULL,
            pass_fds=(file, connection),
            **options,
        )
    # others wait for the process; without a code the object would warn when it is deleted
    process.returncode = 0
    return process.pid


def exitcode(ended: os.waitid_result) -> int:
    """Returns a process's exit code, -N if signal N killed it."""
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


@contextlib.contextmanager
def blocked(signals: set[signal.Signals]) -> Iterator[None]:
    """Blocks signals; a process started within the with statement inherits the mask."""
    # read first: the call that blocks may raise for a signal that came just before, such as Ctrl-C
    former = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


# ------------------------------------------------------------------------------ in the worker --


def main(file: IO[bytes], fd: int) -> NoReturn:
    """Runs a worker that was not forked from its parent process.

    Args:
        file: a `startup_file`, of which the import path has been read.
        fd: the worker's end of the connection.
    """
    reset_signals()
    # stays open until the process ends, so that the parent meets EOFError only then
    connection = inherit_connection(fd, to_parent)
    exit_process(run(connection, lambda: _read(file), to_parent))


def inherit_connection(fd: int, dumps: Dumps) -> Connection:
    """Makes a connection of an inherited descriptor, which children do not inherit further."""
    os.set_inheritable(fd, False)
    return Connection(socket.socket(fileno=fd), dumps)


def _read(file: IO[bytes]) -> tuple[Callable[[Connection, Any], None], Any]:
    with file:
        apply_process_state(pickle.load(file))
        target = import_function(pickle.load(file))
        return target, pickle.load(file)


def import_function(target: str) -> Callable[[Connection, Any], None]:
    """Imports the function that "module:function" names."""
    module, _, name = target.partition(":")
    found: Callable[[Connection, Any], None] = getattr(importlib.import_module(module), name)
    return found


def apply_process_state(state: dict[str, Any]) -> None:
    """Takes over what `process_state` returned in another process."""
    sys.argv[:] = state["argv"]
    if "environ" in state and state["environ"] != dict(os.environ):
        os.environ.clear()
        os.environ.update(state["environ"])
    if "folder" in state:
        os.chdir(state["folder"])
    if "cores" in state:
        # a core may have gone offline
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, state["cores"])


def reset_signals() -> None:
    """Removes inherited handlers and masks. Ignores Ctrl-C, which the parent process handles."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def run(connection: Connection, load: Load, dumps: Dumps) -> int:
    """Runs a worker's target; returns its exit code.

    From its first moment on the worker ends when the parent process ends, whatever it is doing. It
    waits for a message before it runs the target: the parent sends it once it has recorded the
    worker. Ctrl-C may come earlier, and nothing would ever end an unrecorded worker.

    An exception is sent to the parent as ("failed", exception, traceback as text), also if it comes
    from importing the target or reading the argument. The exception is None if it can't be pickled.
    """
    pid = os.getpid()
    try:
        orphans.lead_group()
        exit_with_process(connection.maker_pid())
        try:
            connection.recv()
        except EOFError:
            return 0
        target, argument = load()
        target(connection, argument)
        stray_forks.exit_if_forked(pid, "all")
    except SystemExit as exit:
        stray_forks.exit_if_forked(pid, "all")
        return _code(exit)
    except BaseException as error:
        stray_forks.exit_if_forked(pid, "all")
        text = traceback.format_exc()
        try:
            connection.send(("failed", PickledOrNone(error, dumps), text), timeout=FAILURE_TIMEOUT)
        except EOFError:
            # the parent has closed the connection and does not want to know
            pass
        except Exception:
            with contextlib.suppress(Exception):
                sys.stderr.write(text)
        return 1
    return 0


def exit_with_process(pid: int) -> None:
    """Makes this process end as soon as another one has ended.

    Raises:
        ProcessLookupError: the other process has ended already.
        OSError: there are too many threads.
    """
    # imported here, because the parent's side of this file needs nothing of the engine
    from parallel_pool._native import lib

    if lib.pp_worker_exit_with(pid) < 0:
        with contextlib.suppress(PermissionError):
            os.kill(pid, 0)
        raise OSError(
            errno.EAGAIN,
            f"can't start the thread that ends this process together with process {pid}, which"
            " started it: a higher limit of processes (ulimit -u) may help",
        )


def _code(exit: SystemExit) -> int:
    """Returns the exit code that Python gives to this exception."""
    if exit.code is None:
        return 0
    if isinstance(exit.code, int):
        return exit.code & 0xFF
    with contextlib.suppress(Exception):
        print(exit.code, file=sys.stderr)
    return 1


def exit_process(code: int) -> NoReturn:
    """Runs the exit handlers and ends this process without waiting for its threads."""
    try:
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()
        os._exit(code)


# ---------------------------------------------------------------------------- in a forked child --


def fork(body: Callable[[], NoReturn]) -> int:
    """Forks a child that runs only the body, which must end the process; returns its process id.

    The child has no exit handlers of this process and no buffered output to write.
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
                    reset_signals()
                    atexit._clear()
                    _forget_multiprocessing()
                    body()
            finally:
                # whatever happens, the child must not return into the parent's work
                if os.getpid() != parent:
                    os._exit(1)
    except BaseException:
        # Ctrl-C came while it was blocked: the caller will not learn of the child
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        raise
    return pid


def _forget_multiprocessing() -> None:
    """Makes this process forget the parent's multiprocessing children, which it must not end."""
    process, util = map(sys.modules.get, ("multiprocessing.process", "multiprocessing.util"))
    if process is not None and util is not None:
        with contextlib.suppress(AttributeError):
            process._children.clear()
            util._finalizer_registry.clear()
            atexit.register(util._exit_function)


def name_process(name: str) -> None:
    """Sets the name that lists of processes show; Linux keeps its first 15 bytes."""
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as file:
        file.write(name)


def detach_stdin() -> None:
    """Makes stdin empty: the parent's input, which may be its own source, is not for workers."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0, inheritable=True)
    os.close(null)
    with contextlib.suppress(Exception):
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)


def replace_streams(fds: Sequence[tuple[int, int]]) -> None:
    """Replaces stdout and stderr.

    Args:
        fds: pairs of a descriptor, which is closed, and of the descriptor that it replaces.
    """
    for fd, place in fds:
        os.dup2(fd, place, inheritable=True)
        os.close(fd)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=stream is sys.stderr or stream.isatty())


def freeze_heap() -> None:
    """Keeps the garbage collector from writing to, and so copying, pages shared with children."""
    gc.collect()
    gc.freeze()
