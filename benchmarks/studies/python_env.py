"""Environments in Python, translated to C: beside the same in plain C, and in SyncVectorEnv.

    python -m benchmarks.studies.python_env

Each class of python_classes.py is compiled by `parallel_pool.compile`, and stepped beside what
python_classes.c holds of it, on one thread, by CPU time, round by round. The results of both are
compared in every step of the first rounds. What two threads gain is by the clock.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import parallel_pool
from benchmarks.harness.report import publish
from benchmarks.studies import python_classes
from parallel_pool._bench import machine

HERE = Path(__file__).parent
NUM_ENVS = 1024
# where the plain form finds the prices
PRICES = str(Path(tempfile.gettempdir()) / f"prices-{os.getpid()}")
# steps of all environments in a round of one player
STEPS = 200
SMALL = 64
POOLS = 10
# the class, the id in plain C, its options, and the least shares that are asked for: of plain C's
# speed, of SyncVectorEnv's with 1024 environments and with 64
CASES: tuple[tuple[Any, str, dict[str, Any], float, float, float], ...] = (
    (python_classes.CartPole, "plain/CartPole-v0", {}, 0.95, 110, 80),
    (python_classes.ArrayCartPole, "plain/CartPole-v0", {}, 0.9, 110, 80),
    (python_classes.GridWorld, "plain/GridWorld-v0", {}, 0.95, 250, 80),
    (
        python_classes.Trading,
        "plain/Trading-v0",
        {"prices": PRICES},
        0.95,
        250,
        80,
    ),
)


def pool(
    env_id: str, num_envs: int, limit: int | None = None, threads: int = 1, **options: Any
) -> parallel_pool.Pool:
    made = parallel_pool.Pool(
        env_id,
        num_envs,
        num_threads=threads,
        max_episode_steps=limit,
        seed=0,
        reward_dtype="float64",
        options=options,
    )
    made.reset()
    return made


def cpu_seconds(step: Any, actions: Any, steps: int) -> float:
    """Returns the CPU time of steps."""
    begun = time.process_time()
    for action in actions[:steps]:
        step(action)
    return time.process_time() - begun


def gain(make: Any, actions: Any) -> float:
    """Returns how many times as fast two threads are as one, by the clock."""
    found = []
    pools = [make(threads) for threads in (1, 2)]
    for _ in range(15):
        times = []
        for each in pools:
            begun = time.perf_counter()
            for action in actions[:STEPS]:
                each.step(action)
            times.append(time.perf_counter() - begun)
        found.append(times[0] / times[1])
    for each in pools:
        each.close()
    return statistics.median(found)


def compare(ours: parallel_pool.Pool, plain: parallel_pool.Pool, actions: Any) -> int:
    """Returns the steps of environments in which both gave the same."""
    for action in actions:
        one, other = ours.step(action), plain.step(action)
        assert one.obs.tobytes() == other.obs.tobytes()
        assert one.reward.tobytes() == other.reward.tobytes()
        assert np.array_equal(one.terminated, other.terminated)
        assert np.array_equal(one.truncated, other.truncated)
    return len(actions) * NUM_ENVS


def sync_seconds(cls: Any, limit: int | None, num_envs: int, steps: int) -> float:
    """Returns the CPU time of a step of one environment in SyncVectorEnv."""

    def make() -> Any:
        return cls() if limit is None else gymnasium.wrappers.TimeLimit(cls(), limit)

    envs = gymnasium.vector.SyncVectorEnv([make] * num_envs)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(steps)]
    found = cpu_seconds(envs.step, actions, steps) / steps / num_envs
    envs.close()
    return found


def measure(case: tuple[Any, str, dict[str, Any], float, float, float], rounds: int) -> list[str]:
    """Returns the row of one class."""
    cls, plain_id, options, share_bar, sync_bar, small_bar = case
    limit = 500 if "CartPole" in cls.__name__ else None
    begun = time.perf_counter()
    (env_id,) = parallel_pool.compile(cls, f"python/{cls.__name__}-v0")
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    parallel_pool.compile(cls, f"python/{cls.__name__}-v0")
    again = time.perf_counter() - begun
    count = int(cls().action_space.n)
    draws = np.random.default_rng(0)
    actions = [draws.integers(count, size=NUM_ENVS) for _ in range(1000)]
    equal = compare(pool(env_id, NUM_ENVS, limit), pool(plain_id, NUM_ENVS, **options), actions)
    times: dict[str, list[float]] = {"ours": [], "plain": []}
    makers = {
        "ours": lambda threads=1: pool(env_id, NUM_ENVS, limit, threads),
        "plain": lambda threads=1: pool(plain_id, NUM_ENVS, threads=threads, **options),
    }
    # which pages of memory a pool gets is chance, and counts
    for number in range(POOLS):
        names = list(makers)[:: 1 if number % 2 else -1]
        players = {name: makers[name]() for name in names}
        for _ in range(rounds // POOLS):
            for name in names:
                times[name].append(cpu_seconds(players[name].step, actions, STEPS))
            names.reverse()
        for each in players.values():
            each.close()
    ratios = [b / a for a, b in zip(times["ours"], times["plain"], strict=True)]
    share = statistics.median(ratios)
    own = statistics.median(times["ours"]) / STEPS / NUM_ENVS
    sync = statistics.median(sync_seconds(cls, limit, NUM_ENVS, 5) for _ in range(5))
    small_pool = pool(env_id, SMALL, limit)
    small_actions = [draws.integers(count, size=SMALL) for _ in range(3000)]
    small = statistics.median(
        cpu_seconds(small_pool.step, small_actions, 3000) / 3000 / SMALL for _ in range(7)
    )
    small_sync = statistics.median(sync_seconds(cls, limit, SMALL, 60) for _ in range(5))
    print(f"{cls.__name__}: {first:.2f} s, again {again:.3f} s", file=sys.stderr)
    marks = [
        mark(share, share_bar, f"{share:.2f}"),
        mark(sync / own, sync_bar, f"{sync / own:.0f}"),
        mark(small_sync / small, small_bar, f"{small_sync / small:.0f}"),
    ]
    return [
        cls.__name__,
        f"{own * 1e9:.1f}",
        *marks,
        f"{sync * 1e6:.2f}",
        "{:.2f} ({:.2f})".format(*(gain(each, actions) for each in makers.values())),
        f"{equal:,}",
        f"{first:.2f}",
        f"{again:.3f}",
    ]


def mark(value: float, bar: float, text: str) -> str:
    return text if value >= bar else f"{text} (bar {bar:g})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and writes the result; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.python_env", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the table goes, too")
    options = parser.parse_args(arguments)
    python_classes.PRICES.tofile(PRICES)
    try:
        # the first use compiles: libraries are looked for in the user's cache and in /tmp
        with tempfile.TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = tempfile.tempdir = cache
            parallel_pool.load_source(HERE / "python_classes.c")
            rows = [measure(case, options.rounds) for case in CASES]
    finally:
        os.unlink(PRICES)
    heads = [
        *("class", "ns a step", "share of plain C", f"times SyncVectorEnv, {NUM_ENVS}"),
        *(f"times SyncVectorEnv, {SMALL}", "us in SyncVectorEnv"),
        *("two threads, times one (plain C's)", "equal steps"),
        *("first use, s", "again, s"),
    ]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    report = "\n".join(
        [
            "# Environments in Python, translated to C",
            "",
            f"{machine.summary()},"
            f" `python -m benchmarks.studies.python_env`: CPU time, one thread, {NUM_ENVS}"
            f" environments, {options.rounds} interleaved rounds, medians.",
            "",
            *(f"| {' | '.join(line)} |" for line in lines),
            "",
        ]
    )
    publish(report, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
