"""Child process: makes a worker a process of `multiprocessing`, with a name, a number and a parent.

Environments expect that. They number ports, displays and GPUs by the number, they use managers,
which ask for the program's key, and they attach to shared memory, which the program's resource
tracker must know.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import multiprocessing
import os
import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import process, resource_tracker, spawn, util
from typing import Any

from parallel_pool._workers.start import process_fd

# most of what is needed here is private; it has been the same since Python 3.9
_process: Any = process
_util: Any = util
_tracker: Any = resource_tracker


@dataclass(frozen=True)
class Ancestry:
    """What a worker needs to know to be a process of `multiprocessing`.

    Attributes:
        name: of the worker.
        identity: its number, which follows those of the processes that started its parent.
        parent_name, parent_pid: of the process that starts it.
        authkey: the program's key for managers and other listeners.
        config: what multiprocessing hands down besides.
        start_method: multiprocessing's own, if the program has chosen one.
        folder: the one in which the program started; None if that was removed.
        tracker: index of the resource tracker's descriptor among those that the worker inherits;
            None: it has inherited the tracker's object, or there is none.
    """

    name: str
    identity: tuple[int, ...]
    parent_name: str
    parent_pid: int
    authkey: bytes = field(repr=False)
    config: dict[str, str]
    start_method: str | None
    folder: str | None
    tracker: int | None = None


# ---------------------------------------------------------------------- in the parent process --


def ancestry(name: str, tracker: int | None = None) -> Ancestry:
    """Returns the ancestry of a worker, with the next number of this process's children.

    Args:
        name: of the worker.
        tracker: see `Ancestry`.
    """
    own = _process.current_process()
    # a daemon of multiprocessing may have no children; a worker may
    config = {
        key: value
        for key, value in own._config.items()
        if isinstance(value, str) and key != "daemon"
    }
    return Ancestry(
        name=name,
        identity=(*own._identity, next(_process._process_counter)),
        parent_name=own.name,
        parent_pid=os.getpid(),
        authkey=bytes(own.authkey),
        config=config,
        start_method=multiprocessing.get_start_method(allow_none=True),
        folder=_process.ORIGINAL_DIR,
        tracker=tracker,
    )


def original_folder() -> str | None:
    """Returns the folder in which the program started; None if that was removed."""
    folder: str | None = _process.ORIGINAL_DIR
    return folder


def tracker_fd() -> int | None:
    """Returns the descriptor of the program's resource tracker, which is started if necessary.

    Shared memory that a worker attaches to would be destroyed with the worker if it had a tracker
    of its own. Returns None if none can be started; then a worker that needs one starts its own.
    """
    if not spawn.get_executable() or getattr(sys, "frozen", False):
        return None
    with contextlib.suppress(Exception):
        return resource_tracker.getfd()
    return None


# ------------------------------------------------------------------------------ in the worker --


def tracker_pid() -> int | None:
    """Returns the process id of the resource tracker that this process has started; None: none."""
    pid: int | None = getattr(_tracker._resource_tracker, "_pid", None)
    return pid


class WorkerProcess(multiprocessing.Process):
    """A worker process, as `multiprocessing.current_process` returns it there."""

    def __init__(self, own: Ancestry) -> None:
        super().__init__(name=own.name)
        there: Any = self
        there._identity = own.identity
        there._parent_pid, there._parent_name = own.parent_pid, own.parent_name
        key = _process.AuthenticationString(own.authkey)
        there._config = {**own.config, "authkey": key}


class Parent(_process._ParentProcess):  # type: ignore[misc]
    """A worker's parent, as `multiprocessing.parent_process` returns it there."""

    def __init__(self, own: Ancestry, connection: int) -> None:
        super().__init__(own.parent_name, own.parent_pid, None)
        del self._sentinel
        self._connection = connection

    @functools.cached_property
    def _sentinel(self) -> int:
        """A descriptor that becomes readable when the parent ends; opened when it is needed."""
        # a connection hangs up then; once the environments are made, no message arrives
        try:
            fd = process_fd.create(self._pid, self._connection)
        except OSError:
            fd = os.dup(self._connection)
        weakref.finalize(self, os.close, fd).atexit = False
        return fd


def become(own: Ancestry, fds: Sequence[int], connection: int) -> None:
    """Makes this process the process of `multiprocessing` that the ancestry describes.

    Does what multiprocessing does in each of its new processes.

    Args:
        own: the ancestry.
        fds: descriptors that this process was given.
        connection: descriptor of the connection to the parent.
    """
    if own.start_method is not None:
        multiprocessing.set_start_method(own.start_method, force=True)
    _process.ORIGINAL_DIR = own.folder
    _process._current_process = WorkerProcess(own)
    _process._parent_process = Parent(own, connection)
    _process._process_counter = itertools.count(1)
    _process._children = set()
    if own.tracker is not None:
        _tracker._resource_tracker._fd = fds[own.tracker]
        _tracker._resource_tracker._pid = None
    # a forked process has the parent's connections to managers, and threads of queues that no
    # longer run
    _util._run_after_forkers()


def forget_children() -> None:
    """Makes a forked process forget its parent's processes and finalizers, which it must not end.

    It runs multiprocessing's own exit handler, of which it must have none before.
    """
    _process._children.clear()
    _util._finalizer_registry.clear()
    atexit.register(_util._exit_function)
