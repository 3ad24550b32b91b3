"""Compares tasks of Gymnasium-Robotics with its own, bit by bit, through all resets.

    python -m integration.compare.same_as_robotics --steps 10000
    python -m integration.compare.same_as_robotics --steps 10000 --out FILE
    python -m integration.compare.same_as_robotics --ids FetchPush-v4 AntMaze_UMaze-v5

Both sides play in another process, which has Gymnasium-Robotics 1.4.2 and the newest MuJoCo with
which all of it can be made. A play stops at its first difference, and the exit status is 1 if any
differs.

With `--out` a row is added to the file when its play is over and nothing differed. Rows that the
file has are not played again: the same command goes on where it was stopped, and several commands
with other ids or seeds fill one file, at the same time, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from integration.compare.kept_table import Case, KeptTable
from parallel_pool._bench import machine
from tests.support.reference.robotics_player import IDS, MUJOCO, ROBOTICS, Play, played


def table_of(steps: int) -> KeptTable:
    return KeptTable(
        f"Gymnasium-Robotics {ROBOTICS} beside ours",
        f"{machine.cpu_name()}, commit {machine.commit()}, MuJoCo {MUJOCO},"
        f" `python -m integration.compare.same_as_robotics --steps {steps}`: observations, rewards,"
        " ends and infos.",
        "| id | seed | steps | ours are |\n| --- | ---: | ---: | --- |",
    )


def case_of(task_id: str, seed: int, steps: int) -> Case:
    # an action is held for as many steps as the seed says, as others go further
    play = Play(task_id, seed=seed, num=1, steps=steps, run=seed)
    return f"{task_id} | {seed} | {steps:,}", lambda: (played(play),)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m integration.compare.same_as_robotics", description=__doc__
    )
    parser.add_argument("--steps", type=int, default=10_000, help="of each id and seed (10000)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[4], help="(4)")
    parser.add_argument("--ids", nargs="+", choices=IDS, default=IDS, metavar="ID")
    parser.add_argument("--out", type=Path, help="file for the table")
    given = parser.parse_args(arguments)
    cases = [case_of(each, seed, given.steps) for each in given.ids for seed in given.seeds]
    return table_of(given.steps).play_all(cases, given.out)


if __name__ == "__main__":
    sys.exit(main())
