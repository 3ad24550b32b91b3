"""Child: runs the script in a process of its own, with overrides, until it has been measured.

It ends with the process that tunes, whatever it is doing.

`python -m parallel_pool._tuner.child REQUEST.json SCRIPT ...`
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool._engine import overrides
from parallel_pool._native import lib
from parallel_pool._tracing import opened, profile
from parallel_pool._tracing.record import Record
from parallel_pool._tracing.report import Report
from parallel_pool._tracing.trace import begin_shared
from parallel_pool._tuner.pace import Pace, pace_of

if TYPE_CHECKING:
    from parallel_pool._engine.base_pool import BasePool
    from parallel_pool._tracing.trace import Trace

# seconds between two looks at the pools
PERIOD = 0.02


class Watch:
    """Traces each pool of the script, and ends the process when one was stepped for long enough.

    The script need not end, and nothing that it does in `finally` or at its exit happens: what it
    would write then is not wanted.
    """

    def __init__(self, request: dict[str, Any], script: str) -> None:
        self._out = Path(request["out"])
        self._seconds: float = request["seconds"]
        self._skipped: float = request["skipped"]
        self._asks: bool = request["asks"]
        self._script = os.path.realpath(script)
        self._traces: list[tuple[BasePool, Trace, str]] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="pp-tune", daemon=True)
        self._pid = os.getpid()

    def start(self) -> None:
        """Begins to watch."""
        opened.listeners.append(self._open)
        self._thread.start()

    def _open(self, pool: BasePool) -> None:
        self._traces.append((pool, begin_shared(pool.trace()), self._place()))

    def _place(self) -> str:
        """Returns the file and line of the script that makes a pool."""
        frame = sys._getframe(1)
        while frame is not None:
            if os.path.realpath(frame.f_code.co_filename) == self._script:
                return f"{os.path.basename(self._script)}:{frame.f_lineno}"
            frame = frame.f_back  # type: ignore[assignment]
        return "where the pool is made"

    def _run(self) -> None:
        began = None
        while began is None or time.monotonic() < began + self._skipped + self._seconds:
            time.sleep(PERIOD)
            if began is None and any(trace.num_spans for _, trace, _ in list(self._traces)):
                began = time.monotonic()
        self.end("")

    def end(self, error: str) -> None:
        """Writes what was measured, and ends the process."""
        if os.getpid() != self._pid:
            # in a forked child of the script
            return
        with self._lock:
            try:
                found = self._measured()
                found["error"] = error or found.pop("refused", "")
                partial = self._out.with_suffix(".part")
                partial.write_text(json.dumps(found))
                partial.replace(self._out)
            except BaseException:
                traceback.print_exc()
            finally:
                # the script may have put anything in their place
                for stream in (sys.stdout, sys.stderr):
                    with contextlib.suppress(Exception):
                        stream.flush()
                os._exit(0)

    def _measured(self) -> dict[str, Any]:
        """Returns the facts of the pool with the most steps; no rate if there is none."""
        reports: list[tuple[Report, str, Record]] = []
        for _, trace, place in self._traces:
            trace.__exit__(None, None, None)
            record = profile.used(trace.record)
            if record is not None:
                reports.append((Report(record), place, trace.record))
        if not reports:
            return {"rate": 0.0}
        report, place, whole = max(reports, key=lambda found: found[0].steps)
        facts = _facts(report)
        wanted = overrides.num_workers
        keeps = wanted is not None and facts["count"] != min(wanted, facts["num_envs"])
        if keeps and facts["unit"] == "worker":
            # such as one whose resets are prepared
            return {**facts, "rate": 0.0, "refused": f"the pool keeps {facts['count']} workers"}
        advice = report.advice if self._asks else None
        return {
            **facts,
            "place": place,
            "advice": advice.text if advice else "",
            "change": dict(advice.change) if advice else {},
            **_pace(whole, self._skipped)._asdict(),
        }


def _pace(record: Record, skipped: float) -> Pace:
    pace = pace_of(record, skipped)
    # a script that ends early has only its beginning
    return pace if pace.rate else pace_of(record, 0.0)._replace(longest=pace.longest)


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
    request = json.loads(Path(arguments[0]).read_text())
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
