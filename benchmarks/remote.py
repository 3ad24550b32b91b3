"""A player in a process of its own: rivals that need other packages than ours, or spin when idle.

`python -m benchmarks.remote NAME TASK` is that process. A line of JSON asks it to play so many
batches, a line of JSON says how many steps that were. Its worker processes are stopped between two
plays: what they have in flight does not go on, and those that wait by spinning use no core that
others play on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.rivals import Contender, Task, contender
from benchmarks.rounds import Player

ROOT = Path(__file__).resolve().parent.parent

# what the other process makes, by the contender's name
MAKERS: dict[str, Callable[[Task], Player]] = {}


def remote(
    name: str, family: str, *, package: str, folder: str = "", **facts: Any
) -> Callable[[Callable[[Task], Player]], Contender]:
    """Decorates a function that makes a player in a process of its own.

    Args:
        folder: of packages that come first there, as `Contender` has it.
    """

    def register(make: Callable[[Task], Player]) -> Contender:
        MAKERS[name] = make
        return contender(name, family, package=package, folder=folder, **facts)(
            lambda task: Remote(name, task, folder)
        )

    return register


def environment(folder: str) -> dict[str, str]:
    """Returns the variables of a process that finds a folder's packages first, and then ours."""
    paths = [str(Path(sys.prefix) / folder)] if folder else []
    paths += filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


class Remote:
    """Plays in another process."""

    def __init__(self, name: str, task: Task, folder: str = "") -> None:
        from benchmarks import python_envs

        # found here, where nobody else plays yet
        python_envs.turns_per_us()
        self._name = name
        # some leave files where they start
        self._directory = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.remote", name, json.dumps(asdict(task))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self._directory.name,
            env=environment(folder),
            # Ctrl-C is for us: it ends when we do
            start_new_session=True,
        )
        self.children: Sequence[int] = ()
        try:
            self.children = (self._process.pid, *self._hear()["children"])
        except BaseException:
            self.close()
            raise

    def play(self, batches: int) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{batches}\n")
        self._process.stdin.flush()
        steps: int = self._hear()["steps"]
        return steps

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} ended in its own process, which has said why")
        told: dict[str, Any] = json.loads(line)
        return told

    def close(self) -> None:
        # the end of its input is its end; its workers are in its session
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._directory.cleanup()


@contextmanager
def running(pids: Sequence[int]) -> Iterator[None]:
    """Lets processes run in here only."""
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


def serve(name: str, task: str, tell: Callable[[dict[str, Any]], None]) -> None:
    """Makes a player, and plays as the lines of the input ask, to its end."""
    from benchmarks import python_rivals  # noqa: F401  which fills MAKERS

    player = MAKERS[name](Task(**json.loads(task)))
    workers = list(player.children)
    try:
        signal_all(workers, signal.SIGSTOP)
        tell({"children": workers})
        for line in sys.stdin:
            with running(workers):
                steps = player.play(int(line))
            tell({"steps": steps})
    finally:
        signal_all(workers, signal.SIGCONT)
        player.close()


if __name__ == "__main__":
    # this module once more, under the name by which the rivals know it
    from benchmarks import remote as known

    out = sys.stdout
    with redirect_stdout(sys.stderr):
        known.serve(*sys.argv[1:], tell=lambda data: print(json.dumps(data), file=out, flush=True))
