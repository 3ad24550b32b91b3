"""How soon the prover finds planted differences in ports of four environments.

    python -m benchmarks.studies.prover

Each difference of `planted_ports.py` is searched for with the same budget, shrunk, and repeated by
the program that the prover prints, in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.report import page, publish
from benchmarks.studies.planted_ports import PLANTED, REFERENCES, ROOT, Planted
from parallel_pool._prover.prove import run, write_program
from parallel_pool._prover.settings import Settings


class Found(NamedTuple):
    """What became of a planted difference.

    Attributes:
        seconds: until it was found and shrunk, compilation included.
        compared: steps that agreed before it was found.
        steps: of the program that repeats it.
        place: what differs, the first line of the message; "": it was not found.
        status: the exit status of the program.
    """

    seconds: float
    compared: int
    steps: int
    place: str
    status: int


def search(planted: Planted, folder: Path, steps: int, seed: int = 0) -> Found:
    """Plants a difference, and searches for it."""
    file = folder / "port.c"
    file.write_text(planted.text())
    modes = (planted.mode,) if planted.mode else Settings.modes
    settings = Settings(steps=steps, seconds=60, seed=seed, modes=modes, coverage=False)
    begun = time.perf_counter()
    outcome = run(str(file), REFERENCES[planted.port], settings)
    seconds = time.perf_counter() - begun
    compared = outcome.proof.steps
    if outcome.finding is None:
        return Found(seconds, compared, 0, "", 0)
    played = sum(len(actions) for _, actions in outcome.finding.script.segments())
    place = outcome.text.partition(" differ: ")[2].partition("\n")[0]
    return Found(seconds, compared, played, place, again(outcome.program, folder))


def again(text: str, folder: Path) -> int:
    """Runs a program that repeats a difference; returns its exit status."""
    path = write_program(text, folder / "again.py")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, path], capture_output=True, env=env).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Searches for all of them; returns 1 if one is not found, or not repeated."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.prover")
    parser.add_argument("--steps", type=int, default=20_000, help="the budget of each (20,000)")
    parser.add_argument("--seed", type=int, default=0, help="of the searches (0)")
    parser.add_argument("--only", default="", metavar="TEXT", help="names that contain this")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the table goes, too")
    options = parser.parse_args(arguments)
    rows, results = [], []
    for planted in PLANTED:
        if options.only not in planted.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = search(planted, Path(folder), options.steps, options.seed)
        results.append(found)
        cells = (planted.name, planted.port, f"{found.seconds:.1f}", f"{found.compared:,}")
        what = f"`{found.place}`" if found.place else "not found"
        rows.append(f"| {' | '.join(cells)} | {found.steps:,} | {what} |")
        print(rows[-1], flush=True)
    report = _report(rows, results, options)
    publish(report, options.out)
    return 0 if all(each.place and each.status for each in results) else 1


def _report(rows: list[str], results: list[Found], options: argparse.Namespace) -> str:
    seconds = [each.seconds for each in results]
    repeated = sum(bool(each.place and each.status) for each in results)
    return page(
        "Planted differences",
        f"`python -m benchmarks.studies.prover`: seed {options.seed}, {options.steps:,} steps at"
        " most for each.",
        "| difference | port | seconds | steps that agreed | steps of the program | it says |",
        "| --- | --- | ---: | ---: | ---: | --- |",
        *rows,
        "",
        f"{repeated} of {len(results)} were found, and repeated by the program that was"
        f" printed; {statistics.median(seconds):.1f} s in the median, {max(seconds):.1f} s at"
        " most, with compilation and shrinking.",
    )


if __name__ == "__main__":
    sys.exit(main())
