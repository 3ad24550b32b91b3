"""Trace: records what a pool, its threads or workers, and its caller do."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parallel_pool._native import ffi, lib, new_error, raise_error
from parallel_pool.arguments import check_count, shown
from parallel_pool.errors import StateError
from parallel_pool.tracing import chrome
from parallel_pool.tracing.record import SPAN, Record, Setting, UserSpan, clipped
from parallel_pool.tracing.report import Report

if TYPE_CHECKING:
    import os
    from typing import Self

    from parallel_pool._core import CData
    from parallel_pool.buffers import Array

# spans that are kept, 32 bytes each
MAX_SPANS = 2_000_000
# seconds between two looks at the tracks; the fullest takes longer to fill
PERIOD = 0.1
ROOM = 1 << 14


class Trace:
    """What a pool does while a `with` block runs, and what its caller does in between.

    `pool.trace()` makes one. After the block, `report` says where the time went, and `record` has
    all spans.
    """

    def __init__(
        self,
        handle: CData,
        setting: Setting,
        path: str | os.PathLike[str] | None,
        *,
        max_spans: int = MAX_SPANS,
    ) -> None:
        """
        Args:
            handle: the `pp_pool *`.
            setting: what is recorded of the pool.
            path, max_spans: as for `BasePool.trace`.
        """
        self._handle = handle
        self._setting = setting
        self._path = None if path is None else Path(path)
        self._max_spans = check_count("max_spans", max_spans, 1)
        if self._path is not None and not self._path.parent.is_dir():
            raise FileNotFoundError(
                f"path={shown(str(path))}: there is no folder {str(self._path.parent)!r}: make it"
            )
        self._named: list[UserSpan] = []
        self._parts: list[list[Array]] = []
        self._kept = 0
        self._lost = 0
        self._cut_at: int | None = None
        self._start, self._cpu = 0, 0.0
        self._stopped = threading.Event()
        self._reader = threading.Thread(target=self._read_on, name="pp-trace", daemon=True)
        self._record: Record | None = None
        self._error = new_error()
        self._spans = np.zeros(ROOM, SPAN)
        self._room = ffi.cast("pp_span *", ffi.from_buffer(self._spans))

    def __enter__(self) -> Self:
        if self._start:
            raise StateError("a trace records once: make another with pool.trace()")
        start = time.monotonic_ns()
        count = lib.pp_pool_trace_start(self._handle, self._error)
        if count < 0:
            raise_error(count, self._error)
        self._start, self._cpu = start, time.process_time()
        self._parts = [[] for _ in range(count)]
        self._lost = -self._read()
        self._reader.start()
        return self

    def __exit__(self, *exception: object) -> None:
        end = time.monotonic_ns()
        lib.pp_pool_trace_stop(self._handle)
        self._stopped.set()
        self._reader.join()
        self._lost += self._read()
        if self._cut_at is not None:
            end = min(end, self._cut_at)
        tracks = [
            clipped(np.concatenate([np.empty(0, SPAN), *parts]), self._start, end)
            for parts in self._parts
        ]
        named = [span for span in self._named if span.start < end]
        self._record = Record(
            self._setting,
            self._start,
            end,
            tracks,
            named,
            time.process_time() - self._cpu,
            self._lost,
            self._cut_at is not None,
        )
        if self._path is not None:
            chrome.write(self._path, self._record)

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
        """Moves spans out of the tracks until the trace ends."""
        while not self._stopped.wait(PERIOD):
            self._read()

    def _read(self) -> int:
        """Moves spans out of the tracks; returns how many have been lost since the pool was made.

        One thread at a time calls it: the reader's, or when that does not run the caller's.
        """
        lost = ffi.new("int64_t *")
        total = 0
        for i, parts in enumerate(self._parts):
            while True:
                args = (self._handle, i, self._room, ROOM, lost, self._error)
                count = lib.pp_pool_trace_read(*args)
                if count > 0 and self._cut_at is None:
                    parts.append(self._spans[:count].copy())
                    self._kept += count
                if count < ROOM:
                    break
            total += lost[0]
        if self._kept > self._max_spans and self._cut_at is None:
            # later spans are dropped; what is recorded up to here is whole
            self._cut_at = time.monotonic_ns()
        return total
