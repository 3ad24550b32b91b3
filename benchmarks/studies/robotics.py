"""Races tasks of Gymnasium-Robotics: `python -m benchmarks.studies.robotics [ID ...]`.

In turn, 32 environments on two threads here and in EnvPool, on one thread here, one environment of
Gymnasium-Robotics, and one simulation of which only mj_step is called, all with EnvPool's MuJoCo.
Episodes end and are reset everywhere but in the last. Figures are ratios of CPU time per step, in
which other programs on the machine show least.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.report import publish, table
from parallel_pool._bench import machine
from parallel_pool._engine.pool import Pool, write_state

# EnvPool 1.2.5 was built with it, and Fetch of Gymnasium-Robotics can be made with it
MUJOCO = "3.6.0"
REFERENCE = "gymnasium-robotics-1.4.2"
NUM_ENVS, NUM_THREADS, NUM_ROWS = 32, 2, 16
# some of each kind; EnvPool has no AntMaze
IDS = (
    *("FetchReach-v4", "FetchPush-v4", "FetchSlide-v4", "FetchPickAndPlace-v4"),
    *("PointMaze_UMaze-v3", "PointMaze_Large_Diverse_GR-v3", "AntMaze_UMaze-v4"),
    *("AntMaze_UMaze-v5", "AntMaze_Large-v5"),
    *("AdroitHandDoor-v1", "AdroitHandHammer-v1", "AdroitHandPen-v1", "AdroitHandRelocate-v1"),
    *("HandReach-v3", "HandManipulateBlock-v1", "HandManipulateEgg_ContinuousTouchSensors-v1"),
    *("HandManipulatePen-v1", "FrankaKitchen-v1"),
)


def python_loop(env_id: str, actions: np.ndarray) -> Callable[[int], None]:
    """Returns a function that steps one environment of Gymnasium-Robotics so many times."""
    import gymnasium

    importlib.import_module("gymnasium_robotics")
    env = gymnasium.make(env_id, disable_env_checker=True)
    env.reset(seed=1)

    def play(steps: int) -> None:
        for i in range(steps):
            *_, terminated, truncated, _ = env.step(actions[i % len(actions), 0])
            if terminated or truncated:
                env.reset()

    return play


def envpool_loop(env_id: str, actions: np.ndarray) -> Callable[[int], None] | None:
    """Returns a function that steps EnvPool's environments; None if it has no such id."""
    import envpool

    if env_id not in envpool.list_all_envs():
        return None
    pool = envpool.make(env_id, "gymnasium", num_envs=NUM_ENVS, num_threads=NUM_THREADS, seed=1)
    pool.reset()
    return _repeat(pool.step, actions.astype(pool.action_space.dtype))


def bare_loop(pool: Pool, actions: np.ndarray) -> Callable[[int], None]:
    """Returns a function that only simulates a copy of a pool's first environment: MuJoCo's share
    of a step. From Python a call takes about a microsecond more."""
    import mujoco

    link: Any = pool.spec.options["_link"]
    frame_skip: Any = pool.spec.options["frame_skip"]
    data = mujoco.MjData(link.model)
    write_state(pool, 0, data._address)
    rows = actions[:, 0, : link.model.nu]

    def play(steps: int) -> None:
        clock = mujoco.get_mjcb_time()
        # the bindings' clock, which a C program does not have
        mujoco.set_mjcb_time(None)
        for i in range(steps):
            data.ctrl[:] = rows[i % NUM_ROWS]
            mujoco.mj_step(link.model, data, nstep=frame_skip)
        mujoco.set_mjcb_time(clock)

    return play


def _repeat(step: Callable[[Any], object], actions: np.ndarray) -> Callable[[int], None]:
    def play(batches: int) -> None:
        for i in range(batches):
            step(actions[i % NUM_ROWS])

    return play


def costs(env_id: str, rounds: int) -> dict[str, float]:
    """Returns microseconds of CPU time per environment step, medians of rounds, by player."""
    with (
        Pool(env_id, NUM_ENVS, num_threads=NUM_THREADS, seed=1) as pool,
        Pool(env_id, NUM_ENVS, num_threads=1, seed=1) as single,
    ):
        pool.reset()
        single.reset()
        shape = (NUM_ROWS, NUM_ENVS, *pool.spec.action.shape)
        actions = np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
        players: dict[str, tuple[Callable[[int], None] | None, int]] = {
            "ours": (_repeat(pool.step, actions), NUM_ENVS),
            "EnvPool": (envpool_loop(env_id, actions), NUM_ENVS),
            "single": (_repeat(single.step, actions), NUM_ENVS),
            "Python": (python_loop(env_id, actions), 1),
            "MuJoCo": (bare_loop(single, actions), 1),
        }
        spent: dict[str, list[float]] = {name: [] for name in players}
        batches = _calibrated(players["ours"][0])
        for _ in range(rounds + 1):
            for name, (play, envs) in players.items():
                if play is None:
                    continue
                count = batches if envs > 1 else 8 * batches
                start = time.process_time()
                play(count)
                spent[name].append(1e6 * (time.process_time() - start) / (count * envs))
        return {name: statistics.median(each[1:]) for name, each in spent.items() if each}


def _calibrated(play: Callable[[int], None] | None) -> int:
    """Returns how many batches take some 100 ms."""
    assert play is not None
    start = time.process_time()
    play(4)
    return max(4, int(0.4 / (time.process_time() - start)))


# what is shown: a name, and whose cost is divided by whose
RATIOS = {
    "EnvPool": ("EnvPool", "ours"),
    "Python": ("Python", "single"),
    "MuJoCo": ("MuJoCo", "single"),
    "Python / MuJoCo": ("Python", "MuJoCo"),
}


def speed(rounds: int, ids: Sequence[str]) -> str:
    """Returns a page that says how many times as much CPU time as ours the steps of others take.

    The last column is what the loop over Gymnasium-Robotics takes of MuJoCo's own time: the most
    that a pool can gain.
    """
    rows = []
    ratios: dict[str, list[float]] = {name: [] for name in RATIOS}
    for env_id in ids:
        cost = costs(env_id, rounds)
        shown = []
        for name, (above, below) in RATIOS.items():
            if above in cost:
                ratios[name].append(cost[above] / cost[below])
            shown.append(f"{ratios[name][-1]:.2f}" if above in cost else "")
        rows.append([env_id, f"{cost['single']:.1f}", *shown])
        print(*rows[-1], file=sys.stderr, flush=True)
    medians = (f"{statistics.median(each):.2f}" if each else "" for each in ratios.values())
    rows.append(["median", "", *medians])
    return "\n".join(
        [
            "# Gymnasium-Robotics",
            "",
            f"{machine.summary()}, `python -m benchmarks.studies.robotics`: CPU time of a step of"
            f" one environment, {rounds} interleaved rounds, medians. The first figure is ours on"
            " one thread; the others say how many times as much EnvPool takes (both with"
            f" {NUM_ENVS} environments on {NUM_THREADS} threads), Gymnasium-Robotics in a loop, and"
            " mj_step alone (ours on one thread); the last is Gymnasium-Robotics' beside mj_step."
            f" MuJoCo {MUJOCO}.",
            "",
            *table(["id", "us", *RATIOS], rows),
            "",
        ]
    )


def with_envpools_mujoco(arguments: Sequence[str]) -> int:
    """Runs this program in a process that imports EnvPool's version of MuJoCo."""
    folders = [Path(sys.prefix) / f"mujoco-{MUJOCO}", Path(sys.prefix) / REFERENCE]
    paths = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.studies.robotics", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MUJOCO_GL": "disabled"},
        check=False,
    )
    return done.returncode


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ids", nargs="*", default=IDS, metavar="ID")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the table goes, too")
    given = parser.parse_args(arguments)
    import mujoco

    if mujoco.__version__ != MUJOCO:
        return with_envpools_mujoco(sys.argv[1:] if arguments is None else arguments)
    publish(speed(given.rounds, given.ids), given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
