"""Races Procgen's 16 games, hard levels: `python -m benchmarks.studies.procgen [GAME ...]`.

64 environments and two threads, beside EnvPool and the library's own loop, which take turns.
EnvPool is compared with `parallel_pool.make` of the same id. The library's loop is called through
C, as gym3 calls it, on 0 to 4 threads of its own, and compared with a pool that returns the same
bits. A row is a game: steps per second, how many times faster ours are, and for the library's loop
by CPU time, too. The last row has the medians of the games.

EnvPool 1.2.5 draws with the system's Qt 5, and is left out where that is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.harness.report import page, publish, table
from benchmarks.scenes.native_scenes import PROCGEN_ENVPOOLS
from benchmarks.scenes.procgen_own import procgen_loop
from parallel_pool._bench.contender import Task
from parallel_pool._bench.race import is_installed
from parallel_pool._bench.rivals import Stepping, envpool_api
from parallel_pool._bench.rounds import Player, Sample, Spread, interleave, ratio
from parallel_pool._command import until_interrupted
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool

NUM_ENVS = 64
OWN_THREADS = (0, 1, 2, 4)
OURS, POOL = envpool_api.name, "Pool"
GAMES = tuple(
    task_id.removeprefix("procgen-").removesuffix("-v0")
    for task_id in registry.definitions()
    if task_id.startswith("procgen-")
)


def task_of(game: str, threads: int) -> Task:
    """Returns what is played: EnvPool's id of the game."""
    task_id = f"{game.capitalize()}Hard-v0"
    limit = registry.find(task_id).max_episode_steps
    assert limit
    return Task(task_id, NUM_ENVS, NUM_ENVS, threads, 15, limit)


def pool(game: str, task: Task) -> Player:
    """Returns our pool with the bits of the library's own loop."""
    made = Pool(
        f"procgen-{game}-v0",
        task.num_envs,
        num_threads=task.num_threads,
        seed=1,
        autoreset="same_step",
        options={"vector_seeds": True},
    )
    made.reset()
    return Stepping(made, task.actions(np.int64), task.num_envs)


def own(threads: int) -> str:
    return f"{procgen_loop.name}, {threads}"


def makers(game: str, threads: int) -> Mapping[str, Callable[[], Player]]:
    """Returns what makes each player, by its name."""
    task = task_of(game, threads)
    return {
        OURS: partial(envpool_api.make, task),
        POOL: partial(pool, game, task),
        **{who.name: partial(who.make, task) for who in PROCGEN_ENVPOOLS if is_installed(who)},
        **{
            own(count): partial(procgen_loop.make, replace(task, num_threads=count))
            for count in OWN_THREADS
        },
    }


def rate(samples: Sequence[Sample]) -> float:
    return Spread.of(each.rate for each in samples).median


def cpu(samples: Sequence[Sample]) -> float:
    return Spread.of(each.cpu_us for each in samples).median


def compared(samples: Mapping[str, Sequence[Sample]]) -> dict[str, tuple[str, float]]:
    """Returns the cells of a game, and the numbers of which the last row has medians.

    Ratios are of the rounds; the library's best is its fastest number of threads, and its least is
    the one with the least CPU time.
    """
    cells = {
        f"{name}, steps/s": (f"{rate(samples[name]):,.0f}", rate(samples[name]))
        for name in (OURS, POOL)
    }
    for who in PROCGEN_ENVPOOLS:
        if who.name in samples:
            faster = ratio(samples[OURS], samples[who.name]).median
            cells[f"{OURS} / {who.name}"] = (f"{faster:.2f}", faster)
    best = max(OWN_THREADS, key=lambda count: rate(samples[own(count)]))
    least = min(OWN_THREADS, key=lambda count: cpu(samples[own(count)]))
    faster = ratio(samples[POOL], samples[own(best)]).median
    cheaper = ratio(samples[POOL], samples[own(least)], cpu=True).median
    cells["Pool / own loop, its best threads"] = (f"{faster:.2f} ({best})", faster)
    cells["by CPU time, its least"] = (f"{cheaper:.2f} ({least})", cheaper)
    return cells


def play(game: str, threads: int, rounds: int, seconds: float) -> dict[str, tuple[str, float]]:
    """Races the players of a game; returns what `compared` does."""
    with ExitStack() as stack:
        players = {
            name: stack.enter_context(closing(make()))
            for name, make in makers(game, threads).items()
        }
        return compared(interleave(players, rounds, seconds, turns=3))


def of_games(found: Mapping[str, Mapping[str, tuple[str, float]]]) -> list[str]:
    """Returns the table of all games, and their medians."""
    names = list(next(iter(found.values())))
    rows = [[game, *(text for text, _ in cells.values())] for game, cells in found.items()]
    middle = [median(cells[name][1] for cells in found.values()) for name in names]
    texts = [f"{each:,.0f}" if each > 1000 else f"{each:.2f}" for each in middle]
    return table(["game", *names], [*rows, ["median", *texts]])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.procgen", description=__doc__
    )
    parser.add_argument("games", nargs="*", metavar="GAME", help="all, if none is named")
    parser.add_argument("--threads", type=int, default=2, help="of ours and EnvPool's (2)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each player (9)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each in a round (0.3)")
    parser.add_argument("--out", type=Path, help="file for the table")
    given = parser.parse_args(arguments)
    if unknown := set(given.games) - set(GAMES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(GAMES)}")
    found = {}
    for game in given.games or GAMES:
        found[game] = play(game, given.threads, given.rounds, given.seconds)
        print(game, *(f"{name}: {text}" for name, (text, _) in found[game].items()), flush=True)
    report = page(
        "Procgen",
        f"`python -m benchmarks.studies.procgen`: {NUM_ENVS} environments, {given.threads} threads,"
        f" {given.rounds} interleaved rounds, medians.",
        *of_games(found),
    )
    publish(report, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
