"""Profile: traces every pool that a script makes, without a change of the script."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parallel_pool._tracing import chrome, opened
from parallel_pool._tracing.record import CALLS, RECEIVER, SENDER, Record, clipped, clipped_names
from parallel_pool._tracing.report import Report
from parallel_pool._tracing.trace import MAX_SPANS, begin_shared

if TYPE_CHECKING:
    from parallel_pool._engine.base_pool import BasePool
    from parallel_pool._tracing.trace import Trace


def run(
    script: Path, arguments: Sequence[str], out: Path | None, max_spans: int = MAX_SPANS
) -> int:
    """Runs a script as `__main__` and prints a report of each pool that it has used.

    Args:
        script, arguments: as on a command line.
        out: file for the trace; those of further pools get numbers: trace-2.json.
        max_spans: of each pool, as for `BasePool.trace`.

    Returns:
        The exit status: 1 if a trace can't be written.

    Raises:
        BaseException: as the script; the reports are printed before.
    """
    status = 0
    traces: list[Trace] = []

    def trace(pool: BasePool) -> None:
        traces.append(begin_shared(pool.trace(max_spans=max_spans)))

    before, pid = (sys.argv, list(sys.path)), os.getpid()
    sys.argv = [str(script), *arguments]
    add_folder(script)
    opened.listeners.append(trace)
    try:
        # absolute, as `__file__` is that of a script that Python itself runs
        runpy.run_path(os.path.abspath(script), run_name="__main__")
    finally:
        opened.listeners.remove(trace)
        try:
            # a forked child of the script has nothing to report
            if os.getpid() == pid:
                for each in traces:
                    each.__exit__(None, None, None)
                records = [record for each in traces if (record := used(each.record)) is not None]
                status = show(records, out)
        finally:
            # not before: a report imports the classes of environments
            sys.argv, sys.path[:] = before
    return status


def add_folder(script: Path) -> None:
    """Puts a script's folder where Python would: in place of the current one, or nowhere with the
    option -P."""
    if not sys.flags.safe_path:
        sys.path[0] = str(script.resolve().parent)


def used(record: Record) -> Record | None:
    """Returns the time from the first call of a pool to the last; None if it was never used."""
    calls = record.of_kinds(CALLS, (RECEIVER, SENDER))
    if not len(calls):
        return None
    start, end = int(calls["start"].min()), int(calls["end"].max())
    share = (end - start) / max(1, record.end - record.start)
    return Record(
        record.setting,
        start,
        end,
        [clipped(np.array(track), start, end) for track in record.tracks],
        clipped_names(record.named, start, end),
        record.cpu_seconds * share,
        record.other_cpu_seconds * share,
        [wait * share for wait in record.core_waits],
        record.lost,
        record.is_cut,
        worker_cpu=[seconds * share for seconds in record.worker_cpu],
    )


def show(records: Sequence[Record], out: Path | None) -> int:
    """Prints reports, and writes the traces; returns the exit status, 1 if one can't be written."""
    status = 0
    if not records:
        print("parallel_pool profile: the script has stepped no pool", file=sys.stderr)
    for i, record in enumerate(records):
        print(f"\n{Report(record)}")
        if out is not None:
            path = out if i == 0 else out.with_stem(f"{out.stem}-{i + 1}")
            try:
                chrome.write(path, record)
            except OSError as error:
                # and what the script has raised goes on
                reason = error.strerror or error
                print(f"parallel_pool profile: --out can't be written: {reason}", file=sys.stderr)
                status = 1
            else:
                print(f"\n{path}: open it in ui.perfetto.dev")
    return status
