"""Races tasks of Gymnasium-Robotics: `python -m benchmarks.studies.robotics [ID ...]`.

In turn, 32 environments on two threads here and in EnvPool, on one thread here and in a loop in C
that only calls MuJoCo, and one environment of Gymnasium-Robotics, all with EnvPool's MuJoCo.
Episodes end and are reset everywhere. The loop in C makes the same calls as ours on one thread, in
the same states: the study fails if their last positions and velocities differ in a bit. Figures are
ratios of CPU time per step, in which other programs on the machine show least.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.harness import pinned
from benchmarks.harness.report import page, publish, table
from benchmarks.harness.step_costs import Player, calibrate, compare, measure, repeat
from benchmarks.scenes.robotics_bare import BareLoop
from parallel_pool._engine.pool import Pool

# EnvPool 1.2.5 was built with it, and Fetch of Gymnasium-Robotics can be made with it
MUJOCO = "3.6.0"
REFERENCE = "gymnasium-robotics-1.4.2"
NUM_ENVS, NUM_THREADS, NUM_ROWS = 32, 2, 16
SEED = 1
# Episodes of at most so many steps are reset in what is measured. Resets of longer ones take next
# to nothing.
MAX_SHORT_STEPS = 60
# some of each kind; EnvPool has no AntMaze
IDS = (
    *("FetchReach-v4", "FetchPush-v4", "FetchSlide-v4", "FetchPickAndPlace-v4"),
    *("PointMaze_UMaze-v3", "PointMaze_Large_Diverse_GR-v3", "AntMaze_UMaze-v4"),
    *("AntMaze_UMaze-v5", "AntMaze_Large-v5"),
    *("AdroitHandDoor-v1", "AdroitHandHammer-v1", "AdroitHandPen-v1", "AdroitHandRelocate-v1"),
    *("HandReach-v3", "HandManipulateBlock-v1", "HandManipulateEgg_ContinuousTouchSensors-v1"),
    *("HandManipulatePen-v1", "FrankaKitchen-v1"),
)


def python_loop(task_id: str, actions: np.ndarray) -> Callable[[int], None]:
    """Returns a function that steps one environment of Gymnasium-Robotics so many times.

    As in a pool, a reset takes the place of a step.
    """
    import gymnasium

    importlib.import_module("gymnasium_robotics")
    env = gymnasium.make(task_id, disable_env_checker=True)
    env.reset(seed=SEED)
    has_ended = False

    def step(action: np.ndarray) -> None:
        nonlocal has_ended
        if has_ended:
            env.reset()
            has_ended = False
        else:
            *_, terminated, truncated, _ = env.step(action)
            has_ended = terminated or truncated

    return repeat(step, actions[:, 0])


def envpool_loop(task_id: str, actions: np.ndarray) -> Callable[[int], None] | None:
    """Returns a function that steps EnvPool's environments; None if it has no such id."""
    import envpool

    if task_id not in envpool.list_all_envs():
        return None
    pool = envpool.make(task_id, "gymnasium", num_envs=NUM_ENVS, num_threads=NUM_THREADS, seed=SEED)
    pool.reset()
    return repeat(pool.step, actions.astype(pool.action_space.dtype))


def costs(task_id: str, rounds: int) -> dict[str, float]:
    """Returns microseconds of CPU time per environment step, means of rounds, by player.

    Raises:
        RuntimeError: the loop in C has simulated something else than ours.
    """
    with (
        Pool(task_id, NUM_ENVS, num_threads=NUM_THREADS, seed=SEED) as pool,
        Pool(task_id, NUM_ENVS, num_threads=1, seed=SEED) as single,
    ):
        pool.reset()
        single.reset()
        shape = (NUM_ROWS, NUM_ENVS, *pool.spec.action.shape)
        actions = np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
        ours = repeat(pool.step, actions)
        limit = pool.max_episode_steps or 0
        # the rounds together have an episode, and its reset
        least = max(4, -(-(limit + 1) // rounds)) if limit <= MAX_SHORT_STEPS else 4
        steps = calibrate(ours, least)
        played = list(itertools.islice(itertools.cycle(actions), steps * (rounds + 1)))
        with closing(BareLoop(task_id, played, seed=SEED)) as bare:
            players = {
                "ours": Player(ours, NUM_ENVS),
                "single": Player(repeat(single.step, actions), NUM_ENVS),
                "bare": Player(bare, NUM_ENVS),
                "Python": Player(python_loop(task_id, actions), 1, times=8),
            }
            theirs = envpool_loop(task_id, actions)
            if theirs is not None:
                players["EnvPool"] = Player(theirs, NUM_ENVS)
            spent = measure(players, steps, rounds)
            if found := bare.difference(single):
                raise RuntimeError(f"{task_id}: after {steps * (rounds + 1)} steps {found}")
        return {name: statistics.fmean(each) for name, each in spent.items()}


# what is shown: a name, and whose cost is divided by whose
RATIOS = {
    "EnvPool": ("EnvPool", "ours"),
    "bare": ("bare", "single"),
    "Python": ("Python", "single"),
    "Python / bare": ("Python", "bare"),
}


def speed(rounds: int, ids: Sequence[str]) -> str:
    """Returns a page that says how many times as much CPU time as ours the steps of others take.

    The last column is what the loop over Gymnasium-Robotics takes of a bare loop's: the most that a
    pool can gain.
    """
    rows = compare(ids, lambda task_id: costs(task_id, rounds), "single", RATIOS)
    return page(
        "Gymnasium-Robotics",
        "`python -m benchmarks.studies.robotics`: CPU time of a step of one environment,"
        f" {rounds} interleaved rounds, means. The first figure is ours on one thread; the others"
        f" say how many times as much EnvPool takes (both with {NUM_ENVS} environments on"
        f" {NUM_THREADS} threads), a loop in C that only calls MuJoCo, resets included, and"
        " Gymnasium-Robotics in a loop (ours on one thread); the last is Gymnasium-Robotics' beside"
        f" the loop in C. MuJoCo {MUJOCO}.",
        *table(["id", "us", *RATIOS], rows),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ids", nargs="*", default=IDS, metavar="ID")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the table goes, too")
    given = parser.parse_args(arguments)
    if pinned.is_other(MUJOCO):
        words = sys.argv[1:] if arguments is None else arguments
        reference = Path(sys.prefix) / REFERENCE
        return pinned.run_study("benchmarks.studies.robotics", words, MUJOCO, [reference])
    publish(speed(given.rounds, given.ids), given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
