"""Run: one short run of the script in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parallel_pool._command import signals_wait
from parallel_pool._tuner.setting import Setting

# seconds that a script may take to step its first batch
START = 60.0
# seconds between two looks at the process
PERIOD = 0.05
# of the script's last output that a failure shows
SHOWN = 300


class Outcome(NamedTuple):
    """What a run has found.

    Attributes:
        rate: rows per second; 0 if it failed.
        error: why it failed, or "".
        facts: of the pool with the most steps; see `child`.
        seconds: that the run took in all.
    """

    rate: float
    error: str
    facts: Mapping[str, Any]
    seconds: float


class Script:
    """The script that is tuned, and how it is run.

    Attributes:
        path, arguments: as on a command line.
        seconds: measured in a run.
        skipped: seconds before, which do not count.
    """

    def __init__(
        self, path: Path, arguments: Sequence[str], seconds: float, skipped: float
    ) -> None:
        self.path, self.arguments = path, list(arguments)
        self.seconds, self.skipped = seconds, skipped

    def run(self, setting: Setting, *, asks: bool = False, limit: float = START) -> Outcome:
        """Runs it with a setting.

        Args:
            setting: what to change.
            asks: whether to ask for the trace's advice.
            limit: seconds beside those that are measured; then the process is killed.
        """
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="pp-tune-") as folder:
            out, log = Path(folder, "out.json"), Path(folder, "log.txt")
            request = {
                **setting.overrides(),
                "out": str(out),
                "seconds": self.seconds,
                "skipped": self.skipped,
                "asks": asks,
                "parent": os.getpid(),
            }
            Path(folder, "request.json").write_text(json.dumps(request))
            command = [sys.executable, "-m", "parallel_pool._tuner.child"]
            command += [str(Path(folder, "request.json")), str(self.path)]
            command += setting.arguments(self.arguments)
            process: subprocess.Popen[bytes] | None = None
            try:
                with log.open("wb") as output, signals_wait():
                    process = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        env=setting.environment(),
                        # what the script starts belongs to its group, and is ended with it
                        start_new_session=True,
                    )
                _wait(process, began + limit + self.seconds + self.skipped)
            finally:
                status = None if process is None else _end(process)
            found = json.loads(out.read_text()) if out.exists() else None
            return self._outcome(found, log, time.monotonic() - began, status)

    def _outcome(self, found: Any, log: Path, seconds: float, status: int | None) -> Outcome:
        if found and found["rate"] and not found["error"]:
            return Outcome(found["rate"], "", found, seconds)
        last = log.read_text(errors="replace").strip()[-SHOWN:]
        if found:
            error = found["error"] or "it stepped no pool of parallel_pool, or too few batches"
        elif status == -signal.SIGKILL:
            error = f"no result in {seconds:.0f} s"
        else:
            error = f"exit status {status}: {last}"
        return Outcome(0.0, error, found or {}, seconds)


def _wait(process: subprocess.Popen[bytes], deadline: float) -> None:
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(PERIOD)


def _end(process: subprocess.Popen[bytes]) -> int:
    """Ends the process and all of its group; returns its exit status."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()
