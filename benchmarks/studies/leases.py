"""Measures leases: `python -m benchmarks.studies.leases`.

Environments of one millisecond, each in a worker of its own, of two kinds: "compute", whose step
takes its time on a core, and "wait", whose step sleeps. Three questions:

- throughput: what share of a batched pool's steps per second do tasks reach that step a lease each?
  Both play in turn, in rounds.
- cost: how much CPU time does this process use for a step, beside the batched pool's? How much do
  all processes use? Where that keeps all cores busy, it limits the steps per second: the ratio of
  both players' costs is "ratio_at_most".
- faults: how much longer do steps of the others take (median, p99) while one environment spins for
  ever and another is killed every second? The same tasks play without and with faults, and every
  result is checked: no step may be lost or doubled. As controls they also play without faults
  beside a process that has nothing to do with the pool and spins, and beside that and another
  process, in whose own pool a worker is killed every second. What these cost is the price of the
  core that a spinning environment takes, and of the end and start of a process, which no pool can
  give back.

A task pauses between its steps in the last part, so that a given share of the cores is used.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from parallel_pool import ProcessPool
from parallel_pool._bench import machine
from parallel_pool._command import until_interrupted
from parallel_pool.errors import WorkerError
from parallel_pool.leases import AsyncLease, LeasePool

KINDS = ("compute", "wait")
# an action that spins for ever
SPIN = 1
# descriptors of one worker in this process, and some for everything else
FILES_EACH, FILES_MORE = 8, 256


class Timed(gymnasium.Env[Any, Any]):
    """Observes the number of its steps, each of which takes some time."""

    observation_space = gymnasium.spaces.Box(0, 1e9, (4,), np.float64)
    action_space: Any = gymnasium.spaces.Discrete(2)

    def __init__(self, kind: str, seconds: float) -> None:
        self.kind, self.seconds, self.steps = kind, seconds, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(4), {}

    def step(self, action: Any) -> Any:
        while action == SPIN:
            pass
        if self.kind == "wait":
            time.sleep(self.seconds)
        else:
            end = time.thread_time() + self.seconds
            while time.thread_time() < end:
                pass
        self.steps += 1
        return np.full(4, self.steps, np.float64), 1.0, False, False, {}


class Player:
    """A task's view of one lease, whose results it checks."""

    def __init__(self, env: AsyncLease) -> None:
        self.env, self.steps = env, 0
        self.latencies: list[float] = []
        self.deaths = 0

    async def begin(self) -> None:
        await self.env.reset(seed=1, retries=5)
        self.steps = 0

    async def step(self) -> None:
        start = time.perf_counter()
        try:
            observation, *_ = await self.env.step(0, timeout=60)
        except WorkerError:
            self.deaths += 1
            await self.begin()
            return
        self.latencies.append(time.perf_counter() - start)
        self.steps += 1
        if observation[0] != self.steps:
            raise AssertionError(f"{self.env}: step {observation[0]}, expected {self.steps}")

    async def play(self, end: float, pause: float = 0.0) -> None:
        """Steps until `end` (time.perf_counter), with pauses of random length between steps."""
        while time.perf_counter() < end:
            if pause:
                await asyncio.sleep(random.uniform(0, 2 * pause))
            await self.step()


@contextlib.asynccontextmanager
async def players(pool: LeasePool) -> AsyncIterator[list[Player]]:
    """Takes all leases of a pool and begins their episodes."""
    async with contextlib.AsyncExitStack() as stack:
        envs = [await stack.enter_async_context(pool.lease()) for _ in range(pool.num_envs)]
        found = [Player(env) for env in envs]
        await asyncio.gather(*[player.begin() for player in found])
        yield found


def milliseconds(seconds: list[float]) -> dict[str, float]:
    return {
        "median_ms": round(1e3 * statistics.median(seconds), 3),
        "p99_ms": round(1e3 * float(np.percentile(seconds, 99)), 3),
        "max_ms": round(1e3 * max(seconds), 3),
    }


def p99_ratio(seconds: list[float], to: list[float]) -> float:
    return round(float(np.percentile(seconds, 99) / np.percentile(to, 99)), 3)


# -------------------------------------------------------------------------------- throughput --


class Round(NamedTuple):
    """What a round has shown.

    Attributes:
        rate: steps per second.
        own: CPU seconds of this process for each step.
        all: those of the workers, too.
    """

    rate: float
    own: float
    all: float


class Clocks:
    """Counts time from now on."""

    def __init__(self, pids: Iterable[int | None]) -> None:
        self._workers = [Path(f"/proc/{pid}/schedstat") for pid in pids if pid is not None]
        self._wall, self._own = time.perf_counter(), time.process_time()
        self._theirs = self._worked()

    def _worked(self) -> float:
        return sum(int(each.read_text().split()[0]) for each in self._workers) / 1e9

    def round(self, steps: int) -> Round:
        wall, own = time.perf_counter() - self._wall, time.process_time() - self._own
        return Round(steps / wall, own / steps, (own + self._worked() - self._theirs) / steps)


def batched_round(pool: ProcessPool, seconds: float) -> Round:
    actions, steps = np.zeros(pool.num_envs, np.int64), 0
    clocks, end = Clocks(pool.worker_pids), time.perf_counter() + seconds
    while time.perf_counter() < end:
        pool.step(actions)
        steps += pool.num_envs
    return clocks.round(steps)


async def leased_round(pool: LeasePool, found: list[Player], seconds: float) -> Round:
    before = sum(len(player.latencies) for player in found)
    clocks, end = Clocks(pool.worker_pids), time.perf_counter() + seconds
    await asyncio.gather(*[player.play(end) for player in found])
    return clocks.round(sum(len(player.latencies) for player in found) - before)


async def throughput(makers: list[Callable[[], Any]], rounds: int, seconds: float) -> Any:
    """Plays both in turn; each has its own workers, of which the other's sleep."""
    ours: list[Round] = []
    theirs: list[Round] = []
    with ProcessPool(makers, num_workers=len(makers)) as batched:
        batched.reset(seed=1)
        async with LeasePool(makers) as pool, players(pool) as found:
            batched_round(batched, seconds / 4)
            await leased_round(pool, found, seconds / 4)
            for _ in range(rounds):
                theirs.append(batched_round(batched, seconds))
                ours.append(await leased_round(pool, found, seconds))
    pairs = list(zip(ours, theirs, strict=True))
    ratios = [own.rate / other.rate for own, other in pairs]
    return {
        "leases_per_s": round(statistics.median(own.rate for own in ours)),
        "batched_per_s": round(statistics.median(other.rate for other in theirs)),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
        "ratio_at_most": round(statistics.median(other.all / own.all for own, other in pairs), 3),
        "cpu_us_per_step": round(1e6 * statistics.median(own.own for own in ours), 1),
        "cpu_us_per_step_batched": round(1e6 * statistics.median(it.own for it in theirs), 1),
        "overhead_us": round(1e6 * statistics.median(own.own - it.own for own, it in pairs), 1),
        "all_cpu_us_per_step": round(1e6 * statistics.median(own.all for own in ours), 1),
        "all_cpu_us_per_step_batched": round(1e6 * statistics.median(it.all for it in theirs), 1),
    }


# ------------------------------------------------------------------------------------ faults --


@contextlib.contextmanager
def spinner() -> Iterator[None]:
    """Runs a process of its own that spins."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def stranger(kind: str, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """Runs a process of its own whose pool of one environment loses its worker every second.

    It says what a replacement costs when its input ends.
    """
    command = [sys.executable, "-m", "benchmarks.studies.leases", "--stranger", kind, str(seconds)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=machine.ROOT, text=True, **pipes) as process:
        assert process.stdout is not None and process.stdout.readline()
        yield process


async def be_stranger(kind: str, seconds: float) -> None:
    """Kills the worker of one environment every second, until the input ends; see `stranger`."""
    costs: list[float] = []
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    async with LeasePool([partial(Timed, kind, seconds)]) as pool, players(pool) as (player,):
        print("ready", flush=True)
        while not ended.done():
            await asyncio.wait([ended], timeout=1.0)
            (pid,) = pool.worker_pids
            if pid is None:
                continue
            start = time.process_time()
            os.kill(pid, signal.SIGKILL)
            await player.step()
            await player.step()
            (pid,) = pool.worker_pids
            worked = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
            costs.append(time.process_time() - start + worked)
    print(round(1e3 * statistics.median(costs), 2), flush=True)


async def kill_every_second(pool: LeasePool, victims: list[Player], end: float) -> int:
    """Kills the worker of one environment after the other, from outside; returns how many."""
    kills = 0
    while time.perf_counter() + 1.5 < end:
        await asyncio.sleep(1.0)
        pid = pool.worker_pids[victims[kills % len(victims)].env.env_id]
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            kills += 1
    return kills


async def faults(
    makers: list[Callable[[], Any]], seconds: float, pause: float, strangers: tuple[str, float]
) -> Any:
    """Plays without and with faults; returns latencies of the environments that have none.

    Args:
        seconds: of each of the four parts.
        pause: between a task's steps, in the mean.
        strangers: kind and seconds of the environment that dies in another process.
    """
    async with LeasePool(makers) as pool, players(pool) as found:
        spinning, victims, others = found[0], found[1:9], found[9:]

        async def play(end: float) -> list[float]:
            for player in found:
                player.latencies.clear()
            await asyncio.gather(*[player.play(end, pause) for player in (*victims, *others)])
            return [latency for player in others for latency in player.latencies]

        await play(time.perf_counter() + min(5.0, seconds / 4))
        calm = await play(time.perf_counter() + seconds)
        with spinner():
            control = await play(time.perf_counter() + seconds)
            with stranger(*strangers) as process:
                both = await play(time.perf_counter() + seconds)
                replacement = float(process.communicate()[0])
        end = time.perf_counter() + seconds
        spin = asyncio.create_task(spinning.env.step(SPIN, timeout=math.inf))
        killing = asyncio.create_task(kill_every_second(pool, victims, end))
        stormy = await play(end)
        kills = await killing
        assert not spin.done()
        spinning.env.kill()
        with contextlib.suppress(WorkerError):
            await spin
        # what was killed last may not have noticed yet
        await asyncio.gather(*[player.step() for player in victims])
        await spinning.begin()
        await spinning.step()
        deaths = sum(player.deaths for player in victims)
        if deaths != kills or any(player.deaths for player in others):
            raise AssertionError(f"{deaths} deaths after {kills} kills")
    return {
        "kills": kills,
        "steps": len(stormy),
        "calm": milliseconds(calm),
        "with_faults": milliseconds(stormy),
        "beside_a_spinner": milliseconds(control),
        "beside_a_spinner_and_a_killed_worker": milliseconds(both),
        "replacement_cpu_ms": replacement,
        "p99_ratio": p99_ratio(stormy, calm),
        "p99_ratio_to_a_spinner": p99_ratio(stormy, control),
        "p99_ratio_to_both": p99_ratio(stormy, both),
    }


# ----------------------------------------------------------------------------------- command --


def raise_limits(count: int) -> None:
    """Allows as many open files as so many workers need."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * count * FILES_EACH + FILES_MORE
    if most == resource.RLIM_INFINITY or wanted <= most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--handles", type=int, default=256)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--parts", nargs="+", choices=("throughput", "faults"))
    parser.add_argument("--step-ms", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--round-seconds", type=float, default=4.0)
    parser.add_argument("--fault-seconds", type=float, default=60.0)
    parser.add_argument("--load", type=float, default=0.3, help="share of the cores that is used")
    parser.add_argument("--out", type=Path, help="write the results as JSON, too")
    parser.add_argument("--stranger", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stranger:
        kind, each = options.stranger
        asyncio.run(be_stranger(kind, float(each)))
        return 0
    raise_limits(options.handles)
    seconds, cores = options.step_ms / 1e3, len(os.sched_getaffinity(0))
    # a step that waits costs about 0.1 ms of a core all the same
    busy = {"compute": seconds + 1e-4, "wait": 1e-4}
    found: dict[str, Any] = {**machine.facts(), **machine.moment(), "handles": options.handles}
    for kind in options.kinds:
        makers: list[Callable[[], Any]] = [partial(Timed, kind, seconds)] * options.handles
        results = found[kind] = {}
        if "throughput" in (options.parts or "throughput"):
            results["throughput"] = asyncio.run(
                throughput(makers, options.rounds, options.round_seconds)
            )
            print(kind, json.dumps(results["throughput"]), flush=True)
        if "faults" in (options.parts or "faults"):
            pause = options.handles * busy[kind] / cores / options.load
            results["faults"] = asyncio.run(
                faults(makers, options.fault_seconds, pause, (kind, seconds))
            )
            print(kind, json.dumps(results["faults"]), flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
