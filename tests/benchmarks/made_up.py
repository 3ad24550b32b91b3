"""Players, a clock, scenes and outcomes that are made up, for the tests of the benchmarks."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parallel_pool._bench import rounds, tree
from parallel_pool._bench.contender import Contender, Task
from parallel_pool._bench.outcome import Bar, Outcome, Row
from parallel_pool._bench.rounds import Spread
from parallel_pool._bench.scene import Scene
from tests.support.timeouts import TEST_TIMEOUT


class Watch(rounds.Clock):
    """A clock that only players advance."""

    def __init__(self) -> None:
        self.now = 0.0
        self.used = 0.0
        self.calls: list[Sequence[int]] = []

    def wall(self) -> float:
        return self.now

    def cpu(self, children: Sequence[int]) -> float:
        self.calls.append(children)
        return self.used


@dataclass
class Made:
    """A player whose batches take a fixed time."""

    watch: Watch
    seconds: float
    steps: int = 10
    cores: float = 2.0
    children: Sequence[int] = ()
    played: int = 0
    closed: bool = False

    def play(self, batches: int) -> int:
        assert not self.closed
        self.played += batches
        self.watch.now += batches * self.seconds
        self.watch.used += batches * self.seconds * self.cores
        return batches * self.steps

    def close(self) -> None:
        self.closed = True


TASK = Task("CartPole-v1", 8, 8, 2, 2, 500)


def field_of(watch: Watch) -> tuple[Scene, list[Made]]:
    """Returns a scene of made-up contenders, and a list of all players that they make.

    Ours take 1 and 2 ms for a batch of 8. The rival takes 10 ms for any batch, but 1.5 ms for a
    batch of 4 with 1 thread. The other rival takes 4 ms and has no settings.
    """
    made: list[Made] = []

    def contender(name: str, family: str, seconds: float, tunable: bool = False) -> Contender:
        def make(task: Task) -> Made:
            liked = tunable and (task.num_threads, task.batch_size) == (1, 4)
            made.append(Made(watch, 0.0015 if liked else seconds, steps=task.batch_size))
            return made[-1]

        return Contender(name, family, make, "numpy", tunable)

    scene = Scene(
        name="made-up",
        title="Made up",
        task=TASK,
        ours=(contender("quick", "ours", 0.001), contender("slow", "ours", 0.002)),
        rivals=(contender("rival", "envpool", 0.01, True), contender("other", "ale", 0.004)),
        bars={"rival": 1.5, "other": 2.5},
    )
    return scene, made


def state_of(pid: int, wanted: str) -> str:
    """Returns the state of a process; waits for the wanted one, as signals take a moment."""
    end = time.monotonic() + TEST_TIMEOUT
    while (state := tree.fields(pid)[0]) != wanted and time.monotonic() < end:
        time.sleep(0.01)
    return state


def named(name: str) -> object:
    """Returns an object with a name, like the columns of a pool."""
    return type("Column", (), {"name": name})()


def outcome(name: str = "made-up", rate: float = 1000.0) -> Outcome:
    ours = Row(
        "ours",
        "2 threads",
        "ours",
        Spread(rate, 0.9 * rate, 1.1 * rate),
        Spread(1, 1, 1),
        samples=[rate],
    )
    theirs = Row(
        "them",
        "3 threads",
        "best",
        Spread(rate / 4, 0.24 * rate, 0.26 * rate),
        Spread(8, 7, 9),
        ratios={"ours": Spread(4, 3.5, 4.5)},
        cpu_ratios={"ours": Spread(8, 7, 9)},
        samples=[rate / 4],
    )
    bars = [Bar("vs them", 5, 4.0), Bar("vs no one", 2, None)]
    return Outcome(name, f"Title of {name}", "env steps/s", 4, 7, [ours, theirs], bars, ["a note"])


MACHINE = {
    "cpu": "A processor",
    "cores": 2,
    "system": "Linux",
    "python": "3.11",
    "compiler": "cc",
    "versions": {"numpy": "2"},
}


def put_python_into(checkout: Path) -> None:
    """Gives a folder the interpreter of a checkout."""
    python = checkout / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
