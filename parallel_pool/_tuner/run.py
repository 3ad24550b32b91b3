"""Run: one short run of the script, alone on the machine."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parallel_pool._tuner.running import EndedError, Running
from parallel_pool._tuner.setting import Setting

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
    """

    def __init__(
        self, path: Path, arguments: Sequence[str], seconds: float, skipped: float
    ) -> None:
        self.path, self.arguments = path, list(arguments)
        self.seconds, self.skipped = seconds, skipped

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
        began = time.monotonic()
        deadline = began + limit + self.skipped + self.seconds
        memory = 0
        with contextlib.closing(self.start(setting, asks=asks)) as running:
            found: dict[str, Any] | None
            try:
                running.warm_up(self.skipped, deadline)
                running.begin(deadline)
                running.let(self.seconds)
                memory = running.memory()
                found = running.end((), deadline)
            except EndedError as error:
                found = error.facts
        return outcome(running, found, time.monotonic() - began)._replace(memory=memory)


def outcome(running: Running, found: Mapping[str, Any] | None, seconds: float) -> Outcome:
    """Returns what a run has found that is closed.

    Args:
        running: the run.
        found: what its process said.
        seconds: that it took.
    """
    if found and found["rate"] and not found["error"]:
        return Outcome(found["rate"], "", found, seconds)
    if found:
        error = found["error"] or "it stepped no pool of parallel_pool, or too few batches"
    elif running.status == -signal.SIGKILL:
        error = f"no result in {seconds:.0f} s"
    else:
        error = f"exit status {running.status}: {running.last_words}"
    return Outcome(0.0, error, found or {}, seconds)
