"""Advice: what to change in a pool, from what a trace has recorded."""

from __future__ import annotations

import bisect
import heapq
from collections import deque
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parallel_pool._engine.buffers import Array
from parallel_pool._tracing.record import WORK

if TYPE_CHECKING:
    from parallel_pool._tracing.report import Report

# a gain that is worth a change
MIN_GAIN = 1.05
# fewer threads must keep this part of the speed
MIN_SPEED_SHARE = 0.98
# environments that take at least this share of the time leave nothing to advise on
MAX_ENV_SHARE = 0.7
# part of the time that a loop over compiled environments takes at least
MIN_OUTSIDE_SHARE = 0.02
# If a worker waits for a core for more than this part of the time, and other threads of the program
# have one for more than that, they are the cause.
MIN_LOST_SHARE, MIN_TAKEN_SHARE = 0.1, 0.1
# part of the workers' steps in which environments neither run nor wait for a core, from which on
# they gain from more workers than there are cores
MIN_IDLE_SHARE = 0.5
# seconds of a step that sending to worker processes and waking them takes
WAKE = 80e-6
# samples of an environment's steps
SAMPLES = 200
# steps of an environment that are simulated for a prediction, if there are not too many in all
SIMULATED_STEPS, MAX_SIMULATED_STEPS = 50, 20_000


class Advice(NamedTuple):
    """A sentence, and what it means.

    Attributes:
        text: the sentence.
        change: arguments of the pool to change; empty if there is nothing to gain.
        gain: how many times as fast the loop is expected to be.
    """

    text: str
    change: Mapping[str, int] = MappingProxyType({})
    gain: float = 1.0

    def __str__(self) -> str:
        return self.text


class Model(NamedTuple):
    """What a prediction needs.

    Attributes:
        lengths: seconds of steps, (environments, samples).
        between: seconds that the caller takes between two batches.
        overhead: seconds of a batch that are neither.
        num_threads: threads or workers that step.
        in_processes: whether each environment belongs to one worker; the caller is none of them.
    """

    lengths: Array
    between: float
    overhead: float
    num_threads: int
    in_processes: bool

    def owners(self, num_threads: int) -> list[int]:
        """Returns the worker of each environment, or the thread that looks for it first."""
        num_envs = len(self.lengths)
        groups = np.array_split(np.arange(num_envs), num_threads)
        return [i for i, group in enumerate(groups) for _ in group]


class Simulation:
    """Threads or workers that take steps out of queues.

    The first thread is the caller, if it steps: it is away between two batches.
    """

    def __init__(self, model: Model, num_threads: int) -> None:
        self._lengths = model.lengths.tolist()
        self._taken = [0] * len(self._lengths)
        self._owners = model.owners(num_threads)
        self._queues: list[deque[tuple[float, int]]] = [deque() for _ in range(num_threads)]
        self._queued = 0
        self._shares = not model.in_processes
        # a lone thread steps while the caller is away
        self.helps = self._shares and num_threads > 1
        self._free = dict.fromkeys(range(self.helps, num_threads), 0.0)
        # steps that have begun: when they end, and their environments
        self.begun: list[tuple[float, int]] = []

    @property
    def workers(self) -> int:
        """Threads or workers that step also while the caller is away."""
        return len(self._free)

    def send(self, now: float, env_ids: Iterable[int]) -> None:
        """Queues steps."""
        for env_id in sorted(env_ids):
            self._queues[self._owners[env_id]].append((now, env_id))
            self._queued += 1

    def _begin(self, queue: int, now: float) -> float:
        """Begins a step not before now; returns when it ends."""
        sent, env_id = self._queues[queue].popleft()
        self._queued -= 1
        samples = self._lengths[env_id]
        end: float = max(now, sent) + samples[self._taken[env_id] % len(samples)]
        self._taken[env_id] += 1
        heapq.heappush(self.begun, (end, env_id))
        return end

    def _source(self, thread: int) -> int:
        """Returns the queue from which a thread takes, if there is something to take."""
        if self._queues[thread]:
            return thread
        return max(range(len(self._queues)), key=lambda i: len(self._queues[i]))

    def run(self, now: float) -> None:
        """Lets all but the caller begin what they would have begun by now."""
        while self._queued:
            ready = [
                (free, thread)
                for thread, free in self._free.items()
                if free <= now and (self._shares or self._queues[thread])
            ]
            if not ready:
                return
            free, thread = min(ready)
            self._free[thread] = self._begin(self._source(thread), free)

    def help(self, now: float) -> float | None:
        """Lets the caller do a step; returns when it ends, None if there is nothing to do."""
        sizes = [len(queue) for queue in self._queues]
        other = max(range(1, len(sizes)), key=sizes.__getitem__)
        source = other if sizes[other] > sizes[0] else 0
        return self._begin(source, now) if sizes[source] else None

    def next_end(self) -> float:
        """Returns when the next step ends, or the next thread is free to begin one."""
        return self.begun[0][0] if self.begun else min(self._free.values())


def predict(model: Model, num_threads: int, batch_size: int) -> float:
    """Returns the seconds for as many steps as there are environments.

    The caller is assumed to take as long for a small batch as for a large one.
    """
    num_envs = len(model.lengths)
    is_async = batch_size < num_envs
    simulation = Simulation(model, num_threads)
    batch: list[int] = list(range(num_envs))
    batches = max(20, min(SIMULATED_STEPS * num_envs, MAX_SIMULATED_STEPS) // batch_size)
    now = 0.0
    for _ in range(batches):
        simulation.send(now, batch)
        batch = []
        while len(batch) < batch_size:
            simulation.run(now)
            missing = batch_size - len(batch)
            if simulation.begun and simulation.begun[0][0] <= now:
                batch.append(heapq.heappop(simulation.begun)[1])
                continue
            # as the engine does: not if the others may complete the batch first
            may_help = simulation.helps and (missing >= simulation.workers or not is_async)
            end = simulation.help(now) if may_help else None
            now = end if end is not None else max(now, simulation.next_end())
        now += model.overhead + model.between
    return now / (batches * batch_size) * num_envs


def model_of(report: Report) -> Model | None:
    """Returns what predictions need; None if steps are too cheap to tell apart."""
    record = report.record
    setting = record.setting
    spans = report.single_steps
    spans = spans[np.argsort(spans["env_id"], kind="stable")]
    by_env = np.split(spans, np.searchsorted(spans["env_id"], np.arange(1, setting.num_envs)))
    if min(map(len, by_env)) == 0:
        return None
    rng = np.random.default_rng(0)
    lengths = np.stack([rng.choice((own["end"] - own["start"]) / 1e9, SAMPLES) for own in by_env])
    batches = report.steps / setting.batch_size
    if not lengths.any():
        return None
    if record.is_crowded:
        # steps of threads that share a core look longer than they are
        lengths *= setting.cores / setting.num_threads
    between = report.seconds * report.outside / batches
    model = Model(lengths, between, 0.0, report.threads, setting.in_processes)
    if setting.batch_size < setting.num_envs:
        return model
    rest = report.seconds / batches - predict(model, report.threads, setting.num_envs)
    return model._replace(overhead=max(0.0, rest))


def advise(report: Report) -> Advice:
    """Returns what to do."""
    own = report.outside
    if not report.steps:
        return Advice("No batch was received while the trace ran.")
    if own >= MAX_ENV_SHARE:
        return Advice(
            f"The caller's own code takes {own:.0%}: environments are not the bottleneck (without"
            f" them it is at most {1 / own:.2f} times as fast)."
        )
    translation = report.translation
    if translation and translation.cure:
        # the loop then takes what it takes outside of calls, or little more
        gain = 1 / max(own, MIN_OUTSIDE_SHARE)
        return Advice(
            f"Calls take {1 - own:.0%}, and these environments can be compiled to C, with the same"
            f" results: {translation.cure}; the loop is expected to be up to {gain:.3g} times as"
            " fast.",
            gain=gain,
        )
    found = _advise_pool(report)
    if translation:
        found = found._replace(text=f"{found.text}\n{translation.reason}.")
    return found


def _advise_pool(report: Report) -> Advice:
    """Returns what to change of a pool whose environments stay as they are."""
    setting, shares = report.record.setting, report.shares
    own = report.outside
    lost = _lost_cores(report)
    if lost:
        return lost
    model = model_of(report)
    if model is None and (left_out := _left_out(report)):
        stepped = setting.num_envs - left_out
        return Advice(
            f"Only {stepped} of {setting.num_envs} environments were stepped while the trace ran,"
            " so nothing is predicted: step all of them meanwhile."
        )
    if model is None:
        return Advice(
            f"Steps are too short to be worth more threads: {1 - own:.0%} of the time is in calls;"
            " more environments in each call would make each cheaper."
        )
    if report.record.is_crowded:
        return Advice(
            f"{setting.num_threads} threads share {setting.cores} cores:"
            f" num_threads={setting.cores} would do.",
            {"num_threads": setting.cores},
        )
    if setting.num_envs == 1:
        return Advice(
            f"The one environment takes {shares['environments']:.0%}: several of them could be"
            f" stepped at once, on {setting.cores} cores."
        )
    waiting = _waiting(report, model)
    if waiting:
        return waiting
    best = max(_gains(report, model), key=lambda each: each.gain, default=None)
    if best and best.gain >= MIN_GAIN:
        return best
    fewer = _fewer(report, model)
    if fewer:
        return fewer
    if shares["environments"] >= 0.5:
        return Advice(
            f"The environments themselves take {shares['environments']:.0%}, with all"
            f" {setting.unit}s busy: only more cores or cheaper environments make this faster."
        )
    return Advice("No other setting of this pool is expected to be faster by 5 % or more.")


def _left_out(report: Report) -> int:
    """Returns how many environments were not stepped, if the others were stepped one by one."""
    works = report.record.of_kinds((WORK,))
    if not len(report.single_steps) or (works["count"] > 1).any():
        return 0
    return report.record.setting.num_envs - len(np.unique(report.single_steps["env_id"]))


def _lost_cores(report: Report) -> Advice | None:
    """Returns advice for workers that wait for cores which other threads of the caller have."""
    lost = max(report.core_waits.values(), default=0.0)
    taken = report.record.other_cpu_seconds / report.seconds
    if lost < MIN_LOST_SHARE or taken < MIN_TAKEN_SHARE:
        return None
    # while a worker waits, the batch waits for it
    gain = 1 / (1 - min(lost, report.shares["waiting"] + report.shares["environments"]))
    return Advice(
        f"A worker waits for a core {lost:.0%} of the time, while other threads of this process"
        f" keep {taken:.2g} cores busy. Threads of PyTorch or OpenMP do so even if they only wait:"
        " start Python with OMP_WAIT_POLICY=PASSIVE in its environment, or call"
        f" torch.set_num_threads(1); the loop is expected to be up to {gain:.2f} times as fast.",
        gain=gain,
    )


def _waiting(report: Report, model: Model) -> Advice | None:
    """Returns advice for environments that wait, in workers that they share."""
    setting, worker_cpu = report.record.setting, report.record.worker_cpu
    count = setting.num_envs
    if not worker_cpu or not any(worker_cpu) or count <= setting.num_threads:
        return None
    stepping = sum(report.busy.values()) * report.seconds
    idle = 1 - (sum(worker_cpu) + sum(report.record.core_waits)) / stepping if stepping else 0.0
    if idle < MIN_IDLE_SHARE or setting.batch_size < count or not setting.may_have(count):
        return None
    now = predict(model, model.num_threads, count)
    least = sum(worker_cpu) / (report.steps / count) / setting.cores
    gain = now / max(predict(model, count, count), least)
    if gain < MIN_GAIN:
        return None
    return Advice(
        f"Environments wait for {idle:.0%} of their steps, for another process or in time.sleep for"
        f" example, and need no core meanwhile: num_workers={count}, a process for each, is"
        f" expected to be {gain:.2f} times as fast.",
        {"num_workers": count},
        gain,
    )


def _gains(report: Report, model: Model) -> list[Advice]:
    """Returns changes, and how many times as fast each is expected to be."""
    setting = report.record.setting
    if setting.batch_size < setting.num_envs:
        return []
    now = predict(model, model.num_threads, setting.num_envs)
    found = []
    name = f"num_{setting.unit}s"
    limit = min(setting.cores, setting.num_envs)
    if setting.in_processes and not setting.is_local and setting.may_have(0):
        gain = now / predict(model._replace(overhead=0.0), 1, setting.num_envs)
        text = (
            f"num_workers=0, where your own process steps, is expected to be {gain:.2f} times as"
            " fast, but isolates nothing."
        )
        found.append(Advice(text, {name: 0}, gain))
    if setting.num_threads < limit and setting.may_have(limit):
        others = model._replace(overhead=WAKE) if setting.is_local else model
        gain = now / predict(others, limit, setting.num_envs)
        text = f"{name}={limit}, one for each core, is expected to be {gain:.2f} times as fast."
        found.append(Advice(text, {name: limit}, gain))
    sizes = {setting.num_envs * part // 8 for part in (1, 2, 4, 6)} - {0, setting.num_envs}
    for size in () if setting.is_local else sorted(sizes):
        after = predict(model, model.num_threads, size)
        hidden = min(1.0, (now - after) / (now - model.between))
        text = (
            f"batch_size={size} of {setting.num_envs} is expected to be {now / after:.2f} times as"
            f" fast: it would hide {hidden:.0%} of step()."
        )
        found.append(Advice(text, {"batch_size": size}, now / after))
    return found


def _fewer(report: Report, model: Model) -> Advice | None:
    """Returns advice to use fewer threads or workers; None if all are needed."""
    setting = report.record.setting
    if setting.batch_size < setting.num_envs:
        return None
    now = predict(model, model.num_threads, setting.num_envs)

    def gain(count: int) -> float:
        return now / predict(model, count, setting.num_envs)

    # more threads are hardly ever slower
    counts = [count for count in range(1, model.num_threads) if setting.may_have(count)]
    at = bisect.bisect_left(counts, True, key=lambda count: gain(count) >= MIN_SPEED_SHARE)
    if at == len(counts):
        return None
    count = counts[at]
    plural = "s" if count > 1 else ""
    text = (
        f"{count} {setting.unit}{plural} would do: {model.num_threads} are expected to be"
        f" at most {1 - MIN_SPEED_SHARE:.0%} faster."
    )
    return Advice(text, {f"num_{setting.unit}s": count}, gain(count))
