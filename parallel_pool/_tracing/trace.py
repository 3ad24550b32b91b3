"""Trace: records what a pool, its threads or workers, and its caller do."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from parallel_pool._engine.arguments import check_count, quote
from parallel_pool._engine.outputs import check_file
from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import ffi, lib, new_error, raise_error
from parallel_pool._tracing import chrome
from parallel_pool._tracing.core_waits import CoreWaits, cpu_of
from parallel_pool._tracing.record import (
    SENDER,
    SPAN,
    Record,
    Setting,
    UserSpan,
    clipped,
    clipped_names,
    written_by_worker,
)
from parallel_pool._tracing.report import Report
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from typing import Self

    from parallel_pool._core import CData
    from parallel_pool._engine.buffers import Array

# spans that are kept, 32 bytes each
MAX_SPANS = 2_000_000
# seconds between two looks at the tracks; the fullest takes longer to fill
PERIOD = 0.1
ROOM = 1 << 14


def _checked(path: str | os.PathLike[str]) -> Path:
    """Returns the absolute path of a trace: the program may go to another folder before its end."""
    given = Path(os.fsdecode(path))
    try:
        check_file(given)
        return given.absolute()
    except (OSError, ValueError) as error:
        raise type(error)(f"path={quote(os.fsdecode(path))}: {error}") from None


def warn_beside(error: BaseException, text: str) -> None:
    """Warns of a failure that came after an exception, which the program must see all the same."""
    error.add_note(text)
    # a filter may turn the warning into an exception
    with contextlib.suppress(RuntimeWarning):
        warnings.warn(text, RuntimeWarning, stacklevel=3)


class Trace:
    """What a pool does while a `with` block runs, and what its caller does in between.

    `pool.trace()` makes one. After the block, `report` says where the time went, and `record` has
    all spans.

    Attributes:
        num_spans: spans that it has kept so far; it lags behind by a tenth of a second.
    """

    def __init__(
        self,
        handle: CData,
        lock: threading.Lock,
        setting: Setting,
        workers: Callable[[], Sequence[int | None]],
        path: str | os.PathLike[str] | None,
        *,
        max_spans: int = MAX_SPANS,
    ) -> None:
        """
        Args:
            handle: the `pp_pool *`.
            lock: of the pool, held by its running trace.
            setting: what is recorded of the pool.
            workers: as for `CoreWaits`.
            path, max_spans: as for `BasePool.trace`.
        """
        self._handle = handle
        self._lock = lock
        self._pid = 0
        self._setting = setting
        self._path = None if path is None else _checked(path)
        self._max_spans = check_count("max_spans", max_spans, 1)
        self._named: list[UserSpan] = []
        self._parts: list[list[Array]] = []
        self.num_spans = 0
        # of each track, when the trace began
        self._lost: list[int] = []
        # tracks that a worker process has written over
        self._damaged: set[int] = set()
        self._cut_at: int | None = None
        self._start, self._cpu, self._own_cpu = 0, 0.0, 0.0
        self._core_waits = CoreWaits(workers)
        self._worker_cpu = CoreWaits(workers, cpu_of)
        self._thread = 0
        self._stopped = threading.Event()
        self._reader = threading.Thread(target=self._read_on, name="pp-trace", daemon=True)
        self._record: Record | None = None
        # the trace of a whole script, of which this is a part; and held by such a part
        self._host: Trace | None = None
        self._part = threading.Lock()
        # of each track, and when they were read, at the last time that all were
        self._lost_by_now: list[int] = []
        self._read_at = 0
        self._error = new_error()
        self._spans = np.zeros(ROOM, SPAN)
        self._room = ffi.cast("pp_span *", ffi.from_buffer(self._spans))

    def __enter__(self) -> Self:
        if self._start:
            raise StateError("a trace records once: make another with pool.trace()")
        if not self._lock.acquire(blocking=False):
            host = _shared.get(self._lock)
            is_here = host is not None and host._pid == os.getpid()
            if host is None or not is_here or not host._part.acquire(blocking=False):
                raise StateError("another trace of this pool is running: let it end first")
            self._begin_within(host)
            return self
        try:
            self._core_waits.begin()
            self._worker_cpu.begin()
            start = time.monotonic_ns()
            count = lib.pp_pool_trace_start(self._handle, self._error)
            if count < 0:
                raise_error(count, self._error)
            self._parts = [[] for _ in range(count)]
            # what a former trace has left is not part of this one
            self._lost = self._read()
            self._parts = [[] for _ in range(count)]
            self.num_spans, self._cut_at = 0, None
            self._damaged.clear()
            self._reader.start()
        except BaseException:
            lib.pp_pool_trace_stop(self._handle)
            self._lock.release()
            raise
        self._note_start(start)
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if os.getpid() != self._pid:
            # in a forked child: tracks and file are the parent's, and the reader does not run
            return
        try:
            self._end(time.monotonic_ns())
        except Exception as failure:
            if error is None:
                raise
            warn_beside(error, f"The trace could not be written: {failure}")

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Trace holds its pool's memory and a thread, and can't be copied or pickled: take"
            " trace.record or trace.report()"
        )

    def _note_start(self, start: int) -> None:
        self._pid = os.getpid()
        self._thread = threading.get_ident()
        self._start, self._cpu, self._own_cpu = start, time.process_time(), time.thread_time()

    def _begin_within(self, host: Trace) -> None:
        """Begins a part of another trace, which reads the tracks."""
        try:
            self._core_waits.begin()
            self._worker_cpu.begin()
            self._lost = list(host._lost_by_now)
        except BaseException:
            host._part.release()
            raise
        self._host = host
        self._note_start(time.monotonic_ns())

    def _end_within(self, host: Trace, end: int) -> list[int]:
        """Ends a part of another trace; takes its spans, and returns what tracks have lost."""
        try:
            # the last read of a closed pool has all that there is
            while host._reader.is_alive() and host._read_at < end:
                time.sleep(PERIOD / 10)
            self._core_waits.look()
            self._worker_cpu.look()
            ended = host._record
            self._parts = [[track] for track in ended.tracks] if ended else list(host._parts)
            self._damaged, self._cut_at = set(host._damaged), host._cut_at
            self.num_spans = sum(len(spans) for parts in self._parts for spans in parts)
            return list(host._lost_by_now)
        finally:
            host._part.release()

    def _end(self, end: int) -> None:
        """Ends the trace at a time, and writes its file."""
        if self._host is not None:
            lost = self._end_within(self._host, end)
        else:
            try:
                lib.pp_pool_trace_stop(self._handle)
                self._stopped.set()
                self._reader.join()
                lost = self._read()
            finally:
                _shared.pop(self._lock, None)
                self._lock.release()
        self._record = self._recorded(end, lost)
        # the spans and the pool need not live as long as the report
        self._parts, self._handle, self._host = [], ffi.NULL, None
        if self._path is not None:
            chrome.write(self._path, self._record)

    def _recorded(self, end: int, lost: Sequence[int]) -> Record:
        """Returns the record; lost: of each track, when the trace ended."""
        if self._cut_at is not None:
            end = min(end, self._cut_at)
        tracks = [
            clipped(np.concatenate([np.empty(0, SPAN), *parts]), self._start, end)
            for parts in self._parts
        ]
        if self._setting.in_processes:
            num_envs = self._setting.num_envs
            workers = tracks[SENDER + 1 :]
            tracks[SENDER + 1 :] = [written_by_worker(spans, num_envs) for spans in workers]
        cpu = time.process_time() - self._cpu
        # another thread than the first may end the trace
        is_same = self._thread == threading.get_ident()
        own = time.thread_time() - self._own_cpu if is_same else cpu
        dropped = sum(
            after - before
            for i, (before, after) in enumerate(zip(self._lost, lost, strict=True))
            if i not in self._damaged
        )
        return Record(
            self._setting,
            self._start,
            end,
            tracks,
            clipped_names(self._named, self._start, end),
            cpu,
            max(0.0, cpu - own),
            self._core_waits.seconds,
            dropped + len(self._damaged),
            self.is_cut,
            worker_cpu=self._worker_cpu.seconds,
        )

    @property
    def is_cut(self) -> bool:
        """Whether it has as many spans as it may, and keeps no more."""
        return self._cut_at is not None

    @property
    def record(self) -> Record:
        """The spans, once the block has ended; raises StateError before."""
        if self._record is None:
            raise StateError("the trace has not ended: leave its `with` block first")
        return self._record

    def report(self) -> Report:
        """Returns where the time went: `print(trace.report())`.

        Raises:
            StateError: the `with` block has not ended.
        """
        return Report(self.record)

    @contextlib.contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Names a part of the caller's own time: `with trace.span("learn"): ...`."""
        start = time.monotonic_ns()
        try:
            yield
        finally:
            end = time.monotonic_ns()
            if self._start and self._record is None:
                self._named.append(UserSpan(str(name), start, end, threading.get_ident()))

    # ------------------------------------------------------------------------------- private --

    def _read_on(self) -> None:
        """Moves spans out of the tracks until the trace ends or the pool is closed."""
        is_closed = False
        while not is_closed and not self._stopped.wait(PERIOD):
            is_closed = lib.pp_pool_needs_reset(self._handle, 0) == lib.PP_ERR_CLOSED
            self._read()

    def _read(self) -> list[int]:
        """Moves spans out of the tracks; returns how many each has lost since the pool was made.

        One thread at a time calls it: the reader's, or when that does not run the caller's.
        """
        lost = ffi.new("int64_t[]", len(self._parts))
        self._core_waits.look()
        self._worker_cpu.look()
        # a span that ends later may be missing, as its track may have been read before
        began = time.monotonic_ns()
        for i, parts in enumerate(self._parts):
            while True:
                args = (self._handle, i, self._room, ROOM, lost + i, self._error)
                count = lib.pp_pool_trace_read(*args)
                if count > 0 and self._cut_at is None:
                    parts.append(self._spans[:count].copy())
                    self.num_spans += count
                if count < 0:
                    self._damaged.add(i)
                if count < ROOM:
                    break
        if self.num_spans > self._max_spans and self._cut_at is None:
            # later spans are dropped; what is recorded up to here is whole
            self._cut_at = began
        self._lost_by_now, self._read_at = list(lost), began
        return list(lost)


# the running traces of whole scripts, by the lock of their pool
_shared: weakref.WeakKeyDictionary[threading.Lock, Trace] = weakref.WeakKeyDictionary()


def begin_shared(trace: Trace) -> Trace:
    """Begins a trace of a whole script, which may trace the same pool itself; returns the trace.

    One such trace of the script's at a time takes its spans from this one.
    """
    trace.__enter__()
    _shared[trace._lock] = trace
    return trace
