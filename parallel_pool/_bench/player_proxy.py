"""The proxy of a player that runs in a process of its own (player_process.py).

Rivals play there if they need other packages than ours, or if their workers spin when idle. The
proxy sends a line with a number of batches to play; the process answers with a line of JSON, which
holds the steps done.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from parallel_pool._bench import python_envs
from parallel_pool._bench.contender import MAKERS, Contender, Maker, Task, contender
from parallel_pool._bench.rounds import Player

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
            return PlayerProxy(name, started, environment(folder))

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


class PlayerProxy:
    """Plays in another process.

    Args:
        name: for messages.
        command: the process; it sends {"children": [its worker processes]} and then, for each
            number of batches that it reads, {"steps": the steps done}.
        environment: its environment variables.
    """

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._name = name
        # some rivals write files into the current folder
        self._directory = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self._directory.name,
            env=environment,
            # Ctrl-C reaches only this process; close() ends the other
            start_new_session=True,
        )
        self.children: Sequence[int] = ()
        try:
            self.children = (self._process.pid, *self._receive()["children"])
        except BaseException:
            self.close()
            raise

    def play(self, batches: int) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{batches}\n")
        self._process.stdin.flush()
        steps: int = self._receive()["steps"]
        return steps

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self._name} ended: its message is above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        # the process ends at the end of its input; its session includes its workers
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
