"""Races CarRacing: `python -m benchmarks.studies.car_racing [WORD ...]`.

64 environments and two threads with random actions, beside EnvPool and Gymnasium's
SyncVectorEnv, which take turns in one process. The second scene has what people put around
CarRacing: gray pictures of 84 x 84 pixels, the last four stacked. The table shows steps per second
and CPU time per step, and how many times faster ours are in both: medians of the rounds, quartiles
in brackets. The bar is five times SyncVectorEnv's steps for the same CPU time. EnvPool draws
another picture, and its options have no other size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import FrameStackObservation, GrayscaleObservation, ResizeObservation

import parallel_pool
from benchmarks.harness.scene_race import SceneRace
from parallel_pool._bench.rounds import Player
from parallel_pool._command import until_interrupted

OURS, ENVPOOL, SYNC = "parallel_pool, Gymnasium's API", "EnvPool", "SyncVectorEnv"
ID, NUM_ENVS, THREADS, BATCHES_OF_ACTIONS, FIRST_SECOND = "CarRacing-v3", 64, 2, 64, 50
PREPROCESSED = (
    GrayscaleObservation,
    partial(ResizeObservation, shape=(84, 84)),
    partial(FrameStackObservation, stack_size=4),
)
LOW, HIGH = (-1, 0, 0), (1, 1, 1)


class Vector:
    """A vector environment with Gymnasium's `step` and random actions."""

    children: Sequence[int] = ()

    def __init__(self, envs: Any, num_envs: int) -> None:
        rng = np.random.default_rng(0)
        rows = rng.uniform(LOW, HIGH, (BATCHES_OF_ACTIONS, num_envs, len(LOW)))
        self.envs, self.num_envs, self.actions = envs, num_envs, list(rows.astype(np.float32))
        self.envs.reset()
        # the first second of an episode shows more of the field, and is drawn for twice as long
        self.play(FIRST_SECOND)

    def play(self, batches: int) -> int:
        for batch in range(batches):
            self.envs.step(self.actions[batch % BATCHES_OF_ACTIONS])
        return batches * self.num_envs

    def close(self) -> None:
        self.envs.close()


def ours(wrappers: Sequence[Any] = ()) -> Player:
    made = parallel_pool.make_vec(ID, NUM_ENVS, wrappers=list(wrappers), num_threads=THREADS)
    return Vector(made, NUM_ENVS)


def envpool() -> Player:
    import envpool as package

    made = package.make_gymnasium(ID, num_envs=NUM_ENVS, num_threads=THREADS, seed=0)
    return Vector(made, NUM_ENVS)


def sync(wrappers: Sequence[Any] = ()) -> Player:
    # a step of one environment costs the same however many there are
    count = 2
    made = gymnasium.make_vec(ID, count, vectorization_mode="sync", wrappers=list(wrappers))
    return Vector(made, count)


def plain() -> Mapping[str, Callable[[], Player]]:
    return {OURS: ours, ENVPOOL: envpool, SYNC: sync}


def preprocessed() -> Mapping[str, Callable[[], Player]]:
    return {OURS: partial(ours, PREPROCESSED), SYNC: partial(sync, PREPROCESSED)}


SCENES: Mapping[str, Callable[[], Mapping[str, Callable[[], Player]]]] = {
    "pictures of 96 x 96": plain,
    "gray, 84 x 84, 4 stacked": preprocessed,
}

RACE = SceneRace(
    "benchmarks.studies.car_racing",
    __doc__,
    SCENES,
    OURS,
    "steps/s",
    "ours are faster",
    digits=1,
    cpu="CPU us/step",
)
main = RACE.main

if __name__ == "__main__":
    sys.exit(until_interrupted(main))
