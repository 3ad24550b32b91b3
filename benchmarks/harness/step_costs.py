"""Step costs: the CPU time of environment steps, by player, and the table that compares players."""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Player(NamedTuple):
    """Something whose steps are timed.

    Attributes:
        play: steps all environments so many times.
        num_envs: how many it has.
        times: its steps for each step of the others; a player with one environment takes less time.
    """

    play: Callable[[int], None]
    num_envs: int
    times: int = 1


def repeat(step: Callable[[Any], object], rows: np.ndarray[Any, Any]) -> Callable[[int], None]:
    """Returns a function that calls step so many times, with one of the rows after the other."""
    endless = itertools.cycle(rows)

    def play(steps: int) -> None:
        for row in itertools.islice(endless, steps):
            step(row)

    return play


def calibrate(play: Callable[[int], None], least: int) -> int:
    """Returns how many steps take some 100 ms, but not fewer than least."""
    start = time.process_time()
    play(4)
    return max(least, int(0.4 / (time.process_time() - start)))


def measure(players: Mapping[str, Player], steps: int, rounds: int) -> dict[str, list[float]]:
    """Returns microseconds of CPU time per environment step, by player and round.

    The players take turns. A first round, in which they warm up, is not among the rounds.
    """
    spent: dict[str, list[float]] = {name: [] for name in players}
    for _ in range(rounds + 1):
        for name, player in players.items():
            count = steps * player.times
            start = time.process_time()
            player.play(count)
            seconds = time.process_time() - start
            spent[name].append(1e6 * seconds / (count * player.num_envs))
    return {name: each[1:] for name, each in spent.items()}


def compare(
    ids: Iterable[str],
    costs: Callable[[str], Mapping[str, float]],
    shown: str,
    ratios: Mapping[str, tuple[str, str]],
) -> list[list[str]]:
    """Returns the rows of a table, and a last one with the medians of ratios.

    A row, which is printed as soon as it is known, has the id, the cost of one player in
    microseconds, and ratios.

    Args:
        ids: what is measured.
        costs: measures one of them; returns the costs of those players that can play it.
        shown: the player whose cost is shown.
        ratios: names, and whose cost is divided by whose.
    """
    rows: list[list[str]] = []
    found: dict[str, list[float]] = {name: [] for name in ratios}
    for each in ids:
        cost = costs(each)
        row = [each, f"{cost[shown]:.1f}"]
        for name, (above, below) in ratios.items():
            if above in cost:
                found[name].append(cost[above] / cost[below])
            row.append(f"{found[name][-1]:.2f}" if above in cost else "")
        print(*row, file=sys.stderr, flush=True)
        rows.append(row)
    return [*rows, ["median", "", *map(_median, found.values())]]


def _median(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.2f}" if ratios else ""
