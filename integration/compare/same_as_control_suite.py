"""Compares tasks of dm_control's suite with dm_control's own, bit by bit, through all resets.

    python -m integration.compare.same_as_control_suite --steps 30000 --seeds 1 2 3
    python -m integration.compare.same_as_control_suite --tasks cheetah-run walker-walk

Both sides play in another process, which has dm_control 1.0.50 and its MuJoCo. A play stops at its
first difference, and the exit status is 1 if any differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.support.reference.control_suite_player import TASKS, Play, played
from tests.support.reference.player_process import SAME


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m integration.compare.same_as_control_suite", description=__doc__
    )
    parser.add_argument("--steps", type=int, default=30_000, help="of each task and seed (30000)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="(1 2 3)")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS, metavar="TASK")
    given = parser.parse_args(arguments)
    failed = False
    for task in given.tasks:
        for seed in given.seeds:
            # an action is held for as many steps as the seed says, as others go further
            play = Play(task, seed=seed, num=1, steps=given.steps, limit=0, run=seed)
            outcome = played(play)
            failed = failed or outcome != SAME
            print(f"{task:28} seed {seed}, {given.steps:,} steps: {outcome}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
