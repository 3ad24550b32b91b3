"""Watcher: tells of each worker process that ends, from a thread that sleeps until one does."""

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

from parallel_pool.workers.launch import ENDED, Worker

Callback = Callable[[Worker], None]

# seconds for the exit code to be known once a process has ended
NEWS = 5.0
# seconds that close waits for a callback that is running
PATIENCE = 1.0

# what a thread gets for a fault of its own must reach it, all else is for the main thread
OWN = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGPROF}


class Watcher:
    """Watches any number of workers with one thread, which starts with the first of them.

    The thread does not keep the watcher alive: one that is dropped ends it. Usable from any thread.
    A forked child's watcher watches nothing, and may start anew.
    """

    def __init__(self) -> None:
        self._round = _Round()
        self._is_closed = False
        self._end = weakref.finalize(self, self._round.stop)
        _watchers.add(self)

    def watch(self, worker: Worker, callback: Callback) -> None:
        """Has the callback called with the worker, in the watcher's thread, once it has ended.

        The exit code is known by then if it can be. A worker that has ended already counts. A bound
        method is held weakly: its object may go, and is not told then.

        Raises:
            ValueError: the watcher or the worker is closed.
            OSError: this process has too many files or threads.
        """
        if self._is_closed:
            raise ValueError("this watcher is closed")
        self._round.add(worker, callback)

    def unwatch(self, worker: Worker) -> None:
        """Has the callback not called any more; it may be running."""
        self._round.remove(worker)

    def close(self) -> None:
        """Ends the thread: no callback begins after this. Waits, not for long, for one that is
        running, unless it is the one that calls this."""
        self._is_closed = True
        self._end()
        self._round.join()

    def _start_anew(self) -> None:
        """In a forked child, where the thread is not."""
        self._end.detach()
        self._round.abandon()
        self._round = _Round()
        self._end = weakref.finalize(self, self._round.stop)


_watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()


def _forget() -> None:
    for watcher in list(_watchers):
        watcher._start_anew()


os.register_at_fork(after_in_child=_forget)


class _Round:
    """What the thread knows: nothing of the watcher, so that it can be dropped."""

    def __init__(self) -> None:
        # the garbage collector may drop the watcher, which stops this, whatever this is about
        self._lock = threading.RLock()
        # by the descriptor that is polled, a copy: a worker may be closed at any time
        self._watched: dict[int, tuple[Worker, Callable[[], Callback | None]]] = {}
        self._thread: threading.Thread | None = None
        self._is_stopped = False
        self._epoll: select.epoll | None = None
        self._bell = -1

    def add(self, worker: Worker, callback: Callback) -> None:
        with self._lock:
            if self._is_stopped:
                raise ValueError("this watcher is closed")
            if worker.pidfd < 0:
                raise ValueError(f"{worker!r} is closed: watch it before that")
            try:
                self._start_locked()
                self._add_locked(worker, callback)
            except OSError as error:
                raise OSError(
                    error.errno,
                    f"nobody can watch over worker process {worker.pid}: {error.strerror}; higher"
                    " limits of processes and files (ulimit -u -n) may help",
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
            # whatever Python made of it
            raise OSError(errno.EAGAIN, str(error)) from error
        self._thread = thread

    def _open_locked(self) -> None:
        bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            epoll = select.epoll()
            epoll.register(bell, select.EPOLLIN)
        except BaseException:
            os.close(bell)
            raise
        self._bell, self._epoll = bell, epoll

    def remove(self, worker: Worker) -> None:
        with self._lock:
            for fd, (watched, _) in list(self._watched.items()):
                if watched is worker:
                    self._drop_locked(fd)

    def _drop_locked(self, fd: int) -> Callback | None:
        """Polls a descriptor no more; returns whom to tell."""
        _, callback = self._watched.pop(fd)
        if self._epoll is not None:
            # the copy's closing does not do that while the worker's own is open
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
                os.eventfd_write(self._bell, 1)

    def join(self) -> None:
        thread = self._thread
        # when Python ends it freezes threads, which then do not answer
        if thread not in (None, threading.current_thread()) and not sys.is_finalizing():
            thread.join(PATIENCE)

    def abandon(self) -> None:
        """Closes descriptors, of which the lock's holder may be gone."""
        self._close_locked()

    def _close_locked(self) -> None:
        for fd in self._watched:
            os.close(fd)
        self._watched.clear()
        if self._epoll is not None:
            self._epoll.close()
            os.close(self._bell)
            self._epoll = None

    def _run(self) -> None:
        # what arrives here would not wake the main thread, and Ctrl-C would be late
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - OWN)
        epoll = self._epoll
        assert epoll is not None
        try:
            while not self._is_stopped:
                for fd, _ in epoll.poll():
                    self._tell(fd)
        finally:
            with self._lock:
                self._close_locked()

    def _tell(self, fd: int) -> None:
        """Calls back for a process that has ended, if anybody still wants it."""
        with self._lock:
            if self._is_stopped or fd not in self._watched:
                return
            worker = self._watched[fd][0]
            callback = self._drop_locked(fd)
        if callback is None:
            return
        try:
            worker.join(NEWS)
            callback(worker)
        except Exception:
            # one that fails does not end the watch over others
            args = threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread()))
            with contextlib.suppress(Exception):
                threading.excepthook(args)


def _weak(callback: Callback) -> Callable[[], Callback | None]:
    """Something that returns the callback for as long as it should be called."""
    if hasattr(callback, "__self__") and hasattr(callback, "__func__"):
        return weakref.WeakMethod(callback)
    return lambda: callback
