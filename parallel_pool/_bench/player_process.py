"""The process that a `PlayerProxy` starts: `python -m ...player_process MODULE NAME TASK`.

The module, when it is imported, registers the function that makes the player.

The player's worker processes are stopped between two plays. So steps in flight make no progress,
and workers that wait by spinning use no core while others play.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from parallel_pool._bench.contender import Task, maker
from parallel_pool._bench.json_lines import only_json


@contextmanager
def running(pids: Sequence[int]) -> Iterator[None]:
    """Lets stopped processes run inside the block."""
    signal_all(pids, signal.SIGCONT)
    try:
        yield
    finally:
        signal_all(pids, signal.SIGSTOP)


def signal_all(pids: Sequence[int], number: int) -> None:
    """Sends a signal to processes; some may have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def serve(module: str, name: str, task: str, *, send: Callable[[dict[str, Any]], None]) -> None:
    """Makes a player; then plays, for each line of stdin, the number of batches in it."""
    importlib.import_module(module)
    player = maker(name)(Task(**json.loads(task)))
    workers = list(player.children)
    try:
        signal_all(workers, signal.SIGSTOP)
        send({"children": workers})
        for line in sys.stdin:
            with running(workers):
                steps = player.play(int(line))
            send({"steps": steps})
    finally:
        signal_all(workers, signal.SIGCONT)
        player.close()


if __name__ == "__main__":
    # as `python -m benchmarks` ignores them
    warnings.filterwarnings("ignore", module="gymnasium")
    with only_json() as send:
        serve(*sys.argv[1:], send=send)
