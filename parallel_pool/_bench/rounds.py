"""Measures players in interleaved rounds, so that slow phases of the machine affect all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from parallel_pool._bench import tree


class Player(Protocol):
    """Something that steps environments and can continue at any time.

    Attributes:
        children: its worker processes; threads of our own process are not listed.
    """

    children: Sequence[int]

    def play(self, batches: int) -> int:
        """Steps for this many batches of results; returns the environment steps done."""
        ...

    def close(self) -> None:
        """Ends the player's threads and processes."""
        ...


@dataclass(frozen=True)
class Sample:
    """The result of one player in one round."""

    steps: int
    seconds: float
    cpu_seconds: float

    def __add__(self, other: Sample) -> Sample:
        return Sample(
            self.steps + other.steps,
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
        )

    @property
    def rate(self) -> float:
        """Environment steps per second of wall time."""
        return self.steps / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU time per environment step, of all threads and processes."""
        return self.cpu_seconds / self.steps * 1e6


NOTHING = Sample(0, 0.0, 0.0)


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
    """Returns how many times faster ours are: the spread of the ratios of the rounds.

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
        """Returns the seconds since some fixed time."""
        return time.perf_counter()

    def cpu(self, children: Sequence[int]) -> float:
        """Returns seconds of CPU time used so far."""
        return time.process_time() + sum(tree.cpu_seconds(pid) for pid in children)


CLOCK = Clock()


def timed(player: Player, batches: int, clock: Clock = CLOCK) -> Sample:
    """Plays this many batches; returns the sample."""
    cpu = clock.cpu(player.children)
    start = clock.wall()
    steps = player.play(batches)
    seconds = clock.wall() - start
    return Sample(steps, seconds, clock.cpu(player.children) - cpu)


def batches_in(player: Player, seconds: float, clock: Clock = CLOCK) -> int:
    """Returns the number of batches that take about this long (at least 1), found by trials."""
    batches = 1
    while True:
        sample = timed(player, batches, clock)
        if sample.seconds >= seconds / 4:
            return max(1, round(batches * seconds / sample.seconds))
        batches *= 2


# Told of a player that leaves a race, and of what it raised.
Lost = Callable[[str, Exception], None]


class Field:
    """The players of a race. One that fails leaves it, without its samples, if somebody is told.

    Attributes:
        samples: of each player that is still in the race, by name.
    """

    def __init__(self, players: Mapping[str, Player], clock: Clock, lost: Lost | None) -> None:
        self.samples: dict[str, list[Sample]] = {name: [] for name in players}
        self._players, self._clock, self._lost = players, clock, lost
        self._batches: dict[str, int] = {}

    def calibrate(self, seconds: float) -> None:
        """Finds the number of batches of each player's turns, which take about this long."""
        for name, player in self._players.items():
            with self._leaving(name):
                self._batches[name] = batches_in(player, seconds, self._clock)

    def turn(self, name: str) -> Sample:
        """Lets a player play; returns an empty sample if it is not in the race any more."""
        if name in self.samples:
            with self._leaving(name):
                return timed(self._players[name], self._batches[name], self._clock)
        return NOTHING

    @contextmanager
    def _leaving(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self._lost is None:
                raise
            del self.samples[name]
            self._lost(name, error)


def interleave(
    players: Mapping[str, Player],
    rounds: int,
    seconds: float,
    *,
    turns: int = 1,
    clock: Clock = CLOCK,
    tick: Callable[[], None] = lambda: None,
    lost: Lost | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> dict[str, list[Sample]]:
    """Lets all players play in each round; returns the samples of each by name.

    In each round the players take several turns in alternation, so that a slow phase of the machine
    affects all of them even if it is shorter than a round. The first player changes from turn to
    turn, so that no player always follows the same one.

    Args:
        players: by name.
        rounds: number of rounds, and of samples of each player.
        seconds: approximate playing time of each player in a round.
        turns: turns of each player in a round.
        tick: called after each player's last turn in a round.
        lost: told of a player that fails, which then leaves the race without its samples. By
            default what it raises ends the race.
        is_over: asked before each round but the first; the race ends early if it returns True.
    """
    field = Field(players, clock, lost)
    field.calibrate(seconds / turns)
    for i in range(rounds):
        names = list(field.samples)
        if not names or (i and is_over()):
            break
        sums = dict.fromkeys(names, NOTHING)
        for j in range(turns):
            first = (i * turns + j) % len(names)
            for name in names[first:] + names[:first]:
                sums[name] += field.turn(name)
                if j == turns - 1:
                    tick()
        for name, samples in field.samples.items():
            samples.append(sums[name])
    return field.samples
