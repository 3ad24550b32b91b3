"""Report: shares of a trace's time, and who was busy."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from parallel_pool._engine.buffers import Array
from parallel_pool._engine.strict_zip import zip
from parallel_pool._tracing import advice, compilable
from parallel_pool._tracing.record import (
    CALLS,
    INLINE,
    RECEIVER,
    RECEIVES,
    RESET,
    SENDER,
    WORK,
    WORKS,
    Record,
    UserSpan,
)

# environments that the report lists
MAX_LISTED_ENVS = 4
# A batch has a straggler if one thread alone works for such a part of the call that waits for it.
MIN_STRAGGLER_SHARE = 0.25
# a part of the batches, or of the time, that is not worth a line
MIN_WAIT_SHARE = 0.05
# nanoseconds between two calls that wait for one batch: the engine returns to Python from time to
# time, so that it can handle signals
PAUSE = 1_000_000
# shares that are not the caller's own code
ENVIRONMENTS, WAITING = "environments", "waiting"


class EnvTime(NamedTuple):
    """Steps of one environment.

    Attributes:
        env_id: the environment.
        steps: that were timed one by one.
        mean, longest: milliseconds.
    """

    env_id: int
    steps: int
    mean: float
    longest: float


@dataclass(frozen=True)
class Stragglers:
    """Batches that waited for one environment while all other threads were idle.

    Attributes:
        batches: how many had to wait, of `received`.
        received: batches.
        waited: the mean wait, milliseconds.
        env_id: the environment for which most of them waited.
        share: of the waits, those for that environment.
    """

    batches: int
    received: int
    waited: float
    env_id: int
    share: float


class Busy:
    """How long a track was busy up to any moment.

    Args:
        spans: in the order of their beginnings; where they overlap, the time counts once.
    """

    def __init__(self, spans: Array) -> None:
        ends = np.maximum.accumulate(spans["end"])
        starts = spans["start"].copy()
        np.maximum(starts[1:], ends[:-1], out=starts[1:])
        ends = np.maximum(starts, ends)
        self._times = np.stack([starts, ends], axis=1).ravel()
        lengths = np.zeros(len(self._times))
        lengths[1::2] = np.maximum(ends - starts - spans["gaps"], 0)
        self._busy = np.cumsum(lengths)
        self.total = float(lengths.sum())

    def until(self, times: Array) -> Array:
        """Returns the nanoseconds before each of the times."""
        if not len(self._times):
            return np.zeros(len(times))
        found: Array = np.interp(times, self._times, self._busy, left=0.0)
        return found


class Report:
    """Where the time of a trace went; `print` shows it on one screen.

    Attributes:
        record: what it is about.
        seconds: of the trace.
        steps: rows received.
        batches: received.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.seconds = max(1, record.end - record.start) / 1e9
        received = record.of_kinds(RECEIVES, (RECEIVER,))
        self._received = received[received["count"] > 0]
        self.steps = int(self._received["count"].sum())
        inline = self._received["count"][self._received["kind"] == INLINE]
        self.batches = len(self._received) - len(inline)
        # several short calls are one span
        self.batches += math.ceil(int(inline.sum()) / record.setting.batch_size)
        works = [record.of_kinds(WORKS, (i,)) for i in range(len(record.tracks))]
        inline = record.of_kinds((INLINE,), (RECEIVER,))
        caller = np.concatenate([works[RECEIVER], inline])
        caller = caller[np.argsort(caller["start"], kind="stable")]
        # by track; the sender's track never has environment steps
        self._busy = [Busy(caller), *(Busy(spans) for spans in works[SENDER + 1 :])]
        calls = record.of_kinds(CALLS, (RECEIVER, SENDER))
        if record.setting.is_local:
            # the caller steps between C's calls
            calls = np.concatenate([calls, *works[SENDER + 1 :]])
            calls = calls[np.argsort(calls["start"], kind="stable")]
        # two threads may call at once
        self._calls = Busy(calls)

    # -------------------------------------------------------------------------------- shares --

    @cached_property
    def named_seconds(self) -> Mapping[str, float]:
        """Seconds of the caller's named intervals, without calls and intervals inside of them."""
        named = sorted(self.record.named, key=lambda span: (span.start, -span.end))
        found = dict.fromkeys((span.name for span in named), 0.0)
        times = np.unique([time for span in named for time in (span.start, span.end)])
        free = np.diff(times) - np.diff(self._calls.until(times))
        # intervals that have begun, the last first: it is the innermost
        begun: list[tuple[int, UserSpan]] = []
        count = 0
        for time, length in zip(times.tolist(), free.tolist(), strict=False):
            while count < len(named) and named[count].start <= time:
                heapq.heappush(begun, (-count, named[count]))
                count += 1
            while begun and begun[0][1].end <= time:
                heapq.heappop(begun)
            if begun:
                found[begun[0][1].name] += length / 1e9
        return found

    @cached_property
    def outside(self) -> float:
        """The part of the time that the caller spends outside of calls."""
        return 1 - self._calls.total / 1e9 / self.seconds

    @cached_property
    def threads(self) -> int:
        """Threads or workers that can step at once."""
        setting = self.record.setting
        most = setting.cores if self.record.is_crowded else setting.num_threads
        return min(most, setting.num_envs)

    @cached_property
    def _stepping(self) -> float:
        """Seconds of calls, each weighted with the part of the threads that stepped meanwhile."""
        if self.record.setting.is_local:
            return sum(each.total for each in self._busy) / 1e9
        calls = self.record.of_kinds(RECEIVES, (RECEIVER,))
        inline = calls[calls["kind"] == INLINE]
        others = calls[calls["kind"] != INLINE]
        busy = sum(each.until(others["end"]) - each.until(others["start"]) for each in self._busy)
        stepping = np.minimum(busy / self.threads, others["end"] - others["start"]).sum()
        # short steps are done by the caller alone, as other threads would not make them faster
        alone = float((inline["end"] - inline["start"] - inline["gaps"]).sum())
        return float(stepping + alone) / 1e9

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """Parts of the caller's time, which add up to 1.

        - "policy": between calls, outside of intervals with other names.
        - the user's own names, such as "learn"; of intervals within others, or of two threads at
          once, the time counts for the one that began last.
        - "environments": in calls, while threads or workers step; if only half of them do, half of
          the time counts.
        - "waiting": the rest of calls: imbalance, waking, infos, and the engine's own work.
        """
        found = {"policy": self.outside - sum(self.named_seconds.values()) / self.seconds}
        for name, value in self.named_seconds.items():
            # names that the report needs itself
            label = f"named {name}" if name in (ENVIRONMENTS, WAITING) else name
            found[label] = found.get(label, 0.0) + value / self.seconds
        found["policy"] = max(0.0, found["policy"])
        in_calls = 1 - self.outside
        stepping = min(self._stepping / self.seconds, in_calls)
        return {**found, ENVIRONMENTS: stepping, WAITING: in_calls - stepping}

    @cached_property
    def busy(self) -> Mapping[str, float]:
        """For each thread or worker that steps, the part of the time in which it did."""
        record = self.record
        end = np.array([record.end])
        tracks = [RECEIVER, *range(SENDER + 1, len(record.tracks))]
        found = {
            record.track_name(i): float(each.until(end)[0]) / 1e9 / self.seconds
            for i, each in zip(tracks, self._busy, strict=True)
        }
        if record.setting.in_processes:
            # a caller of worker processes steps nothing
            del found[record.track_name(RECEIVER)]
        return found

    @cached_property
    def core_waits(self) -> Mapping[str, float]:
        """For each worker process, the part of the time in which it waited for a core."""
        waits = self.record.core_waits
        return {
            self.record.track_name(SENDER + 1 + i): wait / self.seconds
            for i, wait in enumerate(waits)
        }

    # -------------------------------------------------------------------------- environments --

    @cached_property
    def single_steps(self) -> Array:
        """Spans of environments that were stepped one by one."""
        setting = self.record.setting
        spans = self.record.of_kinds((WORK,))
        if setting.num_envs == 1:
            # the only one needs no thread but the caller's
            spans = np.concatenate([spans, self.record.of_kinds((INLINE,), (RECEIVER,))])
            spans["env_id"] = 0
        found: Array = spans[(spans["count"] == 1) & (spans["env_id"] >= 0)]
        return found

    @cached_property
    def env_times(self) -> Sequence[EnvTime]:
        """Times of environments that were stepped one by one, the slowest first."""
        spans = self.single_steps
        if not len(spans):
            return []
        lengths = (spans["end"] - spans["start"]) / 1e6
        ids = spans["env_id"]
        steps = np.bincount(ids)
        totals = np.bincount(ids, lengths)
        longest = np.zeros(len(steps))
        np.maximum.at(longest, ids, lengths)
        found = [
            EnvTime(i, int(steps[i]), float(totals[i] / steps[i]), float(longest[i]))
            for i in np.flatnonzero(steps).tolist()
        ]
        return sorted(found, key=lambda each: -each.mean)

    @cached_property
    def stragglers(self) -> Stragglers | None:
        """The batches that waited for one environment; None if there are none."""
        calls = self._waits
        tracks = (RECEIVER, *range(SENDER + 1, len(self.record.tracks)))
        works = [self.record.of_kinds(WORKS, (i,)) for i in tracks]
        works = [spans for spans in works if len(spans)]
        if not len(calls) or len(works) < 2:
            return None
        ends = np.empty((len(works), len(calls)), np.int64)
        envs = np.empty((len(works), len(calls)), np.int64)
        for i, spans in enumerate(works):
            # the last span of each track that began before the call ended
            at = np.searchsorted(spans["start"], calls["end"]) - 1
            known = at >= 0
            ends[i] = np.where(known, np.minimum(spans["end"][at], calls["end"]), 0)
            stepped = spans[np.isin(spans["kind"], (WORK, RESET))]
            last = np.searchsorted(stepped["start"], calls["end"]) - 1
            env_ids = np.append(np.where(stepped["count"] == 1, stepped["env_id"], -1), -1)
            envs[i] = env_ids[last]
        ends = np.maximum(ends, calls["start"])
        order = np.argsort(ends, axis=0)
        columns = np.arange(len(calls))
        alone = ends[order[-1], columns] - ends[order[-2], columns]
        last_env = envs[order[-1], columns]
        waits = (alone > MIN_STRAGGLER_SHARE * (calls["end"] - calls["start"])) & (last_env >= 0)
        if not waits.any() or waits.sum() < MIN_WAIT_SHARE * len(calls):
            return None
        counts = np.bincount(last_env[waits])
        most = int(counts.argmax())
        return Stragglers(
            int(waits.sum()),
            len(calls),
            float(alone[waits].mean()) / 1e6,
            most,
            float(counts[most] / waits.sum()),
        )

    @property
    def _waits(self) -> Array:
        """Calls that received something from other threads, from the beginning of their waits."""
        calls = self.record.of_kinds(RECEIVES, (RECEIVER,))
        follows = np.zeros(len(calls), bool)
        follows[1:] = (calls["count"][:-1] == 0) & (calls["start"][1:] - calls["end"][:-1] < PAUSE)
        first = np.maximum.accumulate(np.where(follows, 0, np.arange(len(calls))))
        calls["start"] = calls["start"][first]
        waits: Array = calls[(calls["count"] > 0) & (calls["kind"] != INLINE)]
        return waits

    @cached_property
    def translation(self) -> compilable.Outcome | None:
        """Whether environments in Python could be compiled, and how, or why not; None if they run
        in C already, or if nobody knows."""
        maker = self.record.setting.maker
        return compilable.find_out(maker) if maker else None

    @cached_property
    def advice(self) -> advice.Advice:
        """What to change, and what it would gain."""
        return advice.advise(self)

    # -------------------------------------------------------------------------------- showing --

    def __str__(self) -> str:
        record, setting = self.record, self.record.setting
        what = f"{setting.num_envs} x {setting.name}"
        if setting.batch_size < setting.num_envs:
            what += f", batches of {setting.batch_size}"
        what += f", {_number(setting.num_threads, setting.unit)}"
        lines = [
            f"{what}: {self.seconds:.3g} s, {self.batches:,} batches,"
            f" {self.steps / self.seconds:,.0f} steps/s",
            "",
            *(
                f"  {name:<16}{share:6.1%}  {'#' * round(share * 40)}"
                for name, share in self.shares.items()
            ),
            "",
            "  busy: " + _busy(self.busy),
        ]
        if max(self.core_waits.values(), default=0.0) >= MIN_WAIT_SHARE:
            lines.append("  waiting for a core: " + _busy(self.core_waits))
        if self.env_times:
            slowest = ", ".join(
                f"{each.env_id}: {each.mean:.3g} ms (at most {each.longest:.3g})"
                for each in self.env_times[:MAX_LISTED_ENVS]
            )
            lines.append(f"  slowest environments: {slowest}")
        found = self.stragglers
        if found:
            lines.append(
                f"  stragglers: {found.batches / found.received:.0%} of batches waited"
                f" {found.waited:.3g} ms for one environment, {found.share:.0%} of them for"
                f" environment {found.env_id}"
            )
        if record.lost:
            lines.append(f"  {record.lost:,} spans found no room, so shares are too low")
        if record.is_cut:
            lines.append(
                "  only the first part of the trace: raise max_spans (profile: --max-spans)"
            )
        lines += ["", str(self.advice)]
        return "\n".join(lines)


def _busy(busy: Mapping[str, float]) -> str:
    """Returns how busy threads were: each, or the range of many."""
    if len(busy) <= 8:
        return ", ".join(f"{name} {share:.0%}" for name, share in busy.items())
    values = sorted(busy.values())
    return (
        f"{len(values)} of them, from {values[0]:.0%} to {values[-1]:.0%},"
        f" median {values[len(values) // 2]:.0%}"
    )


def _number(count: int, unit: str) -> str:
    return f"{count} {unit}" + ("s" if count != 1 else "")
