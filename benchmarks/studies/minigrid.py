"""Races MiniGrid and BabyAI: `python -m benchmarks.studies.minigrid [WORD ...]`.

1,024 environments and two threads, resets included, beside EnvPool and Gymnasium's SyncVectorEnv,
which take turns in one process. The table shows steps per second, and how many times faster ours
are: medians of the rounds, quartiles in brackets. The last scene is a picture of the agent's view,
56 x 56 pixels; EnvPool has none.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from minigrid.wrappers import ImgObsWrapper, RGBImgPartialObsWrapper

import parallel_pool
from benchmarks.harness.scene_race import SceneRace
from parallel_pool._bench.rounds import Player
from parallel_pool._command import until_interrupted

OURS, ENVPOOL, SYNC = "parallel_pool, Gymnasium's API", "EnvPool", "SyncVectorEnv"
NUM_ENVS, THREADS, BATCHES_OF_ACTIONS = 1024, 2, 16
IDS = (
    *(f"MiniGrid-{name}-v0" for name in ("DoorKey-8x8", "FourRooms", "MultiRoom-N6")),
    *("MiniGrid-Dynamic-Obstacles-8x8-v0", "BabyAI-GoToLocal-v0", "BabyAI-BossLevel-v0"),
)
PICTURES = "MiniGrid-DoorKey-8x8-v0, pictures of 56 x 56"


class Vector:
    """A vector environment with Gymnasium's `step` and random actions."""

    children: Sequence[int] = ()

    def __init__(self, envs: Any, num_envs: int, dtype: type = np.int64) -> None:
        space = getattr(envs, "single_action_space", envs.action_space)
        rng = np.random.default_rng(0)
        rows = rng.integers(0, int(space.n), (BATCHES_OF_ACTIONS, num_envs))
        self.envs, self.num_envs, self.actions = envs, num_envs, list(rows.astype(dtype))
        self.envs.reset()

    def play(self, batches: int) -> int:
        # BabyAI prints why it rejects a level
        with contextlib.redirect_stdout(None):
            for batch in range(batches):
                self.envs.step(self.actions[batch % BATCHES_OF_ACTIONS])
        return batches * self.num_envs

    def close(self) -> None:
        self.envs.close()


def ours(task_id: str, **options: Any) -> Player:
    return Vector(
        parallel_pool.make_vec(task_id, NUM_ENVS, num_threads=THREADS, **options), NUM_ENVS
    )


def envpool(task_id: str) -> Player:
    import envpool

    made = envpool.make_gymnasium(task_id, num_envs=NUM_ENVS, num_threads=THREADS, seed=0)
    return Vector(made, NUM_ENVS, np.int32)


def sync(task_id: str, wrappers: Sequence[Any] = ()) -> Player:
    # a step of one environment costs the same however many there are
    count = 32
    with contextlib.redirect_stdout(None):
        made = gymnasium.make_vec(
            task_id, count, vectorization_mode="sync", wrappers=list(wrappers)
        )
        return Vector(made, count)


def levels(task_id: str) -> Mapping[str, Callable[[], Player]]:
    """Returns the players of an id."""
    return {
        OURS: partial(ours, task_id),
        ENVPOOL: partial(envpool, task_id),
        SYNC: partial(sync, task_id),
    }


def pictures() -> Mapping[str, Callable[[], Player]]:
    """Returns the players whose observations are pictures."""
    chain = [RGBImgPartialObsWrapper, ImgObsWrapper]
    task_id = PICTURES.partition(",")[0]
    return {
        OURS: partial(ours, task_id, wrappers=chain),
        SYNC: partial(sync, task_id, chain),
    }


SCENES: Mapping[str, Callable[[], Mapping[str, Callable[[], Player]]]] = {
    **{task_id: partial(levels, task_id) for task_id in IDS},
    PICTURES: pictures,
}


RACE = SceneRace(
    "benchmarks.studies.minigrid", __doc__, SCENES, OURS, "steps/s", "ours are faster", digits=1
)
main = RACE.main

if __name__ == "__main__":
    sys.exit(until_interrupted(main))
