"""Compares tasks of dm_control's suite with dm_control's own, bit by bit, through all resets.

    python -m integration.compare.same_as_control_suite --steps 30000 --seeds 1 2 3
    python -m integration.compare.same_as_control_suite --steps 30000 --seeds 1 2 3 --out FILE
    python -m integration.compare.same_as_control_suite --tasks cheetah-run walker-walk

Both sides play in another process, which has dm_control 1.0.50 and its MuJoCo. A play stops at its
first difference, and the exit status is 1 if any differs.

With `--out` a row is added to the file when its play is over and nothing differed. Rows that the
file has are not played again: the same command goes on where it was stopped, and several commands
with other tasks or seeds fill one file, at the same time, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from integration.compare.kept_table import Case, KeptTable
from parallel_pool._bench import machine
from tests.support.reference.control_suite_player import DM_CONTROL, MUJOCO, TASKS, Play, played


def table_of(steps: int) -> KeptTable:
    return KeptTable(
        f"dm_control {DM_CONTROL} beside ours",
        f"{machine.cpu_name()}, commit {machine.commit()}, MuJoCo {MUJOCO},"
        f" `python -m integration.compare.same_as_control_suite --steps {steps}`: observations,"
        " rewards, discounts and ends.",
        "| task | seed | steps | ours are |\n| --- | ---: | ---: | --- |",
    )


def case_of(task: str, seed: int, steps: int) -> Case:
    # an action is held for as many steps as the seed says, as others go further
    play = Play(task, seed=seed, num=1, steps=steps, limit=0, run=seed)
    return f"{task} | {seed} | {steps:,}", lambda: (played(play),)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m integration.compare.same_as_control_suite", description=__doc__
    )
    parser.add_argument("--steps", type=int, default=30_000, help="of each task and seed (30000)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="(1 2 3)")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS, metavar="TASK")
    parser.add_argument("--out", type=Path, help="file for the table")
    given = parser.parse_args(arguments)
    cases = [case_of(each, seed, given.steps) for each in given.tasks for seed in given.seeds]
    return table_of(given.steps).play_all(cases, given.out)


if __name__ == "__main__":
    sys.exit(main())
