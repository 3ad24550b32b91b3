"""Measures prepared resets: `python -m benchmarks.studies.prepared_resets`.

Environments whose step takes 1 ms and whose reset takes 200 ms, in three pools that play in turn:

- "no resets": resets take no time, the most that any pool could reach
- "in turn": each reset is done when its episode begins, as in any pool
- "prepared": prepare_resets=True

There are two kinds: "wait", where both sleep, as those do that load files or ask another process;
and "compute", where both keep a core busy. A reset that computes takes a core from something else,
unless a core is free: `cores` says how much of the cores' time the steps alone need. The study
prints steps per second, and what share of "no resets" each of the others reaches.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from parallel_pool import ProcessPool
from parallel_pool._bench import machine
from parallel_pool._command import until_interrupted

# kind, environments
CASES = (("wait", 1), ("wait", 8), ("compute", 1), ("compute", 2))
POOLS = ("no resets", "in turn", "prepared")


class Slow(gymnasium.Env[Any, Any]):
    """Takes its time for steps and resets; episodes have 0.5 to 1.5 times the given length."""

    observation_space = gymnasium.spaces.Box(-1, 1, (8,), np.float64)
    action_space: Any = gymnasium.spaces.Discrete(2)

    def __init__(self, kind: str, step: float, reset: float, length: int) -> None:
        self.kind, self.of_step, self.of_reset, self.length = kind, step, reset, length

    def _pass(self, seconds: float) -> None:
        if self.kind == "wait":
            time.sleep(seconds)
            return
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._pass(self.of_reset)
        self.left = int(self.np_random.integers(self.length // 2, self.length * 3 // 2))
        return self.np_random.uniform(-1, 1, 8), {}

    def step(self, action: Any) -> Any:
        self._pass(self.of_step)
        self.left -= 1
        return self.np_random.uniform(-1, 1, 8), 1.0, self.left == 0, False, {}


def rate(pool: ProcessPool, seconds: float) -> float:
    """Returns steps per second, of all environments, over the given time or a little more."""
    actions, steps = np.zeros(pool.num_envs, np.int64), 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pool.step(actions)
        steps += pool.num_envs
    return steps / (time.perf_counter() - start)


def pool_of(which: str, kind: str, count: int, options: argparse.Namespace) -> ProcessPool:
    reset = 0.0 if which == "no resets" else options.reset
    make: Callable[[], Any] = partial(Slow, kind, options.step, reset, options.length)
    return ProcessPool(
        [make] * count,
        num_workers=count,
        episode_seeds=True,
        prepare_resets=which == "prepared",
        start_method="fork",
    )


def measure(kind: str, count: int, options: argparse.Namespace) -> dict[str, Any]:
    """Plays the three pools in turn; each has its own workers, of which the others' sleep."""
    pools = {which: pool_of(which, kind, count, options) for which in POOLS}
    found: dict[str, list[float]] = {which: [] for which in POOLS}
    try:
        for pool in pools.values():
            pool.reset(seed=1)
            rate(pool, options.seconds / 4)
        for _ in range(options.rounds):
            for which, pool in pools.items():
                found[which].append(rate(pool, options.seconds))
    finally:
        for pool in pools.values():
            pool.close()
    best = found["no resets"]
    shares = {
        which: round(statistics.median(a / b for a, b in zip(found[which], best, strict=True)), 3)
        for which in POOLS[1:]
    }
    cores = count / len(os.sched_getaffinity(0)) if kind == "compute" else 0.0
    steps = {which: round(statistics.median(each)) for which, each in found.items()}
    return {"steps_per_s": steps, "share": shares, "cores": min(1.0, cores)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each pool in each round")
    parser.add_argument("--step", type=float, default=0.001, help="seconds")
    parser.add_argument("--reset", type=float, default=0.2, help="seconds")
    parser.add_argument("--length", type=int, default=400, help="steps of an episode, on average")
    parser.add_argument("--out", type=Path, help="file for the results, as JSON")
    options = parser.parse_args(arguments)
    results: dict[str, Any] = {"machine": machine.facts()}
    for kind, count in CASES:
        results[f"{kind}, {count}"] = found = measure(kind, count, options)
        print(f"{kind}, {count} environments: {json.dumps(found)}", flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(until_interrupted(main))
