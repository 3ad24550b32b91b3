"""Watcher: reports each worker process that ends, from a thread that sleeps until one does."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import sys
import threading
import weakref
from collections.abc import Callable

from parallel_pool._engine.arguments import quote
from parallel_pool._workers.start import process_fd
from parallel_pool._workers.start.launch import Worker

Callback = Callable[[Worker], None]

# seconds for the exit code to be known once a process has ended
EXITCODE_TIMEOUT = 5.0
# seconds that close waits for a callback that is running
CLOSE_TIMEOUT = 1.0

# signals that a thread may get for what it did itself; all others are for the main thread
THREAD_SIGNALS = {
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGABRT,
    signal.SIGPROF,
}


class Watcher:
    """Watches any number of workers with one thread, which starts with the first of them.

    The thread does not keep the watcher alive: it ends when the watcher is deleted. Usable from any
    thread. In a forked child the watcher watches nothing, and can be used anew.
    """

    def __init__(self) -> None:
        self._thread = _WatchThread()
        self._is_closed = False
        self._end = weakref.finalize(self, self._thread.stop)
        _watchers.add(self)

    def watch(self, worker: Worker, callback: Callback) -> None:
        """Watches a worker: once it has ended, the watcher's thread calls the callback with it.

        By then the exit code is known, if it can be. A worker that has ended already is reported
        too. A bound method is referred to weakly: it is not called once its object is gone.

        Raises:
            ValueError: the watcher or the worker is closed.
            OSError: this process has too many files or threads.
        """
        if self._is_closed:
            raise ValueError("this watcher is closed")
        self._thread.add(worker, callback)

    def unwatch(self, worker: Worker) -> None:
        """Ends the watch over a worker. Its callback may be running."""
        self._thread.remove(worker)

    def close(self) -> None:
        """Ends the thread: no callback starts after this.

        Waits a second at most for a callback that is running, unless that calls this.
        """
        self._is_closed = True
        self._end()
        self._thread.join()

    def _reset(self) -> None:
        """Starts anew in a forked child, where the thread does not exist."""
        self._end.detach()
        self._thread.abandon()
        self._thread = _WatchThread()
        self._end = weakref.finalize(self, self._thread.stop)


_watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()


def _reset_after_fork() -> None:
    for watcher in list(_watchers):
        watcher._reset()


os.register_at_fork(after_in_child=_reset_after_fork)


class _WatchThread:
    """The thread and its data. It has no reference to the watcher, which can be deleted.

    The thread polls a copy of the set of descriptors, so a byte in a pipe wakes it when the set
    changes. A descriptor that is removed meanwhile stays open until the thread has woken: otherwise
    a new one could get its number, and an event of the former would be taken for one of the new.

    The lock is not held during a poll, nor during a callback. A callback may add and remove; what
    the same poll has reported besides is then looked up again, and no number has been used anew.
    """

    def __init__(self) -> None:
        # reentrant: the garbage collector may delete the watcher, and so stop this, at any point,
        # or delete a pool, which unwatches its workers
        self._lock = threading.RLock()
        # by the polled descriptor, which is a copy: a worker may be closed at any time
        self._watched: dict[int, tuple[Worker, Callable[[], Callback | None]]] = {}
        # copies that are no longer watched, which the thread closes before it polls again
        self._retired: list[int] = []
        self._thread: threading.Thread | None = None
        self._is_stopped = False
        # the ends of the pipe that wakes the thread; none before the first start and after the end
        self._pipe: tuple[int, int] | None = None

    def add(self, worker: Worker, callback: Callback) -> None:
        with self._lock:
            if self._is_stopped:
                raise ValueError("this watcher is closed")
            if worker.pidfd < 0:
                raise ValueError(f"{quote(worker)} is closed: watch it before it is closed")
            try:
                self._start_locked()
                self._add_locked(worker, callback)
            except OSError as error:
                raise OSError(
                    error.errno,
                    f"can't watch worker process {worker.pid}: {error.strerror}; higher limits of"
                    " processes and files (ulimit -u -n) may help",
                ) from error

    def _add_locked(self, worker: Worker, callback: Callback) -> None:
        fd = os.dup(worker.pidfd)
        try:
            self._watched[fd] = worker, _weak(callback)
            self._wake_locked()
        except BaseException:
            # the thread has not seen it yet, as it copies the set under the lock
            self._watched.pop(fd, None)
            process_fd.close(fd)
            raise

    def _start_locked(self) -> None:
        if self._thread is not None and self._pipe is not None:
            return
        if self._pipe is None:
            self._pipe = _open_pipe()
        thread = threading.Thread(target=self._run, name="pp-watcher", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # Python's own exception for EAGAIN
            raise OSError(errno.EAGAIN, str(error)) from error
        self._thread = thread

    def _wake_locked(self) -> None:
        """Makes the thread poll the present set."""
        if self._pipe is not None:
            # if the pipe is full, the thread is about to wake
            with contextlib.suppress(BlockingIOError):
                os.write(self._pipe[1], b"\0")

    def remove(self, worker: Worker) -> None:
        with self._lock:
            for fd, (watched, _) in list(self._watched.items()):
                if watched is worker:
                    del self._watched[fd]
                    self._retired.append(fd)
                    self._wake_locked()

    def stop(self) -> None:
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
            if self._thread is None:
                self._close_locked()
            else:
                self._wake_locked()

    def join(self) -> None:
        thread = self._thread
        # when Python exits it freezes threads, which then never end
        if thread not in (None, threading.current_thread()) and not sys.is_finalizing():
            thread.join(CLOSE_TIMEOUT)

    def abandon(self) -> None:
        """Closes the descriptors without the lock, whose holder may not exist in this process."""
        self._close_locked()

    def _close_locked(self) -> None:
        self._retired += self._watched
        self._watched.clear()
        if self._pipe is not None:
            self._retired += self._pipe
            self._pipe = None
        self._close_retired_locked()

    def _close_retired_locked(self) -> None:
        while self._retired:
            # Taken first. If another thread forks in between, the child keeps a descriptor; the
            # other way round, it would close one twice, and so perhaps one of somebody else.
            process_fd.close(self._retired.pop())

    def _run(self) -> None:
        # a signal that this thread received would not wake the main thread: Ctrl-C would be late
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - THREAD_SIGNALS)
        try:
            while (poll := self._next_poll()) is not None:
                for fd, events in poll.poll():
                    self._handle(fd, events)
        finally:
            with self._lock:
                self._close_locked()

    def _next_poll(self) -> select.poll | None:
        """Returns a poll of the present set; None once the thread must end."""
        with self._lock:
            if self._is_stopped or self._pipe is None:
                return None
            self._close_retired_locked()
            poll = select.poll()
            poll.register(self._pipe[0], select.POLLIN)
            # a list: the garbage collector may remove some in the meantime, which stay open
            for fd in list(self._watched):
                poll.register(fd, process_fd.ENDED)
            return poll

    def _handle(self, fd: int, events: int) -> None:
        """Calls back for a process that has ended, if the callback is still wanted."""
        with self._lock:
            if self._is_stopped or self._pipe is None:
                return
            if fd == self._pipe[0]:
                self._drain_locked(events)
                return
            if fd not in self._watched:
                return
            worker, callback_or_none = self._watched.pop(fd)
            if events & select.POLLNVAL:
                # other code has closed the descriptor: nothing is known about the process
                return
            self._retired.append(fd)
            callback = callback_or_none()
        if callback is None:
            return
        try:
            worker.join(EXITCODE_TIMEOUT)
            callback(worker)
        except Exception:
            # a callback that fails must not end the watch over the other workers
            args = threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread()))
            with contextlib.suppress(Exception):
                threading.excepthook(args)

    def _drain_locked(self, events: int) -> None:
        assert self._pipe is not None
        if events & select.POLLNVAL:
            # other code has closed it: the thread ends, as it would find that again and again
            self._is_stopped = True
            return
        with contextlib.suppress(BlockingIOError):
            os.read(self._pipe[0], 4096)


def _open_pipe() -> tuple[int, int]:
    """Returns the ends of a pipe that blocks neither its reader nor its writer."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    return reader, writer


def _weak(callback: Callback) -> Callable[[], Callback | None]:
    """Returns a function that returns the callback, or None once a method's object is gone."""
    if hasattr(callback, "__self__") and hasattr(callback, "__func__"):
        return weakref.WeakMethod(callback)
    return lambda: callback
