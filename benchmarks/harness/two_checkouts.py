"""Measuring the same player in two checkouts, each under its own interpreter, in turns."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from parallel_pool._bench import machine
from parallel_pool._bench.player_proxy import PlayerProxy
from parallel_pool._bench.rounds import Sample, Spread, interleave

ROOT = Path(__file__).resolve().parents[2]
# of a checkout and a seed of hashes: makes a player there, which has warmed up
Make = Callable[[Path, int], PlayerProxy]


def python_of(checkout: Path) -> str:
    """Returns a checkout's interpreter; this checkout's is the one that runs the program."""
    return sys.executable if checkout == ROOT else str(checkout / ".venv/bin/python")


def measure(
    before: Path, make: Make, rounds: int, seconds: float, turns: int
) -> tuple[list[Sample], list[Sample]]:
    """Measures a player in another checkout and in this one.

    Each round has new processes, with other seeds of hashes.

    Returns:
        The samples of the other checkout and of this one, one of each round.
    """
    theirs, ours = list[Sample](), list[Sample]()
    for seed in range(rounds):
        with ExitStack() as stack:
            players = {
                label: stack.enter_context(closing(make(checkout, seed)))
                for label, checkout in (("before", before), ("after", ROOT))
            }
            played = interleave(players, 1, seconds, turns=turns)
        theirs += played["before"]
        ours += played["after"]
    return theirs, ours


def times(spread: Spread) -> str:
    """Returns a ratio with its quartiles, for the table."""
    return f"{spread.median:.3f} ({spread.low:.3f}-{spread.high:.3f})"


def parser_of(prog: str, description: str) -> argparse.ArgumentParser:
    """Returns a parser whose first argument is the other checkout."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("before", type=Path, help="the other checkout, built, with its .venv")
    return parser


def read_arguments(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, rounds: int, what: str
) -> argparse.Namespace:
    """Adds the other checkout and --rounds to a parser, and reads its arguments.

    Args:
        parser: with what a program has besides, optional positional arguments included.
        arguments: of the command line; None for those of the process.
        rounds: the default.
        what: is measured in rounds.
    """
    parser.add_argument(
        "--rounds", type=int, default=rounds, help=f"rounds of each {what} ({rounds})"
    )
    options = parser.parse_intermixed_args(arguments)
    options.before = options.before.resolve()
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: give 1 or more")
    if not (options.before / ".venv/bin/python").exists():
        parser.error(f"{options.before} has no .venv/bin/python: run make there")
    return options


def print_head(before: Path, header: str) -> None:
    """Prints what is compared, and the head of the table."""
    print(f"{machine.cpu_name()}, {before} -> {ROOT} ({machine.commit()})\n\n{header}", flush=True)
