"""Child: runs the script in a process of its own, with overrides, and measures its pools.

`python -m parallel_pool._tuner.child REQUEST SCRIPT ...`

The request is JSON: the overrides; `asks`, whether the trace's advice is wanted; `parent`, the
process that tunes, with which this one ends, whatever it is doing; and two pipes, `asked` and
`tell`. It tells `{}` after the first steps of a pool. Then it is asked, a line at a time:

- `null`: it begins to measure, and answers `{}`;
- a list of intervals in which its processes ran, in nanoseconds of the monotonic clock, empty if
  they were never stopped: it answers what it has measured. `rate` is 0 and `error` says why if that
  is nothing.

The last line has `"has_ended": true`, and what was measured since the last beginning; if that is
nothing, what was measured before the first.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool._engine import overrides
from parallel_pool._native import lib
from parallel_pool._tracing import opened, profile
from parallel_pool._tracing.record import Record
from parallel_pool._tracing.report import Report
from parallel_pool._tracing.trace import begin_shared
from parallel_pool._tuner.pace import Pace, pace_in, pace_of
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._engine.base_pool import BasePool
    from parallel_pool._tracing.trace import Trace

# seconds between two looks at the pools, until the first steps
PERIOD = 0.02


@dataclass
class Traced:
    """A pool of the script.

    Attributes:
        pool: it.
        place: file and line of the script that made it.
        trace: of it, since it was made or measured anew.
        has_ended: whether that has.
    """

    pool: BasePool
    place: str
    trace: Trace
    has_ended: bool = False

    def end(self) -> None:
        """Ends the trace, unless it has ended."""
        if not self.has_ended:
            self.has_ended = True
            self.trace.__exit__(None, None, None)


class Watch:
    """Traces each pool of the script, and says how fast the one with the most steps is.

    The script need not end: its process is killed, and nothing that it does in `finally` or at its
    exit happens, as what it would write then is not wanted.
    """

    def __init__(self, request: dict[str, Any], script: str) -> None:
        self._asked_fd: int = request["asked"]
        self._tell_fd: int = request["tell"]
        for end in (self._asked_fd, self._tell_fd):
            # not for what the script starts
            os.set_inheritable(end, False)
        self._asks: bool = request["asks"]
        self._script = os.path.realpath(script)
        self._traced: list[Traced] = []
        # when it began to measure, and the traces until then
        self._began: int | None = None
        self._before: list[Traced] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="pp-tune", daemon=True)
        self._pid = os.getpid()

    def start(self) -> None:
        """Begins to watch."""
        opened.listeners.append(self._open)
        self._thread.start()

    def _open(self, pool: BasePool) -> None:
        self._traced.append(Traced(pool, self._place(), begin_shared(pool.trace())))

    def _place(self) -> str:
        """Returns the file and line of the script that makes a pool."""
        frame = sys._getframe(1)
        while frame is not None:
            if os.path.realpath(frame.f_code.co_filename) == self._script:
                return f"{os.path.basename(self._script)}:{frame.f_lineno}"
            frame = frame.f_back  # type: ignore[assignment]
        return "where the pool is made"

    def _run(self) -> None:
        while not any(each.trace.num_spans for each in list(self._traced)):
            time.sleep(PERIOD)
        self._tell({})
        with open(self._asked_fd) as asked:
            for line in asked:
                with self._lock:
                    self._answer(json.loads(line))

    def _answer(self, slices: Sequence[Sequence[int]] | None) -> None:
        """Answers a line; see above."""
        if slices is None:
            self._begin()
            self._tell({})
        else:
            self._tell(self._measured(self._traced, slices))

    def end(self, error: str) -> None:
        """Says what was measured, and ends the process."""
        if os.getpid() != self._pid:
            # in a forked child of the script
            return
        with self._lock:
            try:
                found = self._measured(self._traced, ())
                if not (found["rate"] or found["error"]):
                    # a short script had made its last step when it began to measure
                    before = self._measured(self._before, ())
                    found = before if before["rate"] else found
                self._tell({**found, "error": error or found["error"], "has_ended": True})
            except BaseException:
                traceback.print_exc()
            finally:
                # the script may have put anything in their place
                for stream in (sys.stdout, sys.stderr):
                    with contextlib.suppress(Exception):
                        stream.flush()
                os._exit(0)

    def _tell(self, found: dict[str, Any]) -> None:
        left = json.dumps(found).encode() + b"\n"
        # one that has ended reads nothing
        with contextlib.suppress(BrokenPipeError):
            while left:
                left = left[os.write(self._tell_fd, left) :]

    def _begin(self) -> None:
        """Begins to measure; advice needs the first traces, which the callers' threads began."""
        is_first = self._began is None
        self._began = time.monotonic_ns()
        if self._asks:
            return
        # a trace has room for so many steps only
        for each in list(self._traced):
            each.end()
            if is_first:
                self._before.append(replace(each))
            try:
                each.trace, each.has_ended = begin_shared(each.pool.trace()), False
            except StateError:
                # it has been closed
                self._traced.remove(each)

    def _measured(
        self, traced: Sequence[Traced], slices: Sequence[Sequence[int]]
    ) -> dict[str, Any]:
        """Returns the facts of the pool with the most steps; no rate if there is none."""
        reports: list[tuple[Report, str, Record]] = []
        for each in list(traced):
            each.end()
            record = profile.used(each.trace.record)
            if record is not None:
                reports.append((Report(record), each.place, each.trace.record))
        if not reports:
            return {"rate": 0.0, "error": ""}
        report, place, whole = max(reports, key=lambda found: found[0].steps)
        facts = {**_facts(report), "error": ""}
        wanted = overrides.num_workers
        keeps = wanted is not None and facts["count"] != min(wanted, facts["num_envs"])
        if keeps and facts["unit"] == "worker":
            # such as one whose resets are prepared
            return {**facts, "rate": 0.0, "error": f"the pool keeps {facts['count']} workers"}
        advice = report.advice if self._asks else None
        return {
            **facts,
            "place": place,
            "advice": advice.text if advice else "",
            "change": dict(advice.change) if advice else {},
            **_pace(whole, self._began, slices)._asdict(),
        }


def _pace(record: Record, began: int | None, slices: Sequence[Sequence[int]]) -> Pace:
    """Returns the pace in the slices, or since it began; that of all if there is no other."""
    if slices:
        return pace_in(record, slices)
    if began is None:
        return pace_of(record)
    pace = pace_in(record, [(began, record.end)])
    # a script that ends early has only its beginning
    return pace if pace.rate else pace_of(record)._replace(longest=pace.longest)


def _facts(report: Report) -> dict[str, Any]:
    """Returns what the search needs to know of a run."""
    setting = report.record.setting
    torch = sys.modules.get("torch")
    return {
        "unit": setting.unit,
        "count": 0 if setting.is_local else setting.num_threads,
        "choices": None if setting.choices is None else list(setting.choices),
        "num_envs": setting.num_envs,
        "cores": setting.cores,
        "outside": report.outside,
        "math_threads": torch.get_num_threads() if torch else None,
        "name": setting.name,
    }


def main(arguments: Sequence[str]) -> None:
    """Runs a script; see above."""
    request = json.loads(arguments[0])
    if lib.pp_worker_exit_with(request["parent"]) < 0:
        sys.exit(f"process {request['parent']} has ended, or too many threads run to wait for it")
    overrides.num_threads = request["num_threads"]
    overrides.num_workers = request["num_workers"]
    sys.argv = list(arguments[1:])
    profile.add_folder(Path(sys.argv[0]))
    watch = Watch(request, sys.argv[0])
    watch.start()
    try:
        # absolute, as `__file__` is that of a script that Python itself runs
        runpy.run_path(os.path.abspath(sys.argv[0]), run_name="__main__")
    except SystemExit as error:
        watch.end(f"the script exits: {error}" if error.code else "")
        # in a forked child of the script
        raise
    except BaseException as error:
        watch.end(f"{type(error).__name__}: {error}")
        raise
    watch.end("")


if __name__ == "__main__":
    main(sys.argv[1:])
