"""Races tasks of dm_control's suite: `python -m benchmarks.studies.control_suite [TASK ...]`.

In turn, 32 environments on two threads here and in EnvPool, on one thread here and in a loop in C
that only calls MuJoCo, and one environment of dm_control, all with EnvPool's MuJoCo. Figures are
ratios of CPU time per step, in which other programs on the machine show least.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import pinned
from benchmarks.harness.report import page, publish, table
from benchmarks.harness.step_costs import Player, calibrate, compare, measure, repeat
from benchmarks.harness.toolchain import load
from parallel_pool._engine.pool import Pool, write_state

BARE = Path(__file__).parents[1] / "scenes" / "suite_bare.c"
# EnvPool 1.2.5 was built with it, and the dm_control of the environment loads with it
MUJOCO = "3.6.0"
NUM_ENVS, NUM_THREADS, NUM_ROWS = 32, 2, 16
# suite.BENCHMARKING
BENCHMARKING = (
    *("acrobot-swingup", "acrobot-swingup_sparse", "ball_in_cup-catch", "cartpole-balance"),
    *("cartpole-balance_sparse", "cartpole-swingup", "cartpole-swingup_sparse", "cheetah-run"),
    *("finger-spin", "finger-turn_easy", "finger-turn_hard", "fish-swim", "fish-upright"),
    *("hopper-hop", "hopper-stand", "humanoid-run", "humanoid-stand", "humanoid-walk"),
    *("manipulator-bring_ball", "pendulum-swingup", "point_mass-easy", "reacher-easy"),
    *("reacher-hard", "swimmer-swimmer15", "swimmer-swimmer6", "walker-run", "walker-stand"),
    "walker-walk",
)


class Bare(ctypes.Structure):
    """The structure of the same name in C."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("step", "step1", "step2", "model", "data", "ctrl")),
        ("actions", ctypes.c_void_p),
        *((name, ctypes.c_int32) for name in ("num_rows", "num_envs", "nu", "frame_skip")),
        ("is_rk4", ctypes.c_int32),
    )


class BareLoop:
    """Steps copies of a pool's environments, from their present states on.

    Attributes:
        copies: the mjData of each environment.
    """

    def __init__(self, pool: Pool, actions: np.ndarray) -> None:
        import mujoco

        from parallel_pool._families.mujoco import function_addresses

        link: Any = pool.spec.options["_link"]
        self.copies = [mujoco.MjData(link.model) for _ in range(pool.num_envs)]
        for i, copy in enumerate(self.copies):
            write_state(pool, i, copy._address)
        count = len(self.copies)
        data = (ctypes.c_void_p * count)(*(copy._address for copy in self.copies))
        ctrl = (ctypes.c_void_p * count)(*(copy.ctrl.ctypes.data for copy in self.copies))
        functions = function_addresses()
        # C keeps pointers to them
        self._kept = link, actions, data, ctrl
        self._mujoco = mujoco
        self._library = load(BARE, [])
        self._setting = Bare(
            *(functions[name] for name in ("mj_step", "mj_step1", "mj_step2")),
            link.model._address,
            ctypes.addressof(data),
            ctypes.addressof(ctrl),
            actions.ctypes.data,
            *actions.shape,
            pool.spec.options["frame_skip"],
            link.model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4,
        )

    def __call__(self, batches: int) -> None:
        """Does so many steps of each environment."""
        clock = self._mujoco.get_mjcb_time()
        # the bindings' clock, which a C program does not have
        self._mujoco.set_mjcb_time(None)
        self._library.suite_bare_play(ctypes.byref(self._setting), batches)
        self._mujoco.set_mjcb_time(clock)


def dm_loop(task: str, actions: np.ndarray) -> Callable[[int], None]:
    """Returns a function that steps one environment of dm_control so many times."""
    from dm_control import suite

    domain, _, name = task.partition("-")
    env = suite.load(domain, name, task_kwargs={"random": 1})
    env.reset()
    return repeat(env.step, actions[:, 0])


def envpool_of(task: str) -> Any:
    import envpool

    domain, _, name = task.partition("-")
    words = "".join(
        word[:1].upper() + word[1:] for part in (domain, name) for word in part.split("_")
    )
    return envpool.make(
        f"{words}-v1", "gymnasium", num_envs=NUM_ENVS, num_threads=NUM_THREADS, seed=1
    )


def costs(task: str, rounds: int) -> dict[str, float]:
    """Returns microseconds of CPU time per environment step, medians of rounds, by player."""
    id = f"dm_control/{task}-v0"
    with (
        Pool(id, NUM_ENVS, num_threads=NUM_THREADS, seed=1) as pool,
        Pool(id, NUM_ENVS, num_threads=1, seed=1) as single,
    ):
        pool.reset()
        single.reset()
        space = pool.spec.action
        low, high = (np.broadcast_to(bound, space.shape) for bound in (space.low, space.high))
        rng = np.random.default_rng(1)
        shape = (NUM_ROWS, NUM_ENVS, *space.shape)
        actions = rng.uniform(np.maximum(low, -1), np.minimum(high, 1), shape)
        theirs = envpool_of(task)
        theirs.reset()
        players = {
            "ours": Player(repeat(pool.step, actions), NUM_ENVS),
            "EnvPool": Player(repeat(theirs.step, actions), NUM_ENVS),
            "single": Player(repeat(single.step, actions), NUM_ENVS),
            "bare": Player(BareLoop(pool, actions), NUM_ENVS),
            "dm_control": Player(dm_loop(task, actions), 1, times=4),
        }
        spent = measure(players, calibrate(players["ours"].play, 8), rounds)
        theirs.close()
        return {name: statistics.median(each) for name, each in spent.items()}


# what is shown: a name, and whose cost is divided by whose
RATIOS = {
    "EnvPool": ("EnvPool", "ours"),
    "bare": ("bare", "single"),
    "dm_control": ("dm_control", "single"),
    "dm / bare": ("dm_control", "bare"),
}


def speed(rounds: int, tasks: Sequence[str]) -> str:
    """Returns a page that says how many times as much CPU time as ours the steps of others take.

    The last column is what the loop over dm_control takes of a bare loop's: the most that a pool
    can gain.
    """
    rows = compare(tasks, lambda task: costs(task, rounds), "single", RATIOS)
    return page(
        "The Control Suite",
        "`python -m benchmarks.studies.control_suite`: CPU time of a step of one environment,"
        f" {rounds} interleaved rounds, medians. The first figure is ours on one thread; the others"
        f" say how many times as much EnvPool takes (both with {NUM_ENVS} environments on"
        f" {NUM_THREADS} threads), a loop in C that only calls MuJoCo, and dm_control in a loop"
        " (ours on one thread); the last is dm_control's beside the loop in C.",
        *table(["task", "us", *RATIOS], rows),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tasks", nargs="*", default=BENCHMARKING, metavar="TASK")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the table goes, too")
    given = parser.parse_args(arguments)
    if pinned.is_other(MUJOCO):
        words = sys.argv[1:] if arguments is None else arguments
        return pinned.run_study("benchmarks.studies.control_suite", words, MUJOCO)
    publish(speed(given.rounds, given.tasks), given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
