"""Search: successive halving of settings, in rounds in which all have their turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parallel_pool._tuner.grid import MAX_SETTINGS, combined
from parallel_pool._tuner.setting import Setting
from parallel_pool._tuner.turns import Turns

# rounds of the last two, at least if there is time, and at most
FINAL, MAX_FINAL = 3, 7
# A gain below this, or of fewer rounds, is none.
MIN_GAIN, MIN_GAIN_ROUNDS = 1.03, 2
# Student's t that chance exceeds in one of ten cases, for 1, 2, ... degrees of freedom; then about
# that of the normal distribution.
T = (3.08, 1.89, 1.64, 1.53, 1.48, 1.44, 1.41, 1.40, 1.38, 1.37)
T_OF_MANY = 1.3


def most_in(left: float, start: float, seconds: float) -> int:
    """Returns of how many settings the first round of a search side by side may be.

    Args:
        left: seconds of the whole search.
        start: seconds until one begins to play.
        seconds: for which one plays in a round.
    """
    most = 0
    while most < MAX_SETTINGS and _seconds_of(most + 1, start, seconds) <= left:
        most += 1
    return most


def _seconds_of(count: int, start: float, seconds: float) -> float:
    """Returns how long a search takes with `FINAL` rounds of the fastest setting."""
    # one that combines others may join
    starts = count + (2 if count > 1 else 1)
    turns = 0
    while count > 1:
        turns += count + 1
        count //= 2
    return starts * start + (turns + 2 * FINAL) * seconds


class Gain(NamedTuple):
    """How many times as fast a setting is as the script as it is.

    Attributes:
        median: of the rounds.
        low, high: the least and the greatest of them.
        rounds: their number.
        noise: gain of so many rounds that a setting which gains nothing has by chance in one of ten
            cases.
    """

    median: float
    low: float
    high: float
    rounds: int
    noise: float = math.inf

    @property
    def is_worth_it(self) -> bool:
        """Whether the gain is more than noise."""
        return (
            self.median >= MIN_GAIN and self.median > self.noise and self.rounds >= MIN_GAIN_ROUNDS
        )


class Search:
    """Plays settings against the script as it is, and drops the slower half after each round.

    After the first, a setting is added that combines what has gained something. But changes may
    gain only together: threads of torch that spin while they wait take the cores of those of a
    pool. So those that are known to the caller should be among the settings if there is time.

    Attributes:
        gains: of each round, by setting; a setting that failed has none.
        failed: why, by setting.
    """

    def __init__(self, turns: Turns, settings: Sequence[Setting]) -> None:
        """
        Args:
            turns: plays rounds.
            settings: other than the script as it is.
        """
        self._turns, self._left = turns, list(settings)
        self.gains: dict[Setting, list[float]] = {}
        self.failed: dict[Setting, str] = {}

    def best(self) -> tuple[Setting, Gain]:
        """Returns the fastest setting, which may be the script as it is, and its gain."""
        is_first = True
        while len(self._left) > 1 and self._play():
            self._left = self._fastest(len(self._left) // 2) + self._combined() * is_first
            is_first = False
        if len(self._left) > 1:
            # there was no time for another round
            self._left = self._fastest(1)
        rounds = 0
        while self._left and rounds < MAX_FINAL and self._play():
            rounds += 1
        ranked = self._fastest(1)
        if not ranked:
            return Setting(), Gain(1.0, 1.0, 1.0, 0)
        # the rounds in which many played decided that it is here
        gains = self.gains[ranked[0]][-rounds:] if rounds >= FINAL else self.gains[ranked[0]]
        median = float(np.median(gains))
        return ranked[0], Gain(median, min(gains), max(gains), len(gains), self._noise(len(gains)))

    def _noise(self, rounds: int) -> float:
        """Returns the `noise` of a gain of so many rounds, from how all gains scatter."""
        logs = [np.log(gains) for gains in self.gains.values()]
        degrees = sum(len(each) - 1 for each in logs)
        if degrees == 0:
            return math.inf
        variance = sum(float(np.square(each - each.mean()).sum()) for each in logs) / degrees
        t = T[degrees - 1] if degrees <= len(T) else T_OF_MANY
        return math.exp(t * math.sqrt(variance / rounds))

    def _combined(self) -> list[Setting]:
        """Returns the setting that combines all gains, if it is another one."""
        gains = {setting: float(np.median(found)) for setting, found in self.gains.items()}
        setting = combined(gains)
        return [] if setting in self.gains or setting == Setting() else [setting]

    def _fastest(self, count: int) -> list[Setting]:
        """Returns the fastest of those that are left and have played."""
        played = [setting for setting in self._left if setting in self.gains]
        played.sort(key=lambda setting: -float(np.median(self.gains[setting])))
        return played[: max(1, count)]

    def _play(self) -> bool:
        """Plays a round; returns whether there was time for all."""
        found = self._turns.play(self._left)
        if found is None:
            return False
        for setting, gain in found.gains.items():
            self.gains.setdefault(setting, []).append(gain)
        self.failed |= found.failed
        self._left = [setting for setting in self._left if setting not in self.failed]
        return found.is_whole
