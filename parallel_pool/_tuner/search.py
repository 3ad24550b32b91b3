"""Search: successive halving of settings, in rounds in which all have their turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from parallel_pool._tuner.grid import MOST, combined
from parallel_pool._tuner.run import Outcome
from parallel_pool._tuner.setting import Setting

# rounds of the last two, at least if there is time, and at most
FINAL, MOST_FINAL = 3, 7
# A gain below this, or of fewer rounds, is none. Of so many rounds one may be a loss: in it, the
# machine may have become slower.
MIN_GAIN, LEAST, MANY = 1.03, 2, 6


def is_long(count: int) -> bool:
    """Returns whether the script as it is also ends a round of so many settings."""
    return count > 2


def most_in(left: float, seconds: float) -> int:
    """Returns of how many settings the first round may be if a run takes so many seconds.

    Args:
        left: seconds of the whole search.
        seconds: of a run.
    """
    most = 0
    while most < MOST and _runs_of(most + 1) * seconds <= left:
        most += 1
    return most


def _runs_of(count: int) -> int:
    """Returns the runs of a search, with `LEAST` rounds of the fastest setting."""
    runs = rounds = 0
    while count > 1:
        runs += count + (2 if is_long(count) else 1)
        rounds += 1
        count //= 2
    return runs + 2 * max(1, LEAST - rounds)


class Gain(NamedTuple):
    """How many times as fast a setting is as the script as it is.

    Attributes:
        median: of the rounds.
        low, high: the least and the greatest of them.
        rounds: their number.
        second: the least but one of them; 0 if there is only one.
    """

    median: float
    low: float
    high: float
    rounds: int
    second: float = 0.0

    @property
    def is_worth_it(self) -> bool:
        """Whether the gain is more than noise."""
        least = self.second if self.rounds >= MANY else self.low
        return self.median >= MIN_GAIN and least > 1 and self.rounds >= LEAST


class Search:
    """Plays settings against the script as it is, and drops the slower half after each round.

    After the first, a setting is added that combines what has gained something. But changes may
    gain only together: threads of torch that spin while they wait take the cores of those of a
    pool. So those that are known to the caller should be among the settings if there is time.

    Attributes:
        gains: of each round, by setting; a setting that failed has none.
        failed: why, by setting.
    """

    def __init__(
        self,
        run: Callable[[Setting], Outcome],
        settings: Sequence[Setting],
        deadline: float,
        longest: float = 0.0,
    ) -> None:
        """
        Args:
            run: runs the script with a setting.
            settings: the script as it is first.
            deadline: of `time.monotonic`, after which no run begins.
            longest: seconds that a run takes, as far as that is known.
        """
        self._run, self._base = run, settings[0]
        self._left = list(settings[1:])
        self._deadline = deadline
        # seconds of the longest run
        self._longest = longest
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
        while self._left and rounds < MOST_FINAL and self._play():
            rounds += 1
        ranked = self._fastest(1)
        if not ranked:
            return self._base, Gain(1.0, 1.0, 1.0, 0)
        # the rounds in which many played decided that it is here
        gains = self.gains[ranked[0]][-rounds:] if rounds >= FINAL else self.gains[ranked[0]]
        low, second = [*sorted(gains)[:2], 0.0][:2]
        return ranked[0], Gain(float(np.median(gains)), low, max(gains), len(gains), second)

    def _combined(self) -> list[Setting]:
        """Returns the setting that combines all gains, if it is another one."""
        gains = {setting: float(np.median(found)) for setting, found in self.gains.items()}
        setting = combined(gains)
        return [] if setting in self.gains or setting == self._base else [setting]

    def _fastest(self, count: int) -> list[Setting]:
        """Returns the fastest of those that are left and have played."""
        played = [setting for setting in self._left if setting in self.gains]
        played.sort(key=lambda setting: -float(np.median(self.gains[setting])))
        return played[: max(1, count)]

    def _play(self) -> bool:
        """Plays a round, which the script as it is begins, and ends if it is long; returns whether
        there was time for all."""
        if time.monotonic() + 2 * self._longest > self._deadline:
            return False
        before = self._once(self._base)
        found: dict[Setting, float] = {}
        for setting in self._left:
            rate = self._once(setting)
            if rate is None:
                break
            found[setting] = rate
        is_whole = len(found) == len(self._left)
        after = self._once(self._base) if is_long(len(self._left)) else None
        # What the machine does else may change during a round. A run that failed says nothing of
        # the speed.
        known = [rate for rate in (before, after) if rate]
        for setting, rate in found.items():
            if rate > 0 and known:
                self.gains.setdefault(setting, []).append(rate * len(known) / sum(known))
        self._left = [setting for setting in self._left if setting not in self.failed]
        return is_whole

    def _once(self, setting: Setting) -> float | None:
        """Returns the rate of a run; 0 if it failed, None if there is no time for it."""
        if time.monotonic() + self._longest > self._deadline:
            return None
        outcome = self._run(setting)
        self._longest = max(self._longest, outcome.seconds)
        if not outcome.rate:
            self.failed[setting] = outcome.error
        return outcome.rate
