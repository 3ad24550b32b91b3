"""Pace: steps per second of a trace, over whole turns of a training loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from parallel_pool._engine.buffers import Array
from parallel_pool._tracing.record import RECEIVER, RECEIVES, Record

# A pause between calls is a learner's, not a policy's, if it is so many times as long as most; and
# the loop has such pauses if they take this part of the time.
LONG_PAUSE_FACTOR, MIN_PAUSE_SHARE = 10.0, 0.05
# a trace with a pause of this part of it is too short if it has fewer cycles
LONG_PAUSE_SHARE, MIN_CYCLES = 0.2, 2


class Pace(NamedTuple):
    """How fast a loop is.

    Attributes:
        rate: rows per second; 0 if too few batches were received.
        cycle: seconds from one pause of the learner to the next; 0 if there are none.
        cycles: how many the rate is about; 0 if there are none.
        longest: seconds of the longest time without a call.
    """

    rate: float
    cycle: float = 0.0
    cycles: int = 0
    longest: float = 0.0

    def is_part_of_a_cycle(self, seconds: float) -> bool:
        """Returns whether a trace of so many seconds may be too short to show the learner."""
        return self.cycles < MIN_CYCLES and self.longest > LONG_PAUSE_SHARE * seconds


def pace_of(record: Record) -> Pace:
    """Returns the pace of a trace.

    Where a learner pauses the steps, the time runs from the end of a pause to the end of another,
    as a part of such a cycle would be faster or slower than the whole.
    """
    calls = record.of_kinds(RECEIVES, (RECEIVER,))
    calls = calls[calls["count"] > 0]
    longest = _longest(calls, record)
    if len(calls) < 2:
        return Pace(0.0, longest=longest)
    ends = pauses(calls)
    if len(ends) < 2:
        return Pace(_rate(calls, 0, len(calls) - 1), longest=longest)
    first, last = int(ends[0]), int(ends[-1])
    seconds = (calls["start"][last] - calls["start"][first]) / 1e9
    cycles = len(ends) - 1
    return Pace(_rate(calls, first, last), float(seconds) / cycles, cycles, longest)


def _longest(calls: Array, record: Record) -> float:
    """Returns the longest time between calls, or after the last, in seconds."""
    times = [*calls["start"][1:], record.end] if len(calls) else [record.end]
    before = calls["end"] if len(calls) else np.array([record.start])
    return float(np.max(np.array(times) - before) / 1e9)


def _rate(calls: Array, first: int, last: int) -> float:
    """Returns rows per second from the beginning of one call to that of another."""
    seconds = (calls["start"][last] - calls["start"][first]) / 1e9
    return float(calls["count"][first:last].sum() / seconds) if seconds > 0 else 0.0


def pauses(calls: Array) -> Array:
    """Returns the indices of the calls that follow a learner's pause."""
    gaps = calls["start"][1:] - calls["end"][:-1]
    whole = int(calls["end"][-1] - calls["start"][0])
    is_long = gaps > LONG_PAUSE_FACTOR * np.median(np.diff(calls["start"]))
    if gaps[is_long].sum() < MIN_PAUSE_SHARE * whole:
        return np.empty(0, np.int64)
    found: Array = np.flatnonzero(is_long) + 1
    return found


def pace_in(record: Record, slices: Sequence[Sequence[int]]) -> Pace:
    """Returns the pace in slices of the time; arguments as for `sliced`.

    Where they have no whole cycles it is that of all their time, pauses at their edges included.
    """
    own = sliced(record, slices)
    pace = pace_of(own)
    if pace.cycles or own.end == 0:
        return pace
    calls = own.of_kinds(RECEIVES, (RECEIVER,))
    return pace._replace(rate=float(calls["count"].sum() / (own.end / 1e9)))


def sliced(record: Record, slices: Sequence[Sequence[int]]) -> Record:
    """Returns what the caller has received in slices of the time, as if they followed each other.

    Args:
        record: of a trace.
        slices: beginnings and ends in nanoseconds of the monotonic clock, in their order.
    """
    # a trace may have ended, as it has room for so many steps only
    starts, ends = np.minimum(np.array(slices, np.int64).reshape(-1, 2), record.end).T
    before = np.cumsum(ends - starts) - (ends - starts)

    def without_stops(times: Array) -> Array:
        at = np.searchsorted(starts, times, side="right") - 1
        found: Array = before[at] + np.minimum(times, ends[at]) - starts[at]
        return np.where(at < 0, 0, found)

    spans = record.tracks[RECEIVER]
    at = np.searchsorted(starts, spans["start"], side="right") - 1
    kept = spans[(at >= 0) & (spans["start"] < ends[at])].copy()
    kept["start"], kept["end"] = without_stops(kept["start"]), without_stops(kept["end"])
    total = int((ends - starts).sum())
    return replace(record, start=0, end=total, tracks=[kept, *record.tracks[1:]])
