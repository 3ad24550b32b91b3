"""Match: both sides play a script, and the first difference ends it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from parallel_pool._engine.buffers import Array
from parallel_pool._prover.comparison import Difference, first_difference
from parallel_pool._prover.player import ERROR, PROCESS, Result
from parallel_pool._prover.script import Case, Script
from parallel_pool._prover.sides import Side

# events of a request: what is compared, and what a deadline is for
CHUNK = 256
CONSTRUCTION = "construction"


@dataclass(frozen=True)
class Finding:
    """A difference, and what leads to it.

    Attributes:
        script: up to the event with the difference; no events: it is there before the first.
        difference: its path begins with what was returned, such as "observation".
        ours, theirs: all that the last event returned; without events, why a side refuses.
        ends: for each environment the number of the event that ended its last whole episode; -1:
            there was none.
    """

    script: Script
    difference: Difference
    ours: Result = field(default_factory=dict)
    theirs: Result = field(default_factory=dict)
    ends: tuple[int, ...] = ()


class Match:
    """Two sides.

    Attributes:
        ours, theirs: the sides.
        tolerance: by which floats may differ.
        steps: steps of single environments that were compared.
    """

    def __init__(self, ours: Side, theirs: Side, tolerance: float) -> None:
        self.ours, self.theirs, self.tolerance, self.steps = ours, theirs, tolerance, 0

    def refusals(self, case: Case, num_envs: int) -> tuple[str, str]:
        """Makes environments; returns why each side refuses, "" if it does not."""
        return self.ours.open(case, num_envs), self.theirs.open(case, num_envs)

    def play(
        self,
        script: Script,
        *,
        deadline: float = float("inf"),
        see: Callable[[Script, list[Result]], None] | None = None,
    ) -> Finding | None:
        """Plays a script with new environments.

        Args:
            script: what to play.
            deadline: on the clock of time.monotonic, after which nothing more is begun.
            see: called with each part that was played and compared, and its results.
        """
        refused = self.refusals(script.case, script.num_envs)
        if refused[0] or refused[1]:
            return _of_refusals(script, *refused)
        ends = np.full(script.num_envs, -1)
        for start in range(0, len(script.events), CHUNK):
            part = replace(script, events=script.events[start : start + CHUNK])
            if time.monotonic() > deadline:
                return None
            self.ours.begin(part.events)
            self.theirs.begin(part.events)
            theirs = self.theirs.finish()
            ours = self.ours.finish()
            self.steps += part.steps
            found = self._compare(script, start, ours, theirs, ends)
            if found is not None:
                return found
            if see is not None:
                see(part, theirs)
            if ERROR in theirs[-1] or PROCESS in theirs[-1]:
                return None
        return None

    def _compare(
        self,
        script: Script,
        start: int,
        ours: list[Result],
        theirs: list[Result],
        ends: Array,
    ) -> Finding | None:
        """Returns the first difference of a part; notes the ends of episodes before it."""
        for at, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            difference = result_difference(one, other, self.tolerance)
            if difference is not None:
                before = tuple(ends.tolist())
                return Finding(script.prefix(start + at + 1), difference, one, other, before)
            if "terminated" in one:
                ends[one["terminated"] | one["truncated"]] = start + at
        return None


def result_difference(ours: Result, theirs: Result, tolerance: float) -> Difference | None:
    """Returns where the results of one event differ first."""
    for kind in (PROCESS, ERROR):
        if (kind in ours) != (kind in theirs):
            return Difference(
                (kind,), kind, *(each.get(kind, "a result") for each in (ours, theirs))
            )
        if kind in ours:
            # the words are each side's own
            return None
    return first_difference(ours, theirs, tolerance)


def _of_refusals(script: Script, ours: str, theirs: str) -> Finding | None:
    if ours and theirs:
        return None
    texts = ours or "it is made", theirs or "it is made"
    one, other = ({ERROR: each} if each else {} for each in (ours, theirs))
    return Finding(script.prefix(0), Difference((CONSTRUCTION,), ERROR, *texts), one, other)
