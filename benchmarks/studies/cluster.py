"""Measures `parallel_pool.cluster` here: `python -m benchmarks.studies.cluster [PART ...]`.

Parts: speed (steps per second beside a local pool), latency (of one step), recovery (after a worker
was killed), memory (of all of Ray's processes). Everything runs on one machine, whose cores the
workers share, so a cluster can't be faster here than a local pool: the figures show what it costs.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import parallel_pool
from benchmarks.harness import report
from parallel_pool._bench import machine, tree
from parallel_pool._bench.rounds import Player, Spread, interleave, ratio
from parallel_pool._command import until_interrupted
from parallel_pool.cluster import ClusterVectorEnv, Every, Rollouts

LOCAL = "local pool"
TASKS: Mapping[str, tuple[str, int, dict[str, Any]]] = {
    "CartPole-v1, 256 environments": ("CartPole-v1", 256, {}),
    "Pong-v5, 64 environments": ("Pong-v5", 64, {}),
    "Ant-v5, 64 environments": ("Ant-v5", 64, {}),
}


class Stepping:
    """A vector environment with random actions."""

    children: Sequence[int] = ()

    def __init__(self, make: Callable[[], Any]) -> None:
        self.envs = make()
        self.envs.reset(seed=0)
        self.actions = self.envs.action_space.sample()

    def play(self, batches: int) -> int:
        for _ in range(batches):
            self.envs.step(self.actions)
        return batches * int(self.envs.num_envs)

    def close(self) -> None:
        self.envs.close()


class AtRandom:
    """A policy that costs next to nothing: it repeats random actions."""

    def __init__(self, space: Any, count: int) -> None:
        self.actions = np.stack([space.sample() for _ in range(count)])
        self.zeros = np.zeros(count)

    def act(self, observations: Any) -> Any:
        return self.actions[: len(observations)], self.zeros[: len(observations)], {}

    def log_prob(self, observations: Any, actions: Any) -> Any:
        return self.zeros[: len(actions)]

    def state(self) -> Any:
        return {"zeros": self.zeros}

    def load(self, state: Any) -> None:
        """Takes nothing: the actions stay."""


class Collecting:
    """Rollouts of this many steps, by one worker."""

    children: Sequence[int] = ()

    def __init__(self, env: str, count: int, steps: int, space: Any) -> None:
        make = partial(AtRandom, space, count)
        cores = len(os.sched_getaffinity(0))
        options: dict[str, Any] = {"num_workers": 1, "overlap": True, "sync": Every(1)}
        options["cpus_per_worker"] = cores
        self.rollouts = Rollouts(env, make, count, steps=steps, seed=0, **options)
        self.rollouts.publish(make())

    def play(self, batches: int) -> int:
        """Takes batches; a turn ends with a batch that is done, as it began."""
        steps = sum(next(self.rollouts).rewards.size for _ in range(batches))
        self.rollouts.wait()
        return steps

    def close(self) -> None:
        self.rollouts.close()


def players(task: str) -> Mapping[str, Callable[[], Player]]:
    """Returns the players of a task; each takes all cores in its turn."""
    env, count, options = TASKS[task]
    with closing(parallel_pool.PoolVectorEnv(env, 1, **options)) as one:
        space = one.single_action_space
    made: dict[str, Callable[[], Player]] = {
        LOCAL: partial(Stepping, partial(parallel_pool.PoolVectorEnv, env, count, **options))
    }
    cores = len(os.sched_getaffinity(0))
    for workers in (1, 2, 4):
        cluster = partial(
            ClusterVectorEnv, env, count, num_workers=workers, cpus_per_worker=cores / workers
        )
        made[f"ClusterVectorEnv, {workers} workers"] = partial(Stepping, cluster)
    for steps in (8, 32, 128):
        name = f"Rollouts of {steps} steps, 1 worker"
        made[name] = partial(Collecting, env, count, steps, space)
    return made


def speed(rounds: int, seconds: float) -> list[str]:
    """Returns a table of steps per second."""
    lines = [
        "## Speed\n",
        "| environments | by | steps/s | of a local pool |",
        "| --- | --- | ---: | ---: |",
    ]
    for task in TASKS:
        with ExitStack() as stack:
            made = {
                name: stack.enter_context(closing(make())) for name, make in players(task).items()
            }
            samples = interleave(made, rounds, seconds, turns=2)
        for name, own in samples.items():
            rate = Spread.of(each.rate for each in own).median
            share = ratio(own, samples[LOCAL])
            shown = report.share(share)
            lines.append(f"| {task} | {name} | {rate:,.0f} | {'' if name == LOCAL else shown} |")
    return lines


def latency(rounds: int, seconds: float) -> list[str]:
    """Returns a table of the time that one step takes."""
    lines = [
        "## Latency\n",
        "| CartPole-v1 | a step, median | 99 of 100 |",
        "| --- | ---: | ---: |",
    ]
    for count, workers in ((2, 1), (2, 2), (256, 1), (256, 2)):
        make = partial(ClusterVectorEnv, "CartPole-v1", count, num_workers=workers)
        with closing(Stepping(make)) as player:
            times = []
            end = time.perf_counter() + rounds * seconds
            while time.perf_counter() < end:
                start = time.perf_counter()
                player.play(1)
                times.append(time.perf_counter() - start)
        median, high = 1e3 * np.percentile(times, [50, 99])
        what = f"{count} environments, {workers} workers"
        lines.append(f"| {what} | {median:.2f} ms | {high:.2f} ms |")
    return lines


def recovery(rounds: int, seconds: float) -> list[str]:
    """Returns a table of the time until a killed worker steps again."""
    del seconds
    lines = ["## Recovery\n", "| after kill -9 of a worker | seconds |", "| --- | ---: |"]
    for env in ("CartPole-v1", "Pong-v5", "Ant-v5"):
        times = []
        with closing(Stepping(partial(ClusterVectorEnv, env, 16, num_workers=2))) as player:
            for _ in range(rounds):
                start = time.perf_counter()
                os.kill(player.envs.workers[1]["pid"], signal.SIGKILL)
                # until its rows, truncated once, have been reset and stepped
                while not player.envs.step(player.actions)[3][8:].all():
                    pass
                player.play(2)
                times.append(time.perf_counter() - start)
        shown = report.share(Spread.of(times))
        lines.append(f"| {env}: until it steps again | {shown} |")
    return lines


def memory(rounds: int, seconds: float) -> list[str]:
    """Returns a table of the memory that Ray's processes and the workers hold."""
    del rounds, seconds
    lines = ["## Memory\n", "| | MB (PSS) |", "| --- | ---: |"]
    held = {"Ray alone": ray_memory()}
    for env, count in (("CartPole-v1", 64), ("Pong-v5", 64)):
        with closing(Stepping(partial(ClusterVectorEnv, env, count, num_workers=2))) as player:
            player.play(50)
            held[f"with two workers of {count // 2} {env} each"] = ray_memory()
    return lines + [f"| {name} | {megabytes:,.0f} |" for name, megabytes in held.items()]


def ray_memory() -> float:
    """Returns the memory of all descendants of this process in MB, each page counted once."""
    return tree.memory_of(tree.descendants(os.getpid())) / 1e3


PARTS: Mapping[str, Callable[[int, float], list[str]]] = {
    each.__name__: each for each in (speed, latency, recovery, memory)
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.cluster", description=__doc__
    )
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all, if none is named")
    parser.add_argument("--rounds", type=int, default=7, help="(7)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each player in a round (1)")
    parser.add_argument("--out", type=Path, help="file for the tables")
    options = parser.parse_args(arguments)
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    import ray

    # the workers are as many as cores and more, in turn
    ray.init(
        address="local",
        num_cpus=64,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=2 * 2**30,
        logging_level="ERROR",
    )
    lines = [f"{machine.summary()}\n"]
    print(lines[0], flush=True)
    for name in options.parts or PARTS:
        found = PARTS[name](options.rounds, options.seconds)
        print("\n".join(found), flush=True)
        lines += [*found, ""]
    if options.out:
        options.out.write_text("\n".join(lines).rstrip() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
