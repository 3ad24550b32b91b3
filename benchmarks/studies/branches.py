"""Measures branches of leases: `python -m benchmarks.studies.branches`.

An environment with some megabytes of state, in a worker of its own, is branched again and again.
Of each round:

- ms: time until all branches are there, as leases; with the CPU time that all processes took, which
  a busy machine changes less
- first_step_ms: time of the first step of each branch, all at once, in which it begins to run
- new_mb: memory that is taken since before, once the branches are there; stepped_mb: once each has
  made a step. That is the sum of the PSS of all processes of the program, so that what they share
  counts once. tables_mb is what the kernel needs for their page tables.

The same for as many deep copies in one process, where the state can be copied. The state is an
array ("array"), or lists of numbers ("objects"), whose pages are small and many.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from parallel_pool._bench import machine
from parallel_pool._command import until_interrupted
from parallel_pool.leases import Lease, LeasePool

KINDS = ("array", "objects")
# bytes of a list's entry with its float
NUMBER = 32
BARS = {"ms": 30.0, "new_mb": 10.0}


class Stateful(gymnasium.Env[Any, Any]):
    """Has so many megabytes of state, and observes the number of its steps and a random number."""

    observation_space = gymnasium.spaces.Box(0, 1e9, (2,), np.float64)
    action_space: Any = gymnasium.spaces.Discrete(2)

    def __init__(self, kind: str, megabytes: float) -> None:
        count = int(megabytes * 2**20)
        self.state: Any = np.ones(count // 8)
        if kind == "objects":
            self.state = [float(i) for i in range(count // NUMBER)]
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(2), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.state[self.steps] = action
        return np.array([self.steps, self.np_random.random()]), 1.0, False, False, {}


# ---------------------------------------------------------------------------------- processes --


def own_processes() -> Iterator[int]:
    """Yields the ids of this process and of all its descendants."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(name)] = int(fields[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    yield from found


def value_of(path: str, key: str) -> float:
    """Returns a value in kilobytes of a file in /proc; 0 if the process has ended."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) for line in lines if line.startswith(key))


def memory() -> tuple[float, float]:
    """Returns the megabytes that the program takes, and those of page tables."""
    pids = list(own_processes())
    pss = sum(value_of(f"/proc/{pid}/smaps_rollup", "Pss:") for pid in pids)
    return pss / 1024, sum(value_of(f"/proc/{pid}/status", "VmPTE") for pid in pids) / 1024


def cpu_seconds() -> dict[int, float]:
    """Returns the CPU time of each process of the program."""
    found = {}
    for pid in own_processes():
        try:
            # nanoseconds on a core of the main thread; others of the program sleep
            found[pid] = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
        except OSError:
            continue
    return found


def cpu_since(before: dict[int, float]) -> float:
    """Returns the CPU time since then, with that of processes that are new."""
    return sum(now - before.get(pid, 0.0) for pid, now in cpu_seconds().items())


# ------------------------------------------------------------------------------------- rounds --


def branch(pool: LeasePool, lease: Lease, count: int) -> dict[str, float]:
    """Makes so many branches and a step of each; returns what that took."""
    # those of the last round may still be ending
    while pool.num_branches:
        time.sleep(0.001)
    before, tables = memory()
    cpu, start = cpu_seconds(), time.perf_counter()
    with lease.branches(count) as branches:
        made = time.perf_counter() - start
        made_cpu = cpu_since(cpu)
        new, new_tables = memory()
        start = time.perf_counter()
        results = [each.step(1) for each in branches]
        stepped = time.perf_counter() - start
        for observation, *_ in results:
            np.testing.assert_array_equal(observation, results[0][0])
        return {
            "ms": 1e3 * made,
            "cpu_ms": 1e3 * made_cpu,
            "first_step_ms": 1e3 * stepped / count,
            "new_mb": new - before,
            "tables_mb": new_tables - tables,
            "stepped_mb": memory()[0] - before,
        }


def deep_copy(env: Any, count: int) -> dict[str, float]:
    """Makes so many deep copies; returns what that took."""
    before, _ = memory()
    cpu, start = time.process_time(), time.perf_counter()
    copies = [copy.deepcopy(env) for _ in range(count)]
    return {
        "ms": 1e3 * (time.perf_counter() - start),
        "cpu_ms": 1e3 * (time.process_time() - cpu),
        "new_mb": memory()[0] - before + 0.0 * len(copies),
    }


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {key: round(statistics.median(each[key] for each in rounds), 2) for key in rounds[0]}


def measure(kind: str, megabytes: float, count: int, rounds: int) -> dict[str, Any]:
    make = partial(Stateful, kind, megabytes)
    with LeasePool([make], max_branches=count) as pool, pool.lease() as lease:
        lease.reset(seed=1)
        lease.step(0)
        branch(pool, lease, count)
        found: dict[str, Any] = {"branches": [branch(pool, lease, count) for _ in range(rounds)]}
    env = make()
    env.reset(seed=1)
    found["deep copies"] = [deep_copy(env, count) for _ in range(max(1, rounds // 4))]
    least = {key: min(each[key] for each in found["branches"]) for key in BARS}
    return {
        **{name: medians(each) for name, each in found.items()},
        "fastest_ms": round(least["ms"], 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--state-mb", type=float, default=100.0)
    parser.add_argument("--branches", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--out", type=Path, help="write the results as JSON, too")
    options = parser.parse_args()
    found: dict[str, Any] = {
        **machine.facts(),
        **machine.moment(),
        "state_mb": options.state_mb,
        "branches": options.branches,
    }
    for kind in options.kinds:
        found[kind] = measure(kind, options.state_mb, options.branches, options.rounds)
        print(kind, json.dumps(found[kind]), flush=True)
    print("bars:", ", ".join(f"{key} < {most:g}" for key, most in BARS.items()))
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
