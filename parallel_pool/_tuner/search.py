"""Search: successive halving of settings, in rounds in which all have their turn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from parallel_pool._tuner.grid import MAX_SETTINGS, combined
from parallel_pool._tuner.setting import Setting
from parallel_pool._tuner.turns import Turns

# Rounds of the last two, at least if there is time, and at most. They begin anew, and again after
# `FINAL_ROUNDS`: processes of one setting differ, too.
FINAL_ROUNDS, MAX_FINAL_ROUNDS = 3, 7
# A gain below this, or of fewer rounds, is none.
MIN_GAIN, MIN_GAIN_ROUNDS = 1.03, 2
# Student's t that chance exceeds in one of ten cases, for 1, 2, ... degrees of freedom; then about
# that of the normal distribution.
T = (3.08, 1.89, 1.64, 1.53, 1.48, 1.44, 1.41, 1.40, 1.38, 1.37)
NORMAL_T = 1.3
# the standard error of a median, beside that of a mean
MEDIAN = math.sqrt(math.pi / 2)


def most_in(left: float, start: float, seconds: float, final: int) -> int:
    """Returns of how many settings the first round may be.

    Args:
        left: seconds of the whole search.
        start: seconds that each needs once, and again where rounds begin anew.
        seconds: that one takes in a round.
        final: rounds in which the fastest is to play alone.
    """
    most = 0
    while most < MAX_SETTINGS and _seconds_of(most + 1, start, seconds, final) <= left:
        most += 1
    return most


def _seconds_of(count: int, start: float, seconds: float, final: int) -> float:
    """Returns how long a search takes that begins with so many settings; see `most_in`."""
    # of the script as it is, too; one that combines others may join, and final rounds begin anew
    starts = 1 + count + (1 + 2 if count > 1 else 0)
    turns = rounds = 0
    while count > 1:
        turns, rounds = turns + count + 2, rounds + 1
        count //= 2
    return starts * start + (turns + 2 * max(final, MIN_GAIN_ROUNDS - rounds)) * seconds


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
        # if there is only one, it has not played yet
        candidates = self._ranked(self._left) or self._left[:1]
        candidates += [each for each in self._ranked(self.gains) if each not in candidates]
        for setting in candidates:
            rounds = self._final_rounds(setting)
            if setting in self.gains and setting not in self.failed:
                return setting, self._gain(setting, rounds)
        return Setting(), Gain(1.0, 1.0, 1.0, 0)

    def _final_rounds(self, setting: Setting) -> int:
        """Plays one setting alone against the script as it is; returns its rounds."""
        before = len(self.gains.get(setting, ()))
        self._left = [setting]
        for i in range(MAX_FINAL_ROUNDS):
            if i % FINAL_ROUNDS == 0 and i < MAX_FINAL_ROUNDS - 1:
                self._turns.renew()
            if not self._play() or setting in self.failed:
                break
        return len(self.gains.get(setting, ())) - before

    def _gain(self, setting: Setting, rounds: int) -> Gain:
        """Returns the gain of a setting that has played so many final rounds."""
        # the rounds in which many played decided that it is here
        gains = self.gains[setting][-rounds:] if rounds >= FINAL_ROUNDS else self.gains[setting]
        median = float(np.median(gains))
        return Gain(median, min(gains), max(gains), len(gains), self._noise(len(gains)))

    def _noise(self, rounds: int) -> float:
        """Returns the `noise` of a gain of so many rounds, from how all gains scatter."""
        logs = [np.log(gains) for gains in self.gains.values()]
        degrees = sum(len(each) - 1 for each in logs)
        if degrees == 0:
            return math.inf
        variance = sum(float(np.square(each - each.mean()).sum()) for each in logs) / degrees
        t = T[degrees - 1] if degrees <= len(T) else NORMAL_T
        return math.exp(t * MEDIAN * math.sqrt(variance / rounds))

    def _combined(self) -> list[Setting]:
        """Returns the setting that combines all gains, if it is another one."""
        gains = {setting: float(np.median(found)) for setting, found in self.gains.items()}
        setting = combined(gains)
        return [] if setting in self.gains or setting == Setting() else [setting]

    def _fastest(self, count: int) -> list[Setting]:
        """Returns the fastest of those that are left and have played."""
        return self._ranked(self._left)[: max(1, count)]

    def _ranked(self, settings: Iterable[Setting]) -> list[Setting]:
        """Returns those of some settings that have played and not failed, the fastest first."""
        played = [each for each in settings if each in self.gains and each not in self.failed]
        return sorted(played, key=lambda setting: -float(np.median(self.gains[setting])))

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
