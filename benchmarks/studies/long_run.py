"""A long run: `python -m benchmarks.studies.long_run [KIND ...] --steps 1000000000`.

A pool of each kind steps CartPole a billion times; in worker processes that takes hours. Each row
says which environment it is of and how many steps its episode has; so a row that is lost, doubled
or of another environment is found, and all counts must agree: rows received, steps of each
environment, and the pool's own. The memory of all processes must not grow. The soak test
(`soak.py`) checks what crashes do.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import parallel_pool
from parallel_pool._bench import machine, tree

ENV_ID = "CartPole-v1"
# an episode that lasts longer ends at the time limit
MAX_EPISODE_STEPS = 500
# Memory is looked at so often. If a part of the run takes more than these seconds, the pool hangs.
SAMPLES, HANGS_AFTER = 50, 600
# allowed growth of memory from the first sample to the last
GROWTH_KB = 8 * 1024

Row = tuple[Any, Any, Any]


class Counts:
    """Checks rows, and counts them by environment."""

    def __init__(self, num_envs: int) -> None:
        self.rows = self.episodes = self.num_wrong = 0
        self.steps = np.zeros(num_envs, np.int64)
        self._elapsed = np.zeros(num_envs, np.int64)
        # the row after the end of an episode is a reset, and so is the first one
        self._is_over = np.ones(num_envs, np.bool_)

    def add(self, env_ids: Any, elapsed: Any, ended: Any) -> None:
        """Counts the rows of a batch: the environment of each, its steps, and whether it ended."""
        expected = np.where(self._is_over[env_ids], 0, self._elapsed[env_ids] + 1)
        self.num_wrong += int((elapsed != expected).sum())
        self.num_wrong += int((elapsed > MAX_EPISODE_STEPS).sum())
        self._elapsed[env_ids] = elapsed
        self._is_over[env_ids] = ended
        self.steps[env_ids] += 1
        self.rows += len(env_ids)
        self.episodes += int(ended.sum())


def ordered(pool: Any, actions: Iterator[Any]) -> Iterator[Row]:
    """Plays whole batches in the order of the environments."""
    batch = pool.reset()
    while True:
        yield batch.env_id, batch.elapsed_step, batch.terminated | batch.truncated
        batch = pool.step(next(actions))


def first_come(pool: Any, actions: Iterator[Any], **receive: Any) -> Iterator[Row]:
    """Plays the environments that finish first."""
    pool.send_reset(range(pool.num_envs))
    while True:
        batch = pool.recv(**receive)
        count = batch.num_rows
        env_ids = batch.env_id[:count].copy()
        ended = batch.terminated[:count] | batch.truncated[:count]
        yield env_ids, batch.elapsed_step[:count], ended
        pool.send(next(actions)[:count], env_ids)


def some_rows(pool: Any, actions: Iterator[Any]) -> Iterator[Row]:
    """Plays as soon as a few rows are there."""
    return first_come(pool, actions, min_rows=1)


def threads(**options: Any) -> Callable[[], Any]:
    """Returns a function that makes a pool of native environments."""
    return lambda: parallel_pool.Pool(ENV_ID, 1024, seed=0, **options)


def processes(**options: Any) -> Callable[[], Any]:
    """Returns a function that makes a pool of Python environments in two worker processes."""
    make = functools.partial(gymnasium.make, ENV_ID)
    return lambda: parallel_pool.ProcessPool([make] * 256, num_workers=2, **options)


Play = Callable[[Any, Iterator[Any]], Iterator[Row]]
# how the pool of each kind is made and played
KINDS: dict[str, tuple[Callable[[], Any], Play]] = {
    "one-thread": (threads(num_threads=1), ordered),
    "threads": (threads(num_threads=2), ordered),
    "first-come": (threads(num_threads=2, batch_size=512), first_come),
    "some-rows": (threads(num_threads=2, batch_size=512), some_rows),
    "processes": (processes(), ordered),
    "first-come-processes": (processes(batch_size=128), first_come),
}


@dataclass
class Result:
    """What a run of one kind counted; memory in KB."""

    kind: str
    rows: int
    episodes: int
    seconds: float
    early_kb: int
    late_kb: int
    faults: list[str] = field(default_factory=list)


def run(kind: str, steps: int) -> Result:
    """Steps a pool so often, and compares the counts."""
    make, play = KINDS[kind]
    start, early, sample_at = time.perf_counter(), 0, steps // SAMPLES
    with make() as pool:
        table = np.random.default_rng(0).integers(2, size=(64, pool.num_envs))
        counts = Counts(pool.num_envs)
        for batch in play(pool, itertools.cycle(table)):
            counts.add(*batch)
            if counts.rows >= sample_at:
                sample_at += steps // SAMPLES
                faulthandler.dump_traceback_later(HANGS_AFTER, exit=True, file=sys.__stderr__)
                late = memory()
                early = early or late
            if counts.rows >= steps:
                break
        own = pool.stats()["env_steps"]
    faulthandler.cancel_dump_traceback_later()
    seconds = time.perf_counter() - start
    faults = [f"{counts.num_wrong} rows do not follow from those before"] * bool(counts.num_wrong)
    total = int(counts.steps.sum())
    if not counts.rows == total == own:
        faults.append(f"{counts.rows} rows, {total} of the environments, {own} of the pool")
    if late > early + GROWTH_KB:
        faults.append(f"memory grew from {early} to {late} KB")
    return Result(kind, counts.rows, counts.episodes, round(seconds, 1), early, late, faults)


def memory() -> int:
    """Returns the KB of this process and its workers, without files, whose pages others share."""
    return tree.memory_of([os.getpid(), *tree.descendants(os.getpid())], "Pss_Anon")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs all kinds; returns 1 if a row was wrong, counts differ, or memory grew."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.long_run", description=__doc__
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)} (all)")
    parser.add_argument("--steps", type=int, default=1_000_000_000, help="of each kind (a billion)")
    parser.add_argument("--out", type=Path, default=Path("out/bench/long-run.json"), metavar="FILE")
    options = parser.parse_args(arguments)
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(KINDS)}")
    found: dict[str, Any] = {"machine": machine.facts(), "moment": machine.moment(), "runs": []}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    faults: list[str] = []
    for kind in options.kinds or KINDS:
        made = run(kind, options.steps)
        print(
            f"{kind}: {made.rows:,d} rows, {made.episodes:,d} episodes, {made.seconds:.0f} s,"
            f" {made.early_kb} KB early, {made.late_kb} KB late",
            *(f"FAULT: {fault}" for fault in made.faults),
            sep="\n",
            flush=True,
        )
        faults += made.faults
        found["runs"].append(asdict(made))
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
