"""Records whose shares are known: spans written by hand, and loops of which every time is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parallel_pool._tracing.record import (
    DELIVER,
    SENDER,
    SPAN,
    STEP,
    WORK,
    Record,
    Setting,
    UserSpan,
)

MS = 1_000_000


def spans(*rows: Sequence[float]) -> Any:
    """Returns spans.

    Args:
        rows: start and end in milliseconds, kind, environment, count (1), and gaps in ms (0).
    """
    made = np.zeros(len(rows), SPAN)
    for i, row in enumerate(rows):
        start, end, kind, env_id, count, gaps = (*row, *(1, 0)[len(row) - 4 :])
        made[i] = (round(start * MS), round(end * MS), kind, env_id, count, round(gaps * MS))
    return made


def record(
    tracks: Sequence[Any],
    end: float,
    *,
    named: Sequence[tuple[str, float, float] | tuple[str, float, float, int]] = (),
    cpu_seconds: float = 0.0,
    other_cpu_seconds: float = 0.0,
    core_waits: Sequence[float] = (),
    lost: int = 0,
    is_cut: bool = False,
    **setting: Any,
) -> Record:
    """Returns a record that begins at 0.

    Args:
        tracks: the caller's receives; if there are more, its sends, and those of threads or
            workers.
        end, named: in milliseconds; names with their interval, and a thread (0).
        setting: what differs from two environments on two threads and cores.
    """
    usual = Setting("Made-v0", 2, setting.get("num_envs", 2), 2, in_processes=False, cores=2)
    made = replace(usual, **setting)
    tracks = [*tracks, *(spans() for _ in range(SENDER + 1 - len(tracks)))]
    users = [
        UserSpan(each[0], round(each[1] * MS), round(each[2] * MS), *each[3:])
        for each in ((*each, 0)[:4] for each in named)
    ]
    return Record(
        *(made, 0, round(end * MS), tracks, users, cpu_seconds),
        *(other_cpu_seconds, core_waits, lost, is_cut),
        pid=7,
    )


@dataclass(frozen=True)
class Loop:
    """A synchronous loop; all times in milliseconds.

    Attributes:
        step_ms: of each environment.
        policy_ms: between two batches.
        num_threads: threads, the caller included; or worker processes.
        overhead_ms: of a call, before the first step.
        in_processes: whether worker processes step.
        cores: that the process may use.
        batches: how many.
        cpu_seconds: of the process.
    """

    step_ms: Sequence[float]
    policy_ms: float
    num_threads: int
    overhead_ms: float = 0.0
    in_processes: bool = False
    cores: int = 8
    batches: int = 50
    cpu_seconds: float = 0.0

    def record(self) -> Record:
        """Returns what a trace of it would record."""
        num_envs, workers = len(self.step_ms), self.num_threads
        tracks: list[list[Any]] = [
            [] for _ in range(SENDER + 1 + workers - (not self.in_processes))
        ]
        # a thread takes the next environment; a worker has its own
        own = np.array_split(np.arange(num_envs), workers)
        now = 0.0
        for _ in range(self.batches):
            free = [now + self.overhead_ms] * workers
            for env_id, length in enumerate(self.step_ms):
                who = free.index(min(free))
                if self.in_processes:
                    who = next(i for i, group in enumerate(own) if env_id in group)
                i = SENDER + 1 + who - (not self.in_processes) if who or self.in_processes else 0
                tracks[i].append((free[who], free[who] + length, WORK, env_id))
                free[who] += length
            for i in range(workers if self.in_processes else 0):
                tracks[SENDER + 1 + i].append((free[i], free[i], DELIVER, -1, len(own[i])))
            tracks[0].append((now, max(free), STEP, -1, num_envs))
            now = max(free) + self.policy_ms
        return record(
            [spans(*track) for track in tracks],
            now,
            num_envs=num_envs,
            num_threads=workers,
            in_processes=self.in_processes,
            cores=self.cores,
            cpu_seconds=self.cpu_seconds,
        )
