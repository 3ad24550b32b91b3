"""Report: shares of a trace's time, and who was busy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from parallel_pool.buffers import Array
from parallel_pool.tracing import advice
from parallel_pool.tracing.record import (
    CALLS,
    INLINE,
    RECEIVER,
    RECEIVES,
    SENDER,
    WORK,
    WORKS,
    Record,
)

# shares that are not of the caller's own code
ENGINE = ("environments", "waiting")
# environments that the report lists
SLOWEST = 4
# A batch has a straggler if one thread alone works for such a part of the call that waits for it.
STRAGGLING = 0.25
# a part of the batches that is not worth a line
RARE = 0.05


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
    """How long a track was busy up to any moment."""

    def __init__(self, spans: Array) -> None:
        self._times = np.stack([spans["start"], spans["end"]], axis=1).ravel()
        lengths = np.zeros(len(self._times))
        lengths[1::2] = spans["end"] - spans["start"] - spans["gaps"]
        self._busy = np.cumsum(lengths)

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
        self.seconds = (record.end - record.start) / 1e9
        self._calls = record.of_kinds(CALLS, (RECEIVER, SENDER))
        received = record.of_kinds(RECEIVES, (RECEIVER,))
        self._received = received[received["count"] > 0]
        self.steps = int(self._received["count"].sum())
        self.batches = self.steps // record.setting.batch_size
        works = [record.of_kinds(WORKS, (i,)) for i in range(len(record.tracks))]
        inline = record.of_kinds((INLINE,), (RECEIVER,))
        caller = np.concatenate([works[RECEIVER], inline])
        caller = caller[np.argsort(caller["start"], kind="stable")]
        # by track; nothing is stepped by a sender
        self._busy = [Busy(caller), *(Busy(spans) for spans in works[SENDER + 1 :])]

    # -------------------------------------------------------------------------------- shares --

    @cached_property
    def named_seconds(self) -> Mapping[str, float]:
        """Seconds of the caller's named intervals, without calls and intervals inside of them."""
        found: dict[str, float] = {}
        calls = Busy(self._calls)
        for thread in dict.fromkeys(span.thread for span in self.record.named):
            own = sorted(
                (span for span in self.record.named if span.thread == thread),
                key=lambda span: (span.start, -span.end),
            )
            stack: list[tuple[str, int]] = []
            for name, start, end, _ in own:
                end = min(end, self.record.end)
                while stack and stack[-1][1] <= start:
                    stack.pop()
                inside = calls.until(np.array([start, end]))
                length = (end - start - (inside[1] - inside[0])) / 1e9
                found[name] = found.get(name, 0.0) + length
                if stack:
                    found[stack[-1][0]] -= length
                stack.append((name, end))
        return found

    @cached_property
    def _in_calls(self) -> float:
        calls = self._calls
        # two threads may call at once
        ends = np.maximum.accumulate(calls["end"]) if len(calls) else calls["end"]
        starts = np.maximum(calls["start"], np.concatenate([[0], ends[:-1]])) if len(calls) else 0
        own = np.maximum(ends - starts, 0) - calls["gaps"]
        return float(own.sum()) / 1e9

    @cached_property
    def threads(self) -> int:
        """Threads or workers that can step at once."""
        setting = self.record.setting
        most = setting.cores if self.record.is_crowded else setting.num_threads
        return min(most, setting.num_envs)

    @cached_property
    def _stepping(self) -> float:
        """Seconds of calls, each weighted with the part of the threads that stepped meanwhile."""
        calls = self.record.of_kinds(RECEIVES, (RECEIVER,))
        inline = calls[calls["kind"] == INLINE]
        others = calls[calls["kind"] != INLINE]
        busy = sum(each.until(others["end"]) - each.until(others["start"]) for each in self._busy)
        stepping = np.minimum(busy / self.threads, others["end"] - others["start"]).sum()
        # short steps are done by the caller alone, as other threads would not make them faster
        alone = float((inline["end"] - inline["start"] - inline["gaps"]).sum())
        return float(stepping + alone) / 1e9

    @cached_property
    def _outside(self) -> float:
        """Seconds between calls in which the caller steps environments."""
        if not self.record.setting.is_local:
            return 0.0
        calls = self._calls
        inside = sum(each.until(calls["end"]) - each.until(calls["start"]) for each in self._busy)
        total = sum(each.until(np.array([self.record.end]))[0] for each in self._busy)
        return float(total - np.sum(inside)) / 1e9

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """Parts of the caller's time, which add up to 1.

        - "policy": between calls, outside of intervals with other names.
        - the user's own names, such as "learn".
        - "environments": in calls, while threads or workers step; if only half of them do, half of
          the time counts.
        - "waiting": the rest of calls: imbalance, waking, infos, and the engine's own work.
        """
        found = {"policy": 0.0}
        for name, value in self.named_seconds.items():
            found[f"{name} (named)" if name in ENGINE else name] = value / self.seconds
        in_calls = self._in_calls / self.seconds
        stepping = min(self._stepping / self.seconds, in_calls)
        outside = self._outside / self.seconds
        in_calls, stepping = in_calls + outside, stepping + outside
        found["policy"] += max(0.0, 1.0 - in_calls - sum(found.values()))
        return {**found, "environments": stepping, "waiting": in_calls - stepping}

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

    # -------------------------------------------------------------------------- environments --

    @cached_property
    def env_times(self) -> Sequence[EnvTime]:
        """Times of environments that were stepped one by one, the slowest first."""
        spans = self.record.of_kinds((WORK,))
        spans = spans[(spans["count"] == 1) & (spans["env_id"] >= 0)]
        spans = spans[spans["env_id"] < self.record.setting.num_envs]
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
        calls = self._received[self._received["kind"] != INLINE]
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
            stepped = spans[np.isin(spans["kind"], (WORK,))]
            last = np.searchsorted(stepped["start"], calls["end"]) - 1
            envs[i] = np.where(last >= 0, stepped["env_id"][last], -1) if len(stepped) else -1
        ends = np.maximum(ends, calls["start"])
        order = np.argsort(ends, axis=0)
        columns = np.arange(len(calls))
        alone = ends[order[-1], columns] - ends[order[-2], columns]
        waits = alone > STRAGGLING * (calls["end"] - calls["start"])
        if waits.sum() < RARE * self.batches:
            return None
        last_env = envs[order[-1], columns][waits]
        counts = np.bincount(last_env[last_env >= 0], minlength=1)
        most = int(counts.argmax())
        return Stragglers(
            int(waits.sum()),
            self.batches,
            float(alone[waits].mean()) / 1e6,
            most,
            float(counts[most] / waits.sum()),
        )

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
        if self.env_times:
            shown = ", ".join(
                f"{each.env_id}: {each.mean:.3g} ms (at most {each.longest:.3g})"
                for each in self.env_times[:SLOWEST]
            )
            lines.append(f"  slowest environments: {shown}")
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
            lines.append("  only the first part of the trace: raise max_spans")
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
