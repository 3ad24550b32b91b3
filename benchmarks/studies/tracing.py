"""Measures the tracer: `python -m benchmarks.studies.tracing [--out FILE]`.

First, programs whose shares of time are known, because each part of them takes a given time. The
report's shares are held against these, and its advice is applied and measured. Then, what a trace
costs: one pool, traced and not traced by turns.
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import parallel_pool
from parallel_pool._bench import machine
from parallel_pool._bench.rounds import Spread
from parallel_pool._command import until_interrupted
from parallel_pool._engine.pool import Pool
from parallel_pool._tracing import chrome
from parallel_pool._tracing.advice import Advice
from parallel_pool._tracing.record import CALLS, RECEIVER, Record
from parallel_pool._tracing.report import Report
from parallel_pool._workers.process_pool import ProcessPool

SOURCE = Path(__file__).parent / "timed_env.c"
COLOURS = {"call": "#9ecae1", "work": "#a1d99b", "policy": "#fdd0a2", "learn": "#fdae6b"}
# how far a share may be from what was injected
MAX_SHARE_ERROR = 0.03
# the part of an expected speed that the changed program must reach
MIN_SPEED_SHARE = 0.9
# the most that a trace may cost
COST = 1.03


# --------------------------------------------------------------------------- made-up programs --


@functools.cache
def register() -> None:
    """Compiles and registers bench/Timed-v0."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "timed_env.so"
        include = f"-I{parallel_pool.get_include()}"
        flags = ("-std=c11", "-O3", "-shared", "-fPIC")
        subprocess.run(["cc", *flags, include, str(SOURCE), "-o", str(library)], check=True)
        parallel_pool.load(str(library), "pp_env_timed_v0")


def compute(milliseconds: float) -> None:
    """Keeps a core busy."""
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass


class Sleeper(gymnasium.Env[Any, Any]):
    """A Python environment whose steps take a given time."""

    observation_space = gymnasium.spaces.Box(0, 1, (4,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, milliseconds: float) -> None:
        self._seconds = milliseconds / 1000
        self._observation = np.zeros(4, np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self._observation, {}

    def step(self, action: Any) -> Any:
        time.sleep(self._seconds)
        return self._observation, 0.0, False, False, {}


@dataclass(frozen=True)
class Program:
    """A loop whose parts take given times, in milliseconds.

    Attributes:
        about: in a few words.
        step_ms: of each environment.
        policy_ms, learn_ms: of the caller between two batches.
        num_threads: threads; or worker processes, if the environments are Python's.
        sleeps: whether steps sleep instead of computing.
        in_processes: whether the environments are Python's.
        batch_size: rows of a batch, 0 for all.
        change: what the advice must change; empty if it must say that nothing helps.
    """

    about: str
    step_ms: Sequence[float]
    policy_ms: float
    num_threads: int
    learn_ms: float = 0.0
    sleeps: bool = False
    in_processes: bool = False
    batch_size: int = 0
    change: Sequence[str] = field(default=())

    def make(self) -> Pool | ProcessPool:
        """Returns the pool, reset."""
        count, size = len(self.step_ms), self.batch_size or None
        if self.in_processes:
            fns = [functools.partial(Sleeper, each) for each in self.step_ms]
            pool: Any = ProcessPool(fns, num_workers=self.num_threads, batch_size=size)
        else:
            register()
            slow = sum(each == self.step_ms[0] for each in self.step_ms)
            options = {
                "microseconds": self.step_ms[-1] * 1000,
                "slow": slow,
                "slow_microseconds": self.step_ms[0] * 1000,
                "sleeps": self.sleeps,
            }
            pool = Pool(
                "bench/Timed-v0",
                count,
                num_threads=self.num_threads,
                options=options,
                batch_size=size,
            )
        if self.batch_size:
            pool.send_reset()
        else:
            pool.reset()
        return pool

    def play(self, seconds: float) -> Report:
        """Plays for some seconds, at least one batch."""
        with self.make() as pool:
            with pool.trace() as trace:
                end = time.monotonic() + seconds
                actions = np.zeros(self.batch_size or len(self.step_ms), np.int64)
                is_over = False
                while not is_over:
                    if self.batch_size:
                        ids = pool.recv().env_id
                    else:
                        pool.step(actions)
                    with trace.span("policy"):
                        compute(self.policy_ms)
                    if self.learn_ms:
                        with trace.span("learn"):
                            compute(self.learn_ms)
                    if self.batch_size:
                        pool.send(actions, ids)
                    is_over = time.monotonic() >= end
            return trace.report()

    @property
    def injected(self) -> Mapping[str, float]:
        """The true shares of a synchronous program."""
        cores = os.cpu_count() or 1
        threads = self.num_threads if self.sleeps or self.in_processes else None
        threads = threads or min(self.num_threads, cores)
        free = [0.0] * threads
        if self.in_processes:
            # a worker steps its own environments
            for i, group in enumerate(np.array_split(np.array(self.step_ms), threads)):
                free[i] = float(group.sum())
        else:
            for each in self.step_ms:
                at = free.index(min(free))
                free[at] += each
        step, work = max(free), sum(self.step_ms) / threads
        total = step + self.policy_ms + self.learn_ms
        shares = {"policy": self.policy_ms / total}
        if self.learn_ms:
            shares["learn"] = self.learn_ms / total
        return {**shares, "environments": work / total, "waiting": (step - work) / total}

    def changed(self, change: Mapping[str, int]) -> Program:
        """Returns the program with changed arguments of its pool."""
        values = {
            "num_threads" if name == "num_workers" else name: value
            for name, value in change.items()
        }
        return Program(**{**self.__dict__, **values})


PROGRAMS = {
    "policy-bound": Program("a policy of 4 ms, steps of 0.2", [0.2] * 8, 4.0, 2),
    "environment-bound": Program(
        *("16 steps of 1 ms on one thread", [1.0] * 16, 1.0, 1),
        learn_ms=2.0,
        change=("num_threads",),
    ),
    "one straggler": Program(
        *("one step of 20 ms, seven of 1", [20.0] + [1.0] * 7, 5.0, 2),
        sleeps=True,
        change=("batch_size",),
    ),
    "too many threads": Program(
        "8 threads that compute, on two cores", [0.5] * 32, 2.0, 8, change=("num_threads",)
    ),
    "Python workers": Program(
        *("eight workers, one step of 20 ms, seven of 2", [20.0] + [2.0] * 7, 4.0, 8),
        in_processes=True,
        change=("batch_size",),
    ),
}


@dataclass(frozen=True)
class Outcome:
    """What the report said of a program, and what came of its advice."""

    name: str
    report: Report
    gain: Spread | None

    @property
    def program(self) -> Program:
        return PROGRAMS[self.name]

    @property
    def advice(self) -> Advice:
        return self.report.advice

    @property
    def farthest(self) -> float:
        """The largest difference between a share and what was injected."""
        shares = self.report.shares
        return max(abs(shares[name] - true) for name, true in self.program.injected.items())

    @property
    def is_right(self) -> bool:
        """Whether the advice changes what it should, and the change does what it says."""
        if tuple(self.advice.change) != tuple(self.program.change):
            return False
        return self.gain is None or self.gain.median >= MIN_SPEED_SHARE * self.advice.gain

    def row(self) -> str:
        """Returns a row of the table."""
        shares = ", ".join(
            f"{name} {self.report.shares[name]:.1%} ({true:.1%})"
            for name, true in self.program.injected.items()
        )
        gain = "" if self.gain is None else f"{self.gain.median:.2f}"
        return (
            f"| {self.name}: {self.program.about} | {shares} | {self.advice} | {gain} |"
            f" {'yes' if self.farthest <= MAX_SHARE_ERROR and self.is_right else 'NO'} |"
        )


def try_program(name: str, rounds: int, seconds: float) -> Outcome:
    """Plays a program, and what its advice makes of it, by turns."""
    program = PROGRAMS[name]
    reports = [program.play(seconds)]
    change = reports[0].advice.change
    gains = []
    for _ in range(rounds if change else 0):
        before, after = program.play(seconds), program.changed(change).play(seconds)
        gains.append((after.steps / after.seconds) / (before.steps / before.seconds))
    return Outcome(name, reports[0], Spread.of(gains) if gains else None)


# ----------------------------------------------------------------------------------------- cost --

COSTS = (("CartPole-v1", 1), ("CartPole-v1", 64), ("CartPole-v1", 1024), ("Pong-v5", 32))


def cost(task_id: str, count: int, rounds: int, seconds: float) -> Spread:
    """Returns how many times as much time a step takes while it is traced."""
    with Pool(task_id, count, seed=0) as pool:
        pool.reset()
        actions = np.zeros(count, np.int64)
        batches = 1
        while time_of(pool.step, actions, batches) < seconds:
            batches *= 2
        ratios = []
        for i in range(rounds):
            pair = {}
            # the first changes from round to round
            for is_on in (True, False) if i % 2 else (False, True):
                if is_on:
                    with pool.trace():
                        pair[is_on] = time_of(pool.step, actions, batches)
                else:
                    pair[is_on] = time_of(pool.step, actions, batches)
            ratios.append(pair[True] / pair[False])
        return Spread.of(ratios)


def time_of(step: Callable[[Any], Any], actions: Any, batches: int) -> float:
    """Returns the CPU seconds of so many steps."""
    start = time.process_time()
    for _ in range(batches):
        step(actions)
    return time.process_time() - start


# -------------------------------------------------------------------------------------- picture --


def draw(record: Record, milliseconds: float, path: Path) -> None:
    """Draws the middle of a record as a trace viewer shows it."""
    from matplotlib.figure import Figure

    first = (record.start + record.end) / 2
    # begins with a call
    calls = record.of_kinds(CALLS, (RECEIVER,))
    first = int(calls["start"][np.searchsorted(calls["start"], first)])
    rows = list(chrome.rows(record))
    rows = [(name, events) for name, events in rows if events]
    figure = Figure(figsize=(9, 0.6 + 0.75 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for i, (_, events) in enumerate(rows):
        depth: list[int] = []
        for event in events:
            while depth and depth[-1] <= event.start:
                depth.pop()
            start, end = (event.start - first) / 1e6, (event.end - first) / 1e6
            if end > 0 and start < milliseconds:
                low = i + 0.5 * len(depth)
                colour = COLOURS["call" if "environments" in event.arguments else "work"]
                colour = COLOURS.get(event.name, colour)
                axes.broken_barh(
                    [(start, end - start)], (low, 0.45), color=colour, edgecolor="white", lw=0.5
                )
                if end - start > milliseconds / 20:
                    middle = (max(start, 0) + min(end, milliseconds)) / 2
                    axes.text(middle, low + 0.22, event.name, ha="center", va="center", fontsize=7)
            depth.append(event.end)
    axes.set(xlim=(0, milliseconds), ylim=(len(rows), 0), xlabel="milliseconds")
    axes.set_yticks([i + 0.5 for i in range(len(rows))], [name for name, _ in rows])
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.tracing", description=__doc__
    )
    parser.add_argument("programs", nargs="*", choices=[[], *PROGRAMS], help="(all)")
    parser.add_argument("--rounds", type=int, default=5, help="of a change (5)")
    parser.add_argument("--cost-rounds", type=int, default=31, help="traced and not (31)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each play (2)")
    parser.add_argument("--out", type=Path, help="file for the tables")
    parser.add_argument("--picture", type=Path, help="file for a picture of a trace")
    options = parser.parse_args(arguments)
    outcomes = [
        try_program(name, options.rounds, options.seconds) for name in options.programs or PROGRAMS
    ]
    lines = [
        f"{machine.summary()}\n",
        "| program | shares (injected) | advice | times as fast, advice applied | right |",
        "| --- | --- | --- | ---: | --- |",
        *(outcome.row() for outcome in outcomes),
    ]
    is_right = all(outcome.farthest <= MAX_SHARE_ERROR and outcome.is_right for outcome in outcomes)
    if not options.programs:
        lines += ["", "| traced | CPU time of a step / without a trace |", "| --- | ---: |"]
        for task_id, count in COSTS:
            spread = cost(task_id, count, options.cost_rounds, options.seconds / 10)
            is_right &= spread.median <= COST
            lines.append(
                f"| {task_id}, {count} | {spread.median:.3f} ({spread.low:.3f}-{spread.high:.3f}) |"
            )
    print("\n".join(lines))
    if options.picture:
        draw(PROGRAMS["one straggler"].play(0.5).record, 55, options.picture)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
