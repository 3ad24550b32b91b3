"""Record: what a trace has recorded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parallel_pool._engine.buffers import Array
from parallel_pool._native import lib

if TYPE_CHECKING:
    from parallel_pool._engine.maker import Maker

# a `pp_span` of C; times in nanoseconds of the monotonic clock
SPAN = np.dtype(
    [
        ("start", np.int64),
        ("end", np.int64),
        ("kind", np.int32),
        ("env_id", np.int32),
        ("count", np.int32),
        ("gaps", np.int32),
    ]
)

STEP, INLINE, RECV, SEND, RESETS, WORK, RESET, DELIVER = (
    *(lib.PP_SPAN_STEP, lib.PP_SPAN_INLINE, lib.PP_SPAN_RECV, lib.PP_SPAN_SEND),
    *(lib.PP_SPAN_RESETS, lib.PP_SPAN_WORK, lib.PP_SPAN_RESET, lib.PP_SPAN_DELIVER),
)
# calls of the user; calls that return results; and what threads and workers do
CALLS = (STEP, INLINE, RECV, SEND, RESETS)
RECEIVES = (STEP, INLINE, RECV)
WORKS = (WORK, RESET, DELIVER)

# the caller's tracks: what it receives and steps itself, and what it sends
RECEIVER, SENDER = 0, 1

# part of the cores' time that a process takes if its threads have to share them
MIN_CROWDED_SHARE = 0.75


class UserSpan(NamedTuple):
    """An interval that the user has named.

    Attributes:
        name: as the user gave it.
        start, end: nanoseconds of the monotonic clock.
        thread: identity of the Python thread.
    """

    name: str
    start: int
    end: int
    thread: int


@dataclass(frozen=True)
class Setting:
    """The pool that was traced.

    Attributes:
        name: of its environments.
        num_envs, batch_size: of the pool.
        num_threads: threads that step, the caller included; or worker processes.
        in_processes: whether worker processes step.
        cores: that the process may use.
        is_local: whether the caller does what else a worker process does, between its calls.
        maker: the class of environments in Python; None if it isn't known.
        choices: numbers of threads or worker processes that the pool could have instead; None for
            any. A pool whose resets are prepared has none, as each environment needs a worker.
    """

    name: str
    num_envs: int
    batch_size: int
    num_threads: int
    in_processes: bool
    cores: int
    is_local: bool = False
    maker: Maker | None = field(default=None, compare=False, repr=False)
    choices: Sequence[int] | None = field(default=None, repr=False)

    @property
    def unit(self) -> str:
        """What steps, in the singular."""
        return "worker" if self.in_processes else "thread"

    def may_have(self, count: int) -> bool:
        """Returns whether the pool could have this number of threads or workers instead."""
        return self.choices is None or count in self.choices


@dataclass
class Record:
    """Spans of one pool from `start` to `end`.

    Attributes:
        setting: the pool.
        start, end: nanoseconds of the monotonic clock.
        tracks: for the caller's receives, its sends, and each thread or worker: spans of dtype
            `SPAN`, in the order in which they ended.
        named: the user's own intervals.
        cpu_seconds: of processor time that this process took.
        other_cpu_seconds: of that, what threads other than the one of the trace took.
        core_waits: for each worker process, the seconds in which it could have run, but had to wait
            for a core; 0 where the system does not say.
        lost: spans that found no room.
        is_cut: whether recording ended before the trace, at `end`, because there were too many
            spans.
        pid: of the process.
        worker_cpu: for each worker process, the seconds for which its threads have run; empty if
            the system does not say.
    """

    setting: Setting
    start: int
    end: int
    tracks: Sequence[Array]
    named: Sequence[UserSpan] = ()
    cpu_seconds: float = 0.0
    other_cpu_seconds: float = 0.0
    core_waits: Sequence[float] = ()
    lost: int = 0
    is_cut: bool = False
    pid: int = field(default_factory=os.getpid)
    worker_cpu: Sequence[float] = ()

    @property
    def is_crowded(self) -> bool:
        """Whether there are more threads than cores, and they compute most of the time."""
        setting = self.setting
        seconds = (self.end - self.start) / 1e9
        return (
            not setting.in_processes
            and setting.num_threads > setting.cores
            and self.cpu_seconds >= MIN_CROWDED_SHARE * setting.cores * seconds
        )

    def track_name(self, i: int) -> str:
        """Returns the name of a track, for people."""
        if i in (RECEIVER, SENDER):
            return "caller" if i == RECEIVER else "caller, sending"
        setting, number = self.setting, i - SENDER
        if setting.in_processes:
            return f"worker {number - 1}"
        # the caller is the first thread if it steps environments
        return f"thread {number + (setting.num_threads > len(self.tracks) - 2)}"

    def of_kinds(self, kinds: Sequence[int], tracks: Sequence[int] | None = None) -> Array:
        """Returns the spans of some kinds, of all tracks unless some are named."""
        chosen = [self.tracks[i] for i in (range(len(self.tracks)) if tracks is None else tracks)]
        spans: Array = np.concatenate(chosen) if chosen else np.empty(0, SPAN)
        spans = spans[np.isin(spans["kind"], kinds)]
        return spans[np.argsort(spans["start"], kind="stable")]


def clipped(spans: Array, start: int, end: int) -> Array:
    """Returns those spans of plausible times that began at `start` or later and before `end`.

    A worker's environments may have written over its spans, and a thread may add a last span of a
    former trace.
    """
    good = (spans["start"] >= start) & (spans["start"] < end) & (spans["end"] >= spans["start"])
    good &= spans["count"] >= 0
    kept: Array = spans[good]
    np.minimum(kept["end"], end, out=kept["end"])
    np.clip(kept["gaps"], 0, kept["end"] - kept["start"], out=kept["gaps"], casting="unsafe")
    return kept


def written_by_worker(spans: Array, num_envs: int) -> Array:
    """Returns those spans that a worker process can have recorded: steps, one after another."""
    good = np.isin(spans["kind"], WORKS) & (spans["count"] <= num_envs) & (spans["gaps"] == 0)
    good &= (spans["env_id"] >= -1) & (spans["env_id"] < num_envs)
    kept: Array = spans[good]
    ends = np.maximum.accumulate(kept["end"])
    kept = kept[np.concatenate([[True], kept["start"][1:] >= ends[:-1]])[: len(kept)]]
    return kept


def clipped_names(named: Iterable[UserSpan], start: int, end: int) -> list[UserSpan]:
    """Returns the parts of the user's intervals that lie between two times."""
    return [
        UserSpan(span.name, max(start, span.start), min(end, span.end), span.thread)
        for span in named
        if span.start < end and span.end > start
    ]
