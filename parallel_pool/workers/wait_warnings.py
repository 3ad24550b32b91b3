"""Notices: warnings that say who is waited for, when that takes long, ever more seldom."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Collection, Hashable
from typing import TypeVar

from parallel_pool.errors import SlowWorkerWarning

Key = TypeVar("Key", bound=Hashable)

# seconds of waiting before the first, and at most between two of them; each comes after twice as
# many as the one before
FIRST, LONGEST = 30.0, 1800.0
# seconds between two looks that count as waiting; in longer ones this process did not run, or its
# caller did something else
LOOK = 1.0
# how many are named in one
MOST_NAMED = 8

CURE = (
    "timeout=... would have such a worker process killed, and"
    " warnings.simplefilter('ignore', parallel_pool.errors.SlowWorkerWarning) ends these warnings"
)


def named(texts: Collection[str]) -> str:
    """Returns a list of things as words, of which only the first are named."""
    shown = list(texts)[:MOST_NAMED]
    more = len(texts) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


class Notices:
    """Counts how long the same things are waited for, while somebody waits."""

    def __init__(self) -> None:
        # by what is waited for: seconds so far, and those at which to say so
        self._ages: dict[Hashable, tuple[float, float]] = {}
        self._looked = 0.0

    def look(self, keys: Collection[Key], describe: Callable[[Key], str]) -> None:
        """Called every second or more often while something is waited for.

        Args:
            keys: name what is waited for; one that is not among them is over.
            describe: says in words what one of them is.

        Warns:
            SlowWorkerWarning: some take long.
        """
        now = time.monotonic()
        passed, self._looked = min(now - self._looked, LOOK), now
        ages: dict[Hashable, tuple[float, float]] = {}
        due = []
        for key in keys:
            age, at = self._ages.get(key, (-passed, FIRST))
            age += passed
            if age >= at:
                due.append(key)
                at = age + min(age, LONGEST)
            ages[key] = age, at
        self._ages = ages
        if due:
            longest = max(ages[key][0] for key in due)
            warnings.warn(
                f"waiting for {longest:.0f} s for {named([describe(key) for key in due])}: {CURE}",
                SlowWorkerWarning,
                stacklevel=_outside(),
            )


def _outside() -> int:
    """The level of the caller's own code, as `warnings.warn` counts from `Notices.look`."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        "parallel_pool."
    ):
        frame, level = frame.f_back, level + 1
    return level
