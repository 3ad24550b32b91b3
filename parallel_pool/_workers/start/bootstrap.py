"""Bootstrap: how a new process of this package starts and ends, for every start method."""

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
from typing import IO, TYPE_CHECKING, Any, NoReturn

from parallel_pool._workers.run import global_generators
from parallel_pool._workers.start import (
    affinity,
    anonymous_file,
    child_process,
    main_module,
    numpy_names,
    orphans,
    shared_objects,
    stray_forks,
)
from parallel_pool._workers.start.child_process import Ancestry
from parallel_pool._workers.start.connection import Connection, Dumps, PickledOrNone, to_parent
from parallel_pool._workers.start.shared_objects import Package

if TYPE_CHECKING:
    from parallel_pool._workers.start.interpreter import Interpreter

Load = Callable[[], tuple[Callable[[Connection, Any], None], Any]]

# seconds that a worker waits until its parent has read why the worker failed
FAILURE_TIMEOUT = 10.0

# What a new interpreter runs. Nothing may be imported before the parent's import path is in place,
# above all not from the current folder.
CODE = (
    "import sys;sys.flags.safe_path or sys.path.pop(0);"
    "import pickle;file=open({file},'rb');sys.path[:]=pickle.load(file);"
    "from {module} import main;main(file,{fds})"
)

# What another interpreter runs. It keeps its own import path, and finds this package alone in the
# given folder: beside the package are others, which are not for it.
OTHER_CODE = (
    "import sys;getattr(sys.flags,'safe_path',0) or sys.path.pop(0);"
    "import importlib.util as u,pickle;"
    "file=open({file},'rb');folder,path=pickle.load(file);sys.path+=path;"
    "s=u.spec_from_file_location('parallel_pool',folder+'/__init__.py',"
    "submodule_search_locations=[folder]);m=u.module_from_spec(s);"
    "sys.modules['parallel_pool']=m;s.loader.exec_module(m);"
    "from {module} import main;main(file,{fds})"
)

# ---------------------------------------------------------------------- in the parent process --


def pack(target: str, argument: Any, name: str, interpreter: Interpreter | None = None) -> Package:
    """Pickles a worker's ancestry, target and argument, for `main` to read after the state.

    Args:
        target, argument: see `launch.start`.
        name: of the worker.
        interpreter: another one that runs the worker.
    """
    package = Package()
    tracker = child_process.tracker_fd()
    index = None if tracker is None else package.duplicate_for_child(tracker)
    package.add_plain(child_process.ancestry(name, index))
    package.add_plain(target)
    if interpreter is None or interpreter.shares_code:
        package.add(argument)
    else:
        package.add_by_reference(argument)
    return package


def import_path() -> list[str]:
    """Returns this process's import path as a new process needs it.

    The current folder may have changed since a relative entry was used, so each is preceded by the
    folder that it meant when the program started, as in multiprocessing.
    """
    folder = child_process.original_folder()
    path = []
    for entry in sys.path:
        # Python ignores anything else
        if not isinstance(entry, str):
            continue
        if folder is not None and not os.path.isabs(entry):
            path.append(os.path.join(folder, entry) if entry else folder)
        path.append(entry)
    return path


def process_state(*, is_complete: bool) -> dict[str, Any]:
    """Returns what a new process takes over from this one.

    Args:
        is_complete: includes what a child of this process would inherit anyway.
    """
    state: dict[str, Any] = {"argv": list(sys.argv), "main": main_module.origin()}
    if is_complete:
        state["environ"] = dict(os.environ)
        state["cores"] = affinity.allowed_cores()
        # the current folder may have been removed
        with contextlib.suppress(OSError):
            state["folder"] = os.getcwd()
    return state


def state_of_other() -> dict[str, Any]:
    """Returns what a process of another interpreter takes over: nothing of the main module, whose
    imports it may lack."""
    main = main_module.Origin(frozenset(), None, None)
    return {"argv": list(sys.argv), "main": main, "is_other": True}


def other_path() -> tuple[str, list[str]]:
    """Returns what another interpreter needs to import: this package's folder, and folders that
    follow its own import path: the program's, and the current one."""
    package = os.path.dirname(os.path.abspath(sys.modules["parallel_pool"].__file__ or ""))
    return package, [*import_path()[:1], os.getcwd()]


@contextlib.contextmanager
def startup_file(*parts: bytes, path: object = None) -> Iterator[int]:
    """Makes a file without a name for a new process to read: the import path, then these pickles.

    Args:
        parts: the pickles.
        path: in place of `import_path`.

    Yields its descriptor, which is closed at the end of the with statement.

    Raises:
        OSError: there are too many files or there is too little memory.
    """
    fd = anonymous_file.create("parallel_pool startup")
    try:
        with open(fd, "wb", closefd=False) as file:
            for part in (pickle.dumps(path or import_path(), 5), *parts):
                file.write(part)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def run_python(
    module: str,
    file: int,
    fds: Sequence[int],
    name: str,
    interpreter: Interpreter | None = None,
    **options: Any,
) -> int:
    """Starts a Python interpreter that calls the module's `main`.

    The process inherits the descriptors and stderr. The caller must wait for it.

    Args:
        module: name of the module.
        file: descriptor of a `startup_file`.
        fds: descriptor of the process's end of its connection, then those of a `Package`.
        name: shown in lists of processes.
        interpreter: None for this process's own.
        options: those of `subprocess.Popen`.

    Returns:
        The process id.

    Raises:
        OSError: there are too many processes or there is too little memory.
        RuntimeError: `sys.executable` is empty, or is the program itself.
    """
    numbers = ",".join(map(str, fds))
    if interpreter is not None:
        code = OTHER_CODE.format(file=file, fds=numbers, module=module)
        command = [interpreter.path, "-c", code, name]
        return _run(command, (file, *fds), **options)
    if not sys.executable:
        raise RuntimeError(
            "sys.executable is empty, as in programs that embed Python: set it to a Python "
            "interpreter, or choose the start method 'fork'"
        )
    if getattr(sys, "frozen", False):
        raise RuntimeError(
            f"sys.frozen is true: {sys.executable!r} is the program itself, and no Python"
            " interpreter. Choose the start method 'fork' (context=\"fork\")"
        )
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    code = CODE.format(file=file, fds=numbers, module=module)
    return _run([sys.executable, *flags, "-c", code, name], (file, *fds), **options)


def _run(command: Sequence[str], fds: Sequence[int], **options: Any) -> int:
    with blocked({signal.SIGINT}):
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, pass_fds=tuple(fds), **options
        )
    # Other code waits for the process. Without a return code this object would warn when it is
    # deleted.
    process.returncode = 0
    return process.pid


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


def main(file: IO[bytes], fd: int, *fds: int) -> NoReturn:
    """Runs a worker that was not forked from its parent process.

    Args:
        file: a `startup_file`, of which the import path has been read.
        fd: the worker's end of the connection.
        fds: those of the `Package` in the file.
    """
    reset_signals()
    for own in fds:
        # programs that the environment starts must not keep the resource tracker running
        os.set_inheritable(own, False)
    shared_objects.inherit(fds)
    # stays open until the process ends, so that the parent gets EOFError only then
    connection = inherit_connection(fd, to_parent)

    def load() -> tuple[Callable[[Connection, Any], None], Any]:
        with file:
            apply_process_state(pickle.load(file))
            become(pickle.load(file), fds, connection)
            function = import_function(pickle.load(file))
            # what is loaded by now holds nothing to free or write at the end
            gc.freeze()
            return function, pickle.load(file)

    exit_process(run(connection, load, to_parent))


def become(ancestry: Ancestry, fds: Sequence[int], connection: Connection) -> None:
    """Makes this process a process of multiprocessing, with numbers of its own to draw."""
    child_process.become(ancestry, fds, connection.fileno())
    global_generators.diverge(ancestry.identity)


def inherit_connection(fd: int, dumps: Dumps) -> Connection:
    """Makes a connection of an inherited descriptor, which children do not inherit further."""
    os.set_inheritable(fd, False)
    return Connection(socket.socket(fileno=fd), dumps)


def import_function(target: str) -> Callable[[Connection, Any], None]:
    """Imports the function that "module:function" names."""
    module, _, name = target.partition(":")
    found: Callable[[Connection, Any], None] = getattr(importlib.import_module(module), name)
    return found


def apply_process_state(state: dict[str, Any]) -> None:
    """Takes over what `process_state` returned in another process."""
    sys.argv[:] = state["argv"]
    main_module.stand_in(state["main"])
    if "is_other" in state:
        numpy_names.understand()
        numpy_names.speak()
    if "environ" in state and state["environ"] != dict(os.environ):
        os.environ.clear()
        os.environ.update(state["environ"])
    if "folder" in state:
        os.chdir(state["folder"])
    if "cores" in state:
        affinity.restrict(state["cores"])


def reset_signals() -> None:
    """Removes inherited handlers and masks. Ignores Ctrl-C, which the parent process handles.

    A handler does so, which forked processes keep. Programs that environments start do not: they
    end by SIGINT, where they would inherit SIG_IGN.
    """
    signal.set_wakeup_fd(-1)
    # SIGINT keeps its handler until it gets the next: its default action would end the process
    for number in signal.valid_signals() - {signal.SIGINT}:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, _ignore)
    # system calls of C libraries go on after it, as far as the kernel can restart them
    signal.siginterrupt(signal.SIGINT, False)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _ignore(number: int, frame: object) -> None:
    pass


def run(connection: Connection, load: Load, dumps: Dumps) -> int:
    """Runs a worker's target; returns its exit code.

    From its start the worker ends when the parent process ends, whatever it is doing. It runs the
    target only after a message from the parent, which sends it once it has recorded the worker.
    Ctrl-C in the parent may come earlier, and nothing would ever end an unrecorded worker.

    An exception is sent to the parent as ("failed", exception, traceback as text), even one from
    importing the target or reading the argument. The exception is None if it can't be pickled.
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
        stray_forks.exit_if_forked(pid, "the worker's function")
    except SystemExit as exit:
        stray_forks.exit_if_forked(pid, "the worker's function")
        return _code(exit)
    except BaseException as error:
        stray_forks.exit_if_forked(pid, "the worker's function")
        text = traceback.format_exc()
        try:
            connection.send(("failed", PickledOrNone(error, dumps), text), timeout=FAILURE_TIMEOUT)
        except EOFError:
            # the parent has closed the connection: it needs no reason
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
    # imported here, because the parent process does not need the engine for this file
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
    """Frees what is left, runs the exit handlers, writes what files have buffered, and ends this
    process without waiting for its threads.

    No inherited object is freed, and no inherited file written: see `fork`.
    """
    pid = os.getpid()
    try:
        # First: of a text file in a cycle, the collector may close the binary file underneath
        # before the text is written to it.
        _flush()
        gc.collect()
        stray_forks.exit_if_forked(pid, "__del__")
        atexit._run_exitfuncs()
        stray_forks.exit_if_forked(pid, "an exit handler")
    except BaseException:
        traceback.print_exc()
    finally:
        _flush()
        os._exit(code)


def _flush() -> None:
    """Writes what open files have buffered, but not those that this process has inherited."""
    kinds = [io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom]
    # text first, as it is written to a binary file
    order = {own: at for at, kind in enumerate(kinds) for own in _with_subclasses(kind)}
    # not isinstance, which asks proxies for their class
    files: list[Any] = [own for own in gc.get_objects() if type(own) in order]
    files.sort(key=lambda own: order[type(own)])
    streams = [sys.stdout, sys.stderr, *files]
    for stream in streams:
        with contextlib.suppress(BaseException):
            stream.flush()


def _with_subclasses(kind: type) -> set[type]:
    return {kind}.union(*map(_with_subclasses, kind.__subclasses__()))


# ---------------------------------------------------------------------------- in a forked child --


def fork(body: Callable[[], NoReturn]) -> int:
    """Forks a child that runs only the body, which must end the process; returns its process id.

    The child has no exit handlers of this process and no buffered output to write. The garbage
    collector of the child leaves inherited objects alone, as their finalizers are the parent's.
    """
    flush_streams()
    parent = os.getpid()
    pid = 0
    try:
        with blocked(set(signal.valid_signals())):
            try:
                pid = os.fork()
                if not pid:
                    reset_signals()
                    forget_parent()
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


def flush_streams() -> None:
    """Writes what stdout and stderr have buffered, which a forked child would write again."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def forget_parent() -> None:
    """Leaves to the parent what a forked child has inherited: handlers, objects, children."""
    atexit._clear()
    gc.freeze()
    child_process.forget_children()


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
