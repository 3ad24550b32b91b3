"""Trial: a plain loop that is traced, to predict what turns would gain."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.arguments import quote
from parallel_pool._engine.trees import map_leaves

if TYPE_CHECKING:
    from parallel_pool._apis.turns.chunk import Chunk
    from parallel_pool._tracing.report import Report

# seconds of the plain loop, and its least steps
SECONDS, STEPS = 0.5, 10
# steps and calls before: compilers work, threads start
WARM_UP = 3
# seconds in which the policy's calls for a chunk are timed
POLICY_SECONDS = 0.1
# a gain that is worth smaller batches
MIN_GAIN = 1.05


class PolicyTime:
    """What a call of the policy for one chunk takes.

    Attributes:
        wall: seconds.
        cpu: seconds of all threads of this process.
    """

    def __init__(self, policy: Callable[[Any], Any], observations: Any) -> None:
        for _ in range(WARM_UP):
            policy(observations)
        calls, wall, cpu = 0, time.perf_counter(), time.process_time()
        end = wall + POLICY_SECONDS
        while calls < STEPS or time.perf_counter() < end:
            policy(observations)
            calls += 1
        self.wall = (time.perf_counter() - wall) / calls
        self.cpu = (time.process_time() - cpu) / calls


class Trial:
    """Plays all environments in a plain loop, and calls the policy for a part of them."""

    def __init__(self, chunk: Chunk, policy: Callable[[Any], Any]) -> None:
        """Takes the chunk of all environments; it must be reset afterwards.

        Raises:
            ValueError: the environments have no trace.
        """
        self._chunk, self._policy = chunk, policy
        if not callable(getattr(chunk.envs, "trace", None)):
            raise ValueError(
                f"depth=None needs environments with trace(), which {quote(chunk.envs)} has not:"
                " choose depth=1 or depth=2"
            )

    def gain(self, depth: int) -> float:
        """Plays, and returns how many times as fast so many chunks are expected to be."""
        # without a seed, as later resets without one go on with these generators
        self._chunk.reset(None, None)
        self._play(WARM_UP, 0.0)
        with self._chunk.envs.trace() as trace:
            self._play(STEPS, SECONDS)
        count = -(-self._chunk.envs.num_envs // depth)
        part = map_leaves(lambda array: array[:count], self._chunk.observations)
        # episodes of the trial are no episodes of the loop: it begins with a reset
        self._chunk.observations = None
        return gain(trace.report(), PolicyTime(self._policy, part), depth)

    def _play(self, steps: int, seconds: float) -> None:
        """Plays at least so many steps and seconds."""
        end = time.perf_counter() + seconds
        while steps > 0 or time.perf_counter() < end:
            self._chunk.act(self._policy)
            self._chunk.receive()
            # nobody may hold the results, as in a loop that drops them
            self._chunk.deliver()
            steps -= 1


def gain(report: Report, policy: PolicyTime, depth: int) -> float:
    """Returns how many times as fast `depth` chunks in turns are expected to be.

    The caller calls the policy for each chunk; meanwhile the other threads or the workers step, and
    what they have not done by then is left to all. It can't be faster than the cores are.

    Args:
        report: of the plain loop.
        policy: its time for one chunk.
        depth: chunks.
    """
    setting = report.record.setting
    # the caller is one of the threads
    others = report.threads - (not setting.in_processes)
    if setting.is_local or not others:
        return 1.0
    plain = report.seconds / report.batches
    steps = sum(report.busy.values()) * plain
    called = depth * policy.wall
    rest = max(0.0, steps - called * others) / report.threads
    work = (depth * policy.cpu + _cpu(report, steps)) / setting.cores
    return plain / max(called + rest + report.shares["waiting"] * plain, work)


def _cpu(report: Report, steps: float) -> float:
    """Returns the seconds of cores that a step of all takes; environments may wait, too."""
    record = report.record
    known = record.setting.in_processes and any(record.worker_cpu)
    return sum(record.worker_cpu) / report.batches if known else steps
