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
from parallel_pool._workers.start.launch import ENDED, Worker

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
    """The thread and its data. It has no reference to the watcher, which can be deleted."""

    def __init__(self) -> None:
        # reentrant: the garbage collector may delete the watcher, and so stop this, at any point
        self._lock = threading.RLock()
        # by the polled descriptor, which is a copy: a worker may be closed at any time
        self._watched: dict[int, tuple[Worker, Callable[[], Callback | None]]] = {}
        self._thread: threading.Thread | None = None
        self._is_stopped = False
        self._epoll: select.epoll | None = None
        self._wakeup = -1

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
        assert self._epoll is not None
        fd = os.dup(worker.pidfd)
        self._watched[fd] = worker, _weak(callback)
        try:
            self._epoll.register(fd, ENDED)
        except BaseException:
            del self._watched[fd]
            os.close(fd)
            raise

    def _start_locked(self) -> None:
        if self._thread is not None:
            return
        if self._epoll is None:
            self._open_locked()
        thread = threading.Thread(target=self._run, name="pp-watcher", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # Python's own exception for EAGAIN
            raise OSError(errno.EAGAIN, str(error)) from error
        self._thread = thread

    def _open_locked(self) -> None:
        wakeup = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            epoll = select.epoll()
            epoll.register(wakeup, select.EPOLLIN)
        except BaseException:
            os.close(wakeup)
            raise
        self._wakeup, self._epoll = wakeup, epoll

    def remove(self, worker: Worker) -> None:
        with self._lock:
            for fd, (watched, _) in list(self._watched.items()):
                if watched is worker:
                    self._remove_locked(fd)

    def _remove_locked(self, fd: int) -> Callback | None:
        """Ends the watch over a descriptor; returns its callback if that is still wanted."""
        _, callback = self._watched.pop(fd)
        if self._epoll is not None:
            # closing the copy does not unregister it while the worker's own descriptor is open
            self._epoll.unregister(fd)
        os.close(fd)
        return callback()

    def stop(self) -> None:
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
            if self._thread is None:
                self._close_locked()
            else:
                os.eventfd_write(self._wakeup, 1)

    def join(self) -> None:
        thread = self._thread
        # when Python exits it freezes threads, which then never end
        if thread not in (None, threading.current_thread()) and not sys.is_finalizing():
            thread.join(CLOSE_TIMEOUT)

    def abandon(self) -> None:
        """Closes the descriptors without the lock, whose holder may not exist in this process."""
        self._close_locked()

    def _close_locked(self) -> None:
        for fd in self._watched:
            os.close(fd)
        self._watched.clear()
        if self._epoll is not None:
            self._epoll.close()
            os.close(self._wakeup)
            self._epoll = None

    def _run(self) -> None:
        # a signal that this thread received would not wake the main thread: Ctrl-C would be late
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - THREAD_SIGNALS)
        epoll = self._epoll
        assert epoll is not None
        try:
            while not self._is_stopped:
                for fd, _ in epoll.poll():
                    self._report(fd)
        finally:
            with self._lock:
                self._close_locked()

    def _report(self, fd: int) -> None:
        """Calls back for a process that has ended, if the callback is still wanted."""
        with self._lock:
            if self._is_stopped or fd not in self._watched:
                return
            worker = self._watched[fd][0]
            callback = self._remove_locked(fd)
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


def _weak(callback: Callback) -> Callable[[], Callback | None]:
    """Returns a function that returns the callback, or None once a method's object is gone."""
    if hasattr(callback, "__self__") and hasattr(callback, "__func__"):
        return weakref.WeakMethod(callback)
    return lambda: callback
