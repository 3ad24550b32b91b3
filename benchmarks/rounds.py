"""Measures several players in turn, round after round, so that the machine's moods hit them all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np


class Player(Protocol):
    """Somebody who steps environments, ready to go on at any time.

    Attributes:
        children: processes that step for it; threads of our own process need no mention.
    """

    children: Sequence[int]

    def play(self, batches: int) -> int:
        """Steps for this many batches of results; returns the environment steps done."""
        ...

    def close(self) -> None:
        """Ends threads and processes."""
        ...


@dataclass(frozen=True)
class Sample:
    """One player's part of one round."""

    steps: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Environment steps per second of wall time."""
        return self.steps / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU time, of all threads and processes, per environment step."""
        return self.cpu_seconds / self.steps * 1e6


@dataclass(frozen=True)
class Spread:
    """A median and its quartiles."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Iterable[float]) -> Spread:
        """Returns the spread of at least one value."""
        low, median, high = np.percentile(list(values), [25, 50, 75])
        return Spread(float(median), float(low), float(high))


def ratio(ours: Sequence[Sample], theirs: Sequence[Sample], *, cpu: bool = False) -> Spread:
    """Returns how many times faster ours are: the spread of the ratios of each round.

    Args:
        ours, theirs: samples of the same rounds.
        cpu: compares CPU time per step instead of steps per second.
    """
    pairs = zip(ours, theirs, strict=True)
    if cpu:
        return Spread.of(their.cpu_us / our.cpu_us for our, their in pairs)
    return Spread.of(our.rate / their.rate for our, their in pairs)


class Clock:
    """Wall time, and CPU time of this process and of a player's children."""

    def wall(self) -> float:
        """Returns seconds since some moment."""
        return time.perf_counter()

    def cpu(self, children: Sequence[int]) -> float:
        """Returns seconds of CPU time used so far."""
        return time.process_time() + sum(_cpu_of(pid) for pid in children)


def _cpu_of(pid: int) -> float:
    """CPU time of a process, all its threads: utime and stime, the 14th and 15th field."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


CLOCK = Clock()


def timed(player: Player, batches: int, clock: Clock = CLOCK) -> Sample:
    """Plays and measures."""
    cpu = clock.cpu(player.children)
    start = clock.wall()
    steps = player.play(batches)
    seconds = clock.wall() - start
    return Sample(steps, seconds, clock.cpu(player.children) - cpu)


def batches_in(player: Player, seconds: float, clock: Clock = CLOCK) -> int:
    """Returns the number of batches that take about this long, found by trying (at least 1)."""
    batches = 1
    while True:
        sample = timed(player, batches, clock)
        if sample.seconds >= seconds / 4:
            return max(1, round(batches * seconds / sample.seconds))
        batches *= 2


def interleave(
    players: Mapping[str, Player],
    rounds: int,
    seconds: float,
    *,
    clock: Clock = CLOCK,
    tick: Callable[[], None] = lambda: None,
) -> dict[str, list[Sample]]:
    """Lets every player play once in each round; returns the samples of each.

    Who plays first changes from round to round, so that nobody always plays after the same one.

    Args:
        players: by name.
        rounds: how often each plays.
        seconds: about how long.
        tick: called after each sample.
    """
    batches = {name: batches_in(player, seconds, clock) for name, player in players.items()}
    samples: dict[str, list[Sample]] = {name: [] for name in players}
    names = list(players)
    for i in range(rounds):
        first = i % len(names)
        for name in names[first:] + names[:first]:
            samples[name].append(timed(players[name], batches[name], clock))
            tick()
    return samples
