"""StepWaits: notices environments that spend their steps waiting, for another process for example.

Such environments need no core, so they gain from more worker processes than there are cores.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from parallel_pool._native import ffi, lib
from parallel_pool._tracing.core_waits import cpu_of, wait_of
from parallel_pool._workers.watch.wait_warnings import caller_stacklevel
from parallel_pool.errors import SlowWorkerWarning

if TYPE_CHECKING:
    from parallel_pool._engine.views import Views

    # of each worker, nanoseconds: for which it has run, and has waited for a core
    Times = list[tuple[int, int]]

T = TypeVar("T")

# Calls before the first sample, samples of a series, and how many times as many calls lie before
# the next series. A sample takes some 30 us for each worker, of a call of 2 ms or more.
FIRST, SAMPLES, GROWTH = 4, 8, 8
MIN_CALL_NS = 2e6  # nanoseconds
# samples of a series that must be of waiting environments; one that a debugger stopped is not
MIN_WAITING = 7
# part of a call that its workers neither ran nor waited for a core, and the gain worth a warning
WAITING_SHARE, MIN_GAIN = 0.6, 1.5


class Sample(NamedTuple):
    """One call, in nanoseconds.

    Attributes:
        wall: that it took.
        busiest: for which the busiest worker ran, or waited for a core.
        cpu: for which all workers together ran.
    """

    wall: int
    busiest: int
    cpu: int


class StepWaits:
    """Watches some of the calls in which a pool waits for its workers; warns once."""

    def __init__(self, num_envs: int, num_workers: int) -> None:
        """
        Args:
            num_envs, num_workers: of the pool, more environments than workers.
        """
        self._num_envs, self._num_workers = num_envs, num_workers
        self._samples: list[Sample] = []
        self._pause = self._left = FIRST

    def is_due(self) -> bool:
        """Counts a call; returns whether it is to be watched."""
        self._left -= 1
        return self._left < 0

    def watched(
        self, pids: Callable[[], Sequence[int | None]], convert: Callable[[Views], T]
    ) -> Callable[[Views], T]:
        """Returns a `convert` for a call that begins now and waits for the workers.

        It takes the sample first, as no exception loses a batch that is being converted.

        Args:
            pids: returns the process of each worker; None for one that has ended.
            convert: as for `BasePool.step_as`.

        Warns:
            SlowWorkerWarning: once, if the environments wait; when the result is converted.
        """
        before, start = worker_times(pids()), time.perf_counter_ns()

        def note_and_convert(views: Views) -> T:
            self._note(before, time.perf_counter_ns() - start, worker_times(pids()))
            return convert(views)

        return note_and_convert

    def _note(self, before: Times | None, wall: int, after: Times | None) -> None:
        """Takes a sample: the workers' times before and after a call, and nanoseconds between."""
        if before is None or after is None or wall < MIN_CALL_NS:
            self._begin_pause()
            return
        busy = [sum(now) - sum(then) for now, then in zip(after, before, strict=True)]
        cpu = sum(now[0] - then[0] for now, then in zip(after, before, strict=True))
        self._samples.append(Sample(wall, max(busy), cpu))
        if len(self._samples) >= SAMPLES:
            samples = self._samples.copy()
            # before the warning, which may be an exception
            self._begin_pause()
            self._judge(samples)

    def _begin_pause(self) -> None:
        self._samples.clear()
        self._pause *= GROWTH
        self._left = self._pause

    def _judge(self, samples: Sequence[Sample]) -> None:
        """Warns if environments wait in most samples."""
        waiting = [each for each in samples if each.wall - each.busiest > WAITING_SHARE * each.wall]
        if len(waiting) < MIN_WAITING:
            return
        wall = median(each.wall for each in waiting)
        gain = self._gain(wall, median(each.cpu for each in waiting))
        if gain < MIN_GAIN:
            return
        # once for a pool
        self._left = sys.maxsize
        part = 1 - median(each.busiest / each.wall for each in waiting)
        warnings.warn(
            f"the environments wait for {part:.0%} of a step of {wall / 1e6:.3g} ms, for another"
            f" process or in time.sleep for example, and {self._num_envs} of them share"
            f" {self._num_workers} worker processes: num_workers={self._num_envs} is expected to be"
            f" up to {gain:.1f} times as fast; warnings.simplefilter('ignore',"
            " parallel_pool.errors.SlowWorkerWarning) silences this warning",
            SlowWorkerWarning,
            stacklevel=caller_stacklevel(),
        )

    def _gain(self, wall: float, cpu: float) -> float:
        """Returns how many times as fast a call is if each environment has a worker."""
        most = -(-self._num_envs // self._num_workers)
        cores = lib.pp_usable_cores(ffi.NULL)
        return wall / max(wall / most, cpu / cores)


def worker_times(pids: Sequence[int | None]) -> Times | None:
    """Returns for how long each worker has run and has waited for a core; None if unknown."""
    found = []
    for pid in pids:
        cpu, wait = (None, None) if pid is None else (cpu_of(pid), wait_of(pid))
        if cpu is None or wait is None:
            return None
        found.append((cpu, wait))
    return found
