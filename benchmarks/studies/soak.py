"""A soak test with crashes: `python -m benchmarks.studies.soak --steps 10000000`.

Environments raise exceptions and end their process, workers are killed from outside, and calls are
refused. Native environments beside them are restored from forged snapshots. No row may be lost,
doubled or torn, and the memory of all processes together must not grow.

With --leases, tasks play leases in place of batches; they miss deadlines, cancel calls and have
workers killed (`scenes/leasing.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import json
import math
import os
import random
import signal
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import counting
from benchmarks.harness.ledger import Ledger
from benchmarks.scenes import leasing
from benchmarks.scenes.forging import Forging
from benchmarks.scenes.leasing import Leasing
from benchmarks.scenes.refusing import Refusing
from parallel_pool._bench import machine, tree
from parallel_pool.leases import LeasePool

# If two samples are further apart than this many seconds, restarts included, the pool has hung.
HANGS_AFTER = 120
# Allowed growth from the second fifth of the samples to the last: the larger of a share and some
# KB for memory, and a number of open files.
GROWTH, GROWTH_KB, GROWTH_FILES = 0.05, 8 * 1024, 8
# rows between two forged snapshots
FORGE_EVERY = 200
# rows between two steps with refused calls
REFUSE_EVERY = 5000


@dataclass
class Sample:
    """The process tree at one time; memory is in KB, shared memory counts once, files do not."""

    rows: int
    memory_kb: int
    shared_kb: int
    files: int
    processes: int
    zombies: int

    @staticmethod
    def take(rows: int) -> Sample:
        """Returns a sample of this process and its descendants."""
        pids = [os.getpid(), *tree.descendants(os.getpid())]
        shared = tree.memory_of(pids, "Pss_Shmem")
        return Sample(
            rows,
            # without files, of which other processes have a part
            tree.memory_of(pids, "Pss_Anon") + shared,
            shared,
            len(os.listdir("/proc/self/fd")),
            len(pids),
            tree.zombies(pids),
        )


@dataclass
class Result:
    """The result of a soak test.

    Attributes:
        accepted, refused: forged snapshots that were.
        refused_calls: calls that were refused, as they had to be.
        events: of leases, how often each kind of fault was caused or met.
        faults: descriptions of all faults; empty if there were none.
    """

    rows: int
    seconds: float
    restarts: int
    killed: int
    samples: list[Sample]
    accepted: int = 0
    refused: int = 0
    refused_calls: int = 0
    events: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Returns the result in a few lines."""
        first, last = self.samples[0], self.samples[-1]
        lines = [
            f"{self.rows} rows in {self.seconds:.0f} s, {self.rows / self.seconds:.0f} per second",
            f"{self.restarts} rows of restarts; {self.killed} workers killed from outside",
            f"forged snapshots: {self.accepted} accepted, {self.refused} refused;"
            f" {self.refused_calls} calls refused",
            f"memory {first.memory_kb} KB at first, {last.memory_kb} KB at last;"
            f" shared {first.shared_kb} and {last.shared_kb} KB",
            f"open files {first.files} and {last.files}; processes {first.processes} and"
            f" {last.processes}",
        ]
        if self.events:
            lines.append(f"events of leases: {self.events}")
        return "\n".join([*lines, *(f"FAULT: {fault}" for fault in self.faults or ())])


def growth(samples: Sequence[Sample]) -> list[str]:
    """Returns what grew from the second fifth of the samples to the last."""
    fifth = len(samples) // 5
    if not fifth:
        return [f"only {len(samples)} samples of memory: give more --steps"]
    early, late = samples[fifth : 2 * fifth], samples[-fifth:]
    found = []
    for name in ("memory_kb", "shared_kb", "files"):
        before, after = (
            statistics.median(getattr(s, name) for s in part) for part in (early, late)
        )
        room = GROWTH_FILES if name == "files" else max(GROWTH * before, GROWTH_KB)
        if after > before + room:
            found.append(f"{name} grew from {before:.0f} to {after:.0f}")
    return found


def kill_one(pids: Sequence[int], choose: random.Random) -> bool:
    """Kills one of those processes that are descendants; returns whether there was one."""
    workers = sorted(set(pids) & set(tree.descendants(os.getpid())))
    if not workers:
        return False
    with suppress(ProcessLookupError):
        os.kill(choose.choice(workers), signal.SIGKILL)
    return True


def soak(
    env: Any,
    steps: int,
    kill_every: int,
    sample_every: int,
    *,
    seed: int = 0,
    alive: Callable[[], None] = lambda: None,
    forging: Forging | None = None,
    refusing: Refusing | None = None,
) -> Result:
    """Steps a vector environment of `Counting` and checks every row.

    Args:
        steps: environment steps, one for each row.
        kill_every: average number of rows between two kills from outside; 0 for no kills.
        sample_every: number of rows between two samples of memory.
        alive: called at each sample.
        forging: restores a forged snapshot every FORGE_EVERY rows; None: there are none.
        refusing: makes refused calls about every REFUSE_EVERY rows; None: there are none.
    """
    choose, draw = random.Random(seed), np.random.default_rng(seed)
    obs, _ = env.reset(seed=seed)
    ledger, killed, start = Ledger(obs), 0, time.perf_counter()
    kill_at, sample_at = kill_every or math.inf, 0
    forge_at = FORGE_EVERY if forging else math.inf
    refuse_at = REFUSE_EVERY
    samples = []
    while ledger.rows < steps:
        actions = draw.integers(counting.ACTIONS, size=env.num_envs)
        if refusing and ledger.rows >= refuse_at:
            result = refusing.step(actions)
            refuse_at += REFUSE_EVERY
        else:
            result = env.step(actions)
        obs, rewards, terminated, truncated, infos = result
        ledger.check(actions, obs, rewards, terminated, truncated, infos)
        if ledger.rows >= kill_at:
            killed += kill_one(obs["count"][:, counting.PID].tolist(), choose)
            kill_at = ledger.rows + int(choose.expovariate(1 / kill_every)) + 1
        if forging and ledger.rows >= forge_at:
            forging.step()
            forge_at += FORGE_EVERY
        if ledger.rows >= sample_at:
            alive()
            samples.append(Sample.take(ledger.rows))
            sample_at = ledger.rows + sample_every
    seconds = time.perf_counter() - start
    lives, totals = (np.array(env.get_attr(name)) for name in ("life", "total"))
    ledger.close(lives, totals)
    faults = [f"{ledger.num_wrong} wrong rows"] * bool(ledger.num_wrong) + ledger.wrong
    faults += growth(samples)
    made = Result(ledger.rows, seconds, ledger.restarts, killed, samples, faults=faults)
    if forging:
        made.accepted, made.refused = forging.accepted, forging.refused
        faults += forging.faults
    if refusing:
        made.refused_calls = refusing.refused
        faults += refusing.faults
    return made


async def soak_leases(pool: LeasePool, steps: int, event_every: int, sample_every: int) -> Result:
    """Plays leases of a pool of `leasing.factories`.

    Args:
        pool: the pool.
        steps: how many.
        event_every: see `Leasing`.
        sample_every: steps between two samples of memory.
    """
    play, samples, start = Leasing(pool, event_every), [], time.monotonic()
    while play.steps < steps and not play.faults:
        alive()
        await play.play(min(sample_every, steps - play.steps))
        samples.append(Sample.take(play.steps))
    events = play.events
    restarts = events["deaths"] + events["crashes"] + events["missed"]
    return Result(
        play.steps,
        time.monotonic() - start,
        restarts,
        events["kills"],
        samples,
        events=dict(events),
        faults=play.faults + growth(samples),
    )


def alive() -> None:
    """Restarts the alarm, which prints the stack and ends the process if the soak test hangs."""
    faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)


def left_behind(pids: Sequence[int]) -> list[str]:
    """Returns a fault if workers still run after their pool was closed."""
    left = sorted(set(pids) & set(tree.descendants(os.getpid())))
    return [f"processes {left} are left after close()"] if left else []


def parser() -> argparse.ArgumentParser:
    """Returns the command line's parser."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.studies.soak", description=__doc__)
    made.add_argument(
        "--steps", type=int, default=10_000_000, help="environment steps (10 million)"
    )
    made.add_argument("--envs", type=int, default=32)
    made.add_argument("--workers", type=int, default=2)
    made.add_argument(
        "--crash-every",
        type=int,
        default=20_000,
        help="average steps of an environment between two crashes (20000); workers are killed every"
        " four times as many steps of all environments",
    )
    made.add_argument(
        "--leases", action="store_true", help="play leases; each has a worker of its own"
    )
    made.add_argument("--out", type=Path, default=Path("out/bench/soak.json"), metavar="FILE")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 1 if something was lost, doubled, torn, or grew."""
    options = parser().parse_args(arguments)
    result = leases_result(options) if options.leases else batches_result(options)
    moment, facts = machine.moment(), machine.facts()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(
        json.dumps({"machine": facts, "moment": moment, **asdict(result)}, indent=1) + "\n"
    )
    print(f"{result.summary()}\nwritten: {options.out}")
    return 1 if result.faults else 0


def leases_result(options: argparse.Namespace) -> Result:
    """Runs the soak test of leases."""
    pool = LeasePool(leasing.factories(options.envs, options.crash_every))
    sample_every = max(1, options.steps // 50)
    try:
        result = asyncio.run(soak_leases(pool, options.steps, options.crash_every, sample_every))
        workers = [pid for pid in pool.worker_pids if pid is not None]
    finally:
        alive()
        pool.close()
        faulthandler.cancel_dump_traceback_later()
    result.faults += left_behind(workers)
    return result


def batches_result(options: argparse.Namespace) -> Result:
    """Runs the soak test of batches."""
    from parallel_pool.compat.gymnasium import PoolVectorEnv

    env = PoolVectorEnv(
        counting.factories(options.envs, options.crash_every),
        num_workers=options.workers,
        on_error="restart",
    )
    kill_every, sample_every = 4 * options.crash_every, max(1, options.steps // 200)
    forging = Forging()
    try:
        result = soak(
            *(env, options.steps, kill_every, sample_every),
            alive=alive,
            forging=forging,
            refusing=Refusing(env),
        )
        workers = env.get_attr("pid")
    finally:
        # close() must not hang either
        alive()
        env.close()
        forging.close()
        faulthandler.cancel_dump_traceback_later()
    result.faults += left_behind(workers)
    return result


if __name__ == "__main__":
    sys.exit(main())
