"""Environments in Python, translated to C: beside the same in plain C, and in SyncVectorEnv.

    python -m benchmarks.studies.python_env

Each class of python_classes.py is compiled by `parallel_pool.compile`, and stepped beside what
python_classes.c holds of it, on one thread, by CPU time, round by round. The results of both are
compared in every step of the first rounds. What two threads gain is by the clock.

The second table says what could be reached at all. python_classes.c has environments that do
nothing but what the bits need: sine and cosine of the C library, a copy of the board, divisions of
a window's prices. With these, and cart-pole for a block of environments at a time, the pools are
timed in the same rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import parallel_pool
from benchmarks.harness.report import page, publish, table
from benchmarks.studies import python_classes

HERE = Path(__file__).parent
NUM_ENVS = 1024
# where the plain form finds the prices
PRICES = str(Path(tempfile.gettempdir()) / f"prices-{os.getpid()}")
# steps of all environments in a round of one player
STEPS = 200
# a small pool's environments, and its steps in a round; the round's steps of SyncVectorEnv
SMALL_ENVS, SMALL_STEPS = 64, 3000
SYNC_STEPS = 2
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
# what each class cannot do without, and cart-pole in stages
MINIMAL_IDS = {
    "CartPole": "least/CartPole-v0",
    "ArrayCartPole": "least/CartPole-v0",
    "GridWorld": "least/GridWorld-v0",
    "Trading": "least/Trading-v0",
}
STAGED = {"CartPole": "staged/CartPole-v0"}


def pool(
    task_id: str, num_envs: int, limit: int | None = None, threads: int = 1, **options: Any
) -> parallel_pool.Pool:
    made = parallel_pool.Pool(
        task_id,
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


class Timed(NamedTuple):
    """Something that steps environments: one round of it.

    Attributes:
        step: called with the actions of all environments.
        actions: of the steps of a round.
    """

    step: Callable[[Any], Any]
    actions: Sequence[Any]

    def seconds(self) -> float:
        """Returns the CPU time of a step of one environment."""
        count = len(self.actions)
        return cpu_seconds(self.step, self.actions, count) / count / len(self.actions[0])


def sync(cls: Any, limit: int | None, num_envs: int) -> Any:
    """Returns the class in SyncVectorEnv."""

    def make() -> Any:
        return cls() if limit is None else gymnasium.wrappers.TimeLimit(cls(), limit)

    envs = gymnasium.vector.SyncVectorEnv([make] * num_envs)
    envs.reset(seed=0)
    return envs


def timed(
    makers: Mapping[str, Callable[[], parallel_pool.Pool]],
    small_makers: Mapping[str, Callable[[], parallel_pool.Pool]],
    syncs: Mapping[str, Timed],
    actions: Sequence[Any],
    rounds: int,
) -> dict[str, list[float]]:
    """Returns for each player the CPU time of a step of one environment, in each round.

    All play in every round, as other users of the machine slow down some rounds. Pools are made
    anew from time to time: which pages of memory one gets is chance, and counts.
    """
    times: dict[str, list[float]] = {}
    small_actions = [each[:SMALL_ENVS] for each in actions] * (SMALL_STEPS // len(actions))
    for number in range(POOLS):
        pools = {name: make() for name, make in {**makers, **small_makers}.items()}
        players = {
            name: Timed(each.step, small_actions if name in small_makers else actions[:STEPS])
            for name, each in pools.items()
        }
        names = [*players, *syncs][:: 1 if number % 2 else -1]
        for _ in range(rounds // POOLS):
            for name in names:
                times.setdefault(name, []).append((players.get(name) or syncs[name]).seconds())
            names.reverse()
        for each in pools.values():
            each.close()
    return times


def measure(
    case: tuple[Any, str, dict[str, Any], float, float, float], rounds: int
) -> tuple[list[str], list[str]]:
    """Returns the rows of one class in both tables."""
    cls, plain_id, options, share_bar, sync_bar, small_bar = case
    limit = 500 if "CartPole" in cls.__name__ else None
    begun = time.perf_counter()
    (task_id,) = parallel_pool.compile(cls, f"python/{cls.__name__}-v0")
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    parallel_pool.compile(cls, f"python/{cls.__name__}-v0")
    again = time.perf_counter() - begun
    print(f"{cls.__name__}: {first:.2f} s, again {again:.3f} s", file=sys.stderr)
    count = int(cls().action_space.n)
    draws = np.random.default_rng(0)
    actions = [draws.integers(count, size=NUM_ENVS) for _ in range(1000)]
    equal = compare(pool(task_id, NUM_ENVS, limit), pool(plain_id, NUM_ENVS, **options), actions)
    least_id = MINIMAL_IDS[cls.__name__]
    makers = {
        "ours": lambda threads=1: pool(task_id, NUM_ENVS, limit, threads),
        "plain": lambda threads=1: pool(plain_id, NUM_ENVS, threads=threads, **options),
        "least": lambda threads=1: pool(least_id, NUM_ENVS, threads=threads, **options),
    }
    if staged_id := STAGED.get(cls.__name__):
        compare(pool(staged_id, NUM_ENVS), pool(plain_id, NUM_ENVS), actions)
        makers["staged"] = lambda threads=1: pool(staged_id, NUM_ENVS, threads=threads)
    small_makers = {
        "small": lambda: pool(task_id, SMALL_ENVS, limit),
        "small least": lambda: pool(least_id, SMALL_ENVS, **options),
    }
    with (
        closing(sync(cls, limit, NUM_ENVS)) as all_envs,
        closing(sync(cls, limit, SMALL_ENVS)) as few,
    ):
        syncs = {
            "sync": Timed(all_envs.step, actions[:SYNC_STEPS]),
            "small sync": Timed(
                few.step,
                [each[:SMALL_ENVS] for each in actions[: SYNC_STEPS * NUM_ENVS // SMALL_ENVS]],
            ),
        }
        times = timed(makers, small_makers, syncs, actions, rounds)

    def ratio(slower: str, faster: str) -> float:
        """Returns the median of the rounds' ratios."""
        return statistics.median(a / b for a, b in zip(times[slower], times[faster], strict=True))

    def ns(name: str) -> str:
        return f"{statistics.median(times[name]) * 1e9:.1f}" if name in times else ""

    share, gained, small_gained = (
        ratio(*pair) for pair in (("plain", "ours"), ("sync", "ours"), ("small sync", "small"))
    )
    found = [
        cls.__name__,
        ns("ours"),
        mark(share, share_bar, f"{share:.2f}"),
        mark(gained, sync_bar, f"{gained:.0f}"),
        mark(small_gained, small_bar, f"{small_gained:.0f}"),
        f"{statistics.median(times['sync']) * 1e6:.2f}",
        "{:.2f} ({:.2f})".format(*(gain(makers[name], actions) for name in ("ours", "plain"))),
        f"{equal:,}",
        f"{first:.2f}",
        f"{again:.3f}",
    ]
    reachable = [
        cls.__name__,
        *(ns(name) for name in ("ours", "plain", "staged", "least")),
        f"{ratio('sync', 'least'):.0f} (bar {sync_bar})",
        *(ns(name) for name in ("small", "small least")),
        f"{ratio('small sync', 'small least'):.0f} (bar {small_bar})",
    ]
    return found, reachable


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
            rows, reachable = zip(*(measure(case, options.rounds) for case in CASES), strict=True)
    finally:
        os.unlink(PRICES)
    heads = [
        *("class", "ns a step", "share of plain C", f"times SyncVectorEnv, {NUM_ENVS}"),
        *(f"times SyncVectorEnv, {SMALL_ENVS}", "us in SyncVectorEnv"),
        *("two threads, times one (plain C's)", "equal steps"),
        *("first use, s", "again, s"),
    ]
    most = "times SyncVectorEnv that the least is"
    second = [
        *("class", f"ns a step, {NUM_ENVS}", "plain C", "in stages", "the least", most),
        *(f"ns a step, {SMALL_ENVS}", "the least", most),
    ]
    report = page(
        "Environments in Python, translated to C",
        f"`python -m benchmarks.studies.python_env`: CPU time, one thread, {NUM_ENVS} environments,"
        f" {options.rounds} interleaved rounds, medians.",
        *table(heads, rows),
        "",
        "What no C can leave out if its bits shall be the same (least/...), in ns a step:",
        "",
        *table(second, reachable),
    )
    publish(report, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
