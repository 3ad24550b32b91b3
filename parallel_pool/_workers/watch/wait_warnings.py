"""Wait warnings: name the workers which a call has long been waiting for, at growing intervals."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Collection, Hashable
from typing import TypeVar

from parallel_pool.errors import SlowWorkerWarning

Key = TypeVar("Key", bound=Hashable)

# Seconds of waiting before the first warning, and most seconds between two. Until then the waiting
# time doubles from one warning to the next.
FIRST, MAX_INTERVAL = 30.0, 1800.0
# Seconds between two updates that count as waiting. After a longer gap this process was stopped, or
# its caller was busy with something else.
MAX_GAP = 1.0
# how many workers or environments a warning names
MAX_NAMED = 8

CURE = (
    "with timeout=... the pool kills such a worker process;"
    " warnings.simplefilter('ignore', parallel_pool.errors.SlowWorkerWarning) silences this warning"
)


def joined(texts: Collection[str]) -> str:
    """Returns the texts as one, of which only the first `MAX_NAMED` are shown."""
    first = list(texts)[:MAX_NAMED]
    more = len(texts) - len(first)
    return "; ".join(first) + (f"; and {more} more" if more else "")


class WaitWarnings:
    """Counts how long a caller has been waiting for the same things."""

    def __init__(self) -> None:
        # by what is awaited: seconds waited, and seconds at which the next warning is due
        self._ages: dict[Hashable, tuple[float, float]] = {}
        self._updated = 0.0

    def update(self, keys: Collection[Key], describe: Callable[[Key], str]) -> None:
        """Counts the time since the last update; call it at least once a second while waiting.

        Args:
            keys: what is awaited now; what is not among them is no longer awaited.
            describe: returns words for one of them.

        Warns:
            SlowWorkerWarning: some of them have taken long.
        """
        now = time.monotonic()
        passed, self._updated = min(now - self._updated, MAX_GAP), now
        ages: dict[Hashable, tuple[float, float]] = {}
        due = []
        for key in keys:
            age, at = self._ages.get(key, (-passed, FIRST))
            age += passed
            if age >= at:
                due.append(key)
                at = age + min(age, MAX_INTERVAL)
            ages[key] = age, at
        self._ages = ages
        if due:
            longest = max(ages[key][0] for key in due)
            warnings.warn(
                f"still waiting after {longest:.0f} s for"
                f" {joined([describe(key) for key in due])}: {CURE}",
                SlowWorkerWarning,
                stacklevel=caller_stacklevel(),
            )


def caller_stacklevel() -> int:
    """Returns the stack level of the caller's own code, for `warnings.warn` in the function that
    calls this."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        "parallel_pool."
    ):
        frame, level = frame.f_back, level + 1
    return level
