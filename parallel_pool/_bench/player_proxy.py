"""The proxy of a player that runs in a process of its own (player_process.py).

Rivals play there if they need other packages than ours, or if their workers spin when idle. The
proxy sends a line with a number of batches to play; the process answers with a line of JSON, which
holds the steps done.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallel_pool._bench import python_envs
from parallel_pool._bench.contender import MAKERS, Contender, Maker, Task, contender
from parallel_pool._bench.rounds import Player
from parallel_pool._engine.arguments import quote

if TYPE_CHECKING:
    from typing import Self

ROOT = Path(__file__).resolve().parents[2]
PROCESS = "parallel_pool._bench.player_process"


def in_own_process(
    name: str, family: str, *, package: str, folder: str = "", **facts: Any
) -> Callable[[Maker], Contender]:
    """Decorates a function that makes a player in a process of its own.

    Args:
        folder: the folder of packages that the player's process imports first, as in `Contender`.
    """

    def register(make: Maker) -> Contender:
        MAKERS[name] = make

        def start(task: Task) -> Player:
            started = command(make.__module__, name, task, folder)
            return PlayerProxy(name, started, environment(folder)).made()

        return contender(name, family, package=package, folder=folder, **facts)(start)

    return register


def command(module: str, name: str, task: Task, folder: str = "") -> list[str]:
    """Returns the command that plays a task here; the module registers the contender.

    A folder that has a link `python` holds packages of that interpreter.
    """
    # measured here, while nothing else runs; the process inherits the result
    python_envs.turns_per_us()
    link = Path(sys.prefix) / folder / "python"
    python = str(link) if folder and link.exists() else sys.executable
    return [python, "-m", PROCESS, module, name, json.dumps(asdict(task))]


def environment(folder: str) -> dict[str, str]:
    """Returns the environment of a process that imports a folder's packages first, then ours."""
    paths = [str(Path(sys.prefix) / folder)] if folder else []
    paths += filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


class PlayerLostError(RuntimeError):
    """A player's process ended, or gave no answer; the text is a clause that says so."""


class PlayerProxy:
    """Plays in another process, which starts at once; `made` waits until it can play.

    Args:
        name: for messages.
        command: the process; it sends {"children": [its worker processes]} and then, for each
            number of batches that it reads, {"steps": the steps done}.
        environment: its environment variables.
        patience: returns the seconds to wait for the answer to a number of batches, or None to
            wait for as long as it takes.
        grace: seconds for the player's own end, when it is closed, before it is killed.
        is_quiet: what the process writes to stderr goes into messages, not to ours.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        patience: Callable[[], float | None] = lambda: None,
        grace: float = 10.0,
        is_quiet: bool = False,
    ) -> None:
        self._name, self._patience, self._grace = name, patience, grace
        # some rivals write files into the current folder
        self._directory = tempfile.TemporaryDirectory()
        self._said = Path(self._directory.name, "stderr") if is_quiet else None
        with self._said.open("w") if self._said else nullcontext() as stderr:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                cwd=self._directory.name,
                env=environment,
                # Ctrl-C reaches only this process; close() ends the other
                start_new_session=True,
            )
        self.children: Sequence[int] = ()
        # when it was started, or asked to play
        self._asked = time.monotonic()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def made(self, patience: float | None = None) -> Self:
        """Waits until the player is made; returns this object.

        Raises:
            PlayerLostError: it can't be made, or not within `patience` seconds. It is closed.
        """
        try:
            self.children = (self.pid, *self._receive(patience)["children"])
        except BaseException:
            self.close()
            raise
        return self

    def play(self, batches: int) -> int:
        assert self._process.stdin is not None
        # a process that has ended has no answer either, and its message says why
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{batches}\n")
            self._process.stdin.flush()
        self._asked = time.monotonic()
        steps: int = self._receive(self._patience())["steps"]
        return steps

    def _receive(self, patience: float | None) -> dict[str, Any]:
        assert self._process.stdout is not None
        # an answer is one short line, so all of it is there when its beginning is
        if not select.select([self._process.stdout], [], [], patience)[0]:
            self.kill()
            since = time.monotonic() - self._asked
            raise PlayerLostError(f"no answer within {since:.0f} s: it was ended")
        line = self._process.stdout.readline()
        if not line:
            raise PlayerLostError(f"the process of {self._name} ended: {self._last_words()}")
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise PlayerLostError(f"it wrote {quote(line.strip())}, which is no answer") from None
        return answer

    def _last_words(self) -> str:
        """Returns the last line that the process wrote to stderr."""
        if self._said is None:
            return "its message is above"
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(self._grace)
        lines = self._said.read_text(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "it said nothing")

    def kill(self) -> None:
        """Kills the process and its workers."""
        # its session includes its workers
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Ends the process, its workers and its folder; does nothing the second time."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if self._process.stdout.closed:
            return
        # the process ends at the end of its input
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(self._grace)
        self.kill()
        self._process.wait()
        self._process.stdout.close()
        self._directory.cleanup()
