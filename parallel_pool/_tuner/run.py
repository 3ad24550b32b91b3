"""Run: one short run of the script, alone on the machine."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parallel_pool._tuner.running import EndedError, Running
from parallel_pool._tuner.setting import Setting, numbers_of

# seconds that a script may take to step its first batch
START = 60.0


class Outcome(NamedTuple):
    """What a run has found.

    Attributes:
        rate: rows per second; 0 if it failed.
        error: why it failed, or "".
        facts: of the pool with the most steps; see `child`.
        seconds: that the run took in all.
        memory: bytes that its processes had at the end; 0 if that isn't known.
    """

    rate: float
    error: str
    facts: Mapping[str, Any]
    seconds: float
    memory: int = 0


class Script:
    """The script that is tuned, and how it is run.

    Attributes:
        path, arguments: as on a command line.
        seconds: measured in a run.
        skipped: seconds before, which do not count.
        has_cycles: whether a learner pauses the steps.
    """

    def __init__(
        self, path: Path, arguments: Sequence[str], seconds: float, skipped: float
    ) -> None:
        self.path, self.arguments = path, list(arguments)
        self.seconds, self.skipped = seconds, skipped
        self.has_cycles = False

    def seconds_of(self, setting: Setting) -> float:
        """Returns for how many seconds a setting is measured: longer if its cycles are longer."""
        now = numbers_of(self.arguments)
        times = math.prod(value / now[name] for name, value in setting.numbers)
        return self.seconds * (max(1.0, times) if self.has_cycles else 1.0)

    def start(self, setting: Setting, *, asks: bool = False) -> Running:
        """Starts it with a setting; `asks`: as for `Running`."""
        return Running(self.path, self.arguments, setting, asks=asks)

    def run(self, setting: Setting, *, asks: bool = False, limit: float = START) -> Outcome:
        """Runs it with a setting.

        Args:
            setting: what to change.
            asks: whether to ask for the trace's advice.
            limit: seconds beside those that are measured; then the process is killed.
        """
        began, seconds = time.monotonic(), self.seconds_of(setting)
        deadline = began + limit + self.skipped + seconds
        memory = 0
        with contextlib.closing(self.start(setting, asks=asks)) as running:
            found: dict[str, Any] | None
            try:
                running.warm_up(self.skipped, deadline)
                running.begin(deadline)
                running.let(seconds)
                memory = running.look()
                found = running.end((), deadline)
            except EndedError as error:
                found = error.facts
        return _outcome(running, found, time.monotonic() - began)._replace(memory=memory)


def _outcome(running: Running, found: Mapping[str, Any] | None, seconds: float) -> Outcome:
    """Returns what a run has found that took so many seconds."""
    if found and found["rate"] and not found["error"]:
        return Outcome(found["rate"], "", found, seconds)
    if found:
        error = found["error"] or "it stepped no pool of parallel_pool, or too few batches"
    elif running.status == -signal.SIGKILL:
        error = f"no result in {seconds:.0f} s"
    else:
        error = f"exit status {running.status}: {running.last_words}"
    return Outcome(0.0, error, found or {}, seconds)
