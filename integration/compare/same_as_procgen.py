"""Compares Procgen's games with the library's own loop, row by row: frames, rewards, ends, infos.

    python -m integration.compare.same_as_procgen --steps 20000 --num 1
    python -m integration.compare.same_as_procgen --steps 20000 --num 64 --out FILE

Each game in each of its modes is played by ProcgenGym3Env, in another process, and by our pool,
with the same seed and the same random actions, each held for four steps. A play stops at its first
difference, and the exit status is 1 if any differs.

With `--out` a row is added to the file when its play is over and nothing differed. Rows that the
file has are not played again: the same command goes on where it was stopped, and several commands
with other games fill one file, at the same time, too.
64 environments take minutes for each game and mode.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from integration.compare.kept_table import SAME, Case, KeptTable
from parallel_pool._bench import machine
from tests.support.procgen_runs import GAMES, TASKS, assert_same_run
from tests.support.reference.procgen_player import Play


def table_of(steps: int) -> KeptTable:
    return KeptTable(
        "Procgen beside its own loop",
        f"{machine.cpu_name()}, commit {machine.commit()},"
        f" `python -m integration.compare.same_as_procgen --steps {steps}`, `--num` as the table"
        " says: frames, rewards, ends and infos of ours and of `ProcgenGym3Env`.",
        "| game | mode | environments | steps of each | episodes that ended | ours are |\n"
        "| --- | --- | ---: | ---: | ---: | --- |",
    )


def compared(play: Play) -> tuple[str, str]:
    """Plays; returns the number of episodes that ended, and whether all rows were the same."""
    try:
        return f"{assert_same_run(play):,}", SAME
    except AssertionError as error:
        return "", str(error)


def case_of(game: str, mode: str, num: int, steps: int) -> Case:
    play = Play(game, mode, num=num, seed=1, steps=steps, run=4)
    return f"{game} | {mode} | {num} | {steps:,}", lambda: compared(play)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m integration.compare.same_as_procgen", description=__doc__
    )
    parser.add_argument("--steps", type=int, default=20_000, help="of each environment (20000)")
    parser.add_argument("--num", type=int, default=1, help="environments of a vector (1)")
    parser.add_argument("--games", nargs="+", default=GAMES, choices=GAMES, metavar="GAME")
    parser.add_argument("--out", type=Path, help="file for the table")
    given = parser.parse_args(arguments)
    cases = [
        case_of(game, mode, given.num, given.steps) for game, mode in TASKS if game in given.games
    ]
    return table_of(given.steps).play_all(cases, given.out)


if __name__ == "__main__":
    sys.exit(main())
