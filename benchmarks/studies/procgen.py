"""Procgen's games beside the library's own loop: the same rows, and the time of a step.

    python -m benchmarks.studies.procgen parity --steps 20000 --num 1
    python -m benchmarks.studies.procgen speed --threads 2

`parity` compares each game in each mode with ProcgenGym3Env in another process, frame by frame.
`speed` plays 64 environments of each game here and there in turn, on the library's 0 to 4 threads;
the library's own loop is called through C, as gym3 calls it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.scenes.procgen_own import own_loop
from parallel_pool._bench.contender import Task
from parallel_pool._engine.pool import Pool
from tests.parity.test_procgen import GAMES, TASKS, check, ours
from tests.support.reference.procgen_player import Play, expected

NUM_ENVS, BATCHES = 64, 20
OWN_THREADS = (0, 1, 2, 4)


def parity(steps: int, num: int, games: Sequence[str]) -> int:
    """Prints a line for each game and mode; returns how many differ."""
    failed = 0
    for game, mode in TASKS:
        if game not in games:
            continue
        play = Play(game, mode, num=num, seed=1, steps=steps, run=4)
        rows = expected(play)
        try:
            check(ours(play, is_vector=num > 1), rows)
            outcome = "the same"
        except AssertionError as error:
            outcome, failed = str(error), failed + 1
        ends = int(rows["first"][1:].sum())
        print(f"{game:10} {mode:12} {num} x {steps} steps, {ends} episodes: {outcome}", flush=True)
    return failed


def speed(threads: int, rounds: int, games: Sequence[str]) -> None:
    """Prints steps per second of both, and our part of the library's best."""
    print(
        f"{'game':10} {'ours':>9} {'own loop, best':>15} {'ours / best':>12}"
        f" {'CPU, ours':>9} {'own, least':>14} {'ratio':>6}   steps/s, us/step"
    )
    for game in games:
        task = Task(f"procgen-{game}-v0", NUM_ENVS, NUM_ENVS, threads, 15, 0)
        owns = {n: own_loop(task, n) for n in OWN_THREADS}
        with Pool(task.env_id, NUM_ENVS, num_threads=threads, autoreset="same_step") as pool:
            pool.reset()
            steps: dict[int | str, Any] = {"ours": pool.step}
            steps |= {n: own.step for n, own in owns.items()}
            players = {name: _player(step, task) for name, step in steps.items()}
            times: dict[int | str, list[float]] = {name: [] for name in players}
            work: dict[int | str, list[float]] = {name: [] for name in players}
            for _ in range(rounds + 1):
                for name, play in players.items():
                    start, busy = time.perf_counter(), time.process_time()
                    play()
                    times[name].append(time.perf_counter() - start)
                    work[name].append(time.process_time() - busy)
        for own in owns.values():
            own.close()
        rate = {
            name: NUM_ENVS * BATCHES / statistics.median(each[1:]) for name, each in times.items()
        }
        best = max(OWN_THREADS, key=lambda n: rate[n])
        cost = {
            name: 1e6 * statistics.median(each[1:]) / (NUM_ENVS * BATCHES)
            for name, each in work.items()
        }
        least = min(OWN_THREADS, key=lambda n: cost[n])
        print(
            f"{game:10} {rate['ours']:9,.0f} {rate[best]:9,.0f} ({best:2})"
            f" {rate['ours'] / rate[best]:13.2f}"
            f" {cost['ours']:9.1f} {cost[least]:9.1f} ({least:2})"
            f" {cost[least] / cost['ours']:6.2f}",
            flush=True,
        )


def _player(step: Callable[[np.ndarray], object], task: Task) -> Callable[[], None]:
    actions = task.actions(np.int64)[:BATCHES]

    def play() -> None:
        for row in actions:
            step(row)

    return play


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["parity", "speed"])
    parser.add_argument("--steps", type=int, default=20000, help="of each environment")
    parser.add_argument("--num", type=int, default=1, help="environments in a vector")
    parser.add_argument("--threads", type=int, default=2, help="of ours")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--games", nargs="+", default=GAMES, choices=GAMES)
    given = parser.parse_args(arguments)
    if given.what == "parity":
        return min(parity(given.steps, given.num, given.games), 1)
    speed(given.threads, given.rounds, given.games)
    return 0


if __name__ == "__main__":
    sys.exit(main())
