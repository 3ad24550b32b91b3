"""Compares `tune` with the best of its whole grid: `python -m benchmarks.studies.tune`.

For each of the five programs of `integration/training/tuned.py` it runs `python -m parallel_pool
tune`, then every setting that tune may try, in rounds, with the script as it is in each round. The
fastest of many settings owes some of its gain to chance, so what tune names then plays against it
alone, in as many rounds again. The bar: tune's choice is within 5 % of the fastest setting, and
takes less than two minutes. The grid takes some minutes for each program; the machine should be
idle.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import numpy as np

from parallel_pool._bench import machine
from parallel_pool._command import until_interrupted
from parallel_pool._tuner import command, grid
from parallel_pool._tuner.run import Script
from parallel_pool._tuner.setting import Setting
from parallel_pool._tuner.tune import measured, tune
from parallel_pool._tuner.turns import OneByOne, SideBySide

PROGRAMS = ("cartpole", "sb3", "pong", "cheetah", "workers")
SCRIPT = machine.ROOT / "integration" / "training" / "tuned.py"
# of the best speed that tune's choice must have, and the seconds that it may take
SHARE, SECONDS = 0.95, 120
HEADER = (
    "| program | tune's choice | tune, s | gain | best of the grid | gain | choice / best |"
    " settings |\n| --- | --- | ---: | ---: | --- | ---: | ---: | ---: |"
)


def tuned(program: str) -> tuple[str, float]:
    """Runs tune on a program; returns the setting that it chooses, and how long it takes."""
    start = time.monotonic()
    found = tune(SCRIPT, [program], command.SECONDS, command.LIMIT, lambda text: None)
    return str(found.choice), time.monotonic() - start


def gains_of(
    script: Script, memory: int, settings: Sequence[Setting], rounds: int
) -> list[dict[str, float]]:
    """Returns for each round how many times as fast as the script as it is all settings are.

    Raises:
        RuntimeError: one failed, or they do not run side by side.
    """
    found = [{str(Setting()): 1.0} for _ in range(rounds)]
    one_by_one = OneByOne(refuse, math.inf)
    with closing(SideBySide(script, math.inf, memory, one_by_one, lambda text: None)) as turns:
        for gains in found:
            played = turns.play(settings)
            if played is None or played.failed:
                raise RuntimeError(f"{script.arguments}: {played and played.failed}")
            gains |= {str(setting): gain for setting, gain in played.gains.items()}
    return found


def refuse(setting: Setting) -> NoReturn:
    """Is called if a setting can't run beside others."""
    raise RuntimeError(f"{setting} does not run beside others")


def compared(
    program: str, choice: str, rounds: int, seconds: float
) -> tuple[dict[str, float], float]:
    """Measures the grid of a program.

    Returns:
        The gains of all settings; and how many times as fast as the fastest tune's choice is,
        measured anew.
    """
    script, first = measured(SCRIPT, [program], seconds)
    settings = {str(setting): setting for setting in grid.settings(first.facts, {})[1:]}
    every = gains_of(script, first.memory, list(settings.values()), rounds)
    gains = {name: float(np.median([found[name] for found in every])) for name in every[0]}
    best = fastest(gains)
    pair = [settings[name] for name in (best, choice) if name in settings]
    again = gains_of(script, first.memory, pair, rounds) if choice != best else []
    return gains, float(np.median([found[choice] / found[best] for found in again] or [1.0]))


def fastest(gains: Mapping[str, float]) -> str:
    return max(gains, key=lambda name: gains[name])


def row_of(
    program: str, choice: str, seconds: float, gains: Mapping[str, float], share: float
) -> tuple[str, bool]:
    """Returns a row of the table, and whether the bar is kept."""
    best = fastest(gains)
    return (
        f"| {program} | {choice} | {seconds:.0f} | {gains[choice]:.2f} |"
        f" {best} | {gains[best]:.2f} | {share:.2f} | {len(gains)} |",
        share >= SHARE and seconds < SECONDS,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.tune", description=__doc__)
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--rounds", type=int, default=5, help="of the grid (5)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each run in it (3)")
    parser.add_argument("--out", type=Path, help="file for the table")
    options = parser.parse_args(arguments)
    lines = [f"{machine.summary()}; medians of {options.rounds} rounds\n", HEADER]
    print("\n".join(lines), flush=True)
    kept = 0
    for program in options.programs:
        choice, seconds = tuned(program)
        gains, share = compared(program, choice, options.rounds, options.seconds)
        row, is_kept = row_of(program, choice, seconds, gains, share)
        print(row, flush=True)
        lines.append(row)
        kept += is_kept
    lines += [
        "",
        f"Within {1 - SHARE:.0%} of the best, in less than {SECONDS} s: {kept} of"
        f" {len(options.programs)}.",
    ]
    print(lines[-1])
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
