"""The command `bench --quick`: measures this machine, or reads files of others; draws a page."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from parallel_pool._bench import page, quick, quick_scenes, record, table
from parallel_pool._bench.progress import Steps
from parallel_pool._bench.record import Record, RecordError
from parallel_pool._bench.scene import Scene
from parallel_pool._command import folder, positive
from parallel_pool._engine.arguments import named, quote
from parallel_pool._native import ffi, lib

WIDTH = 90
RESULT, PAGE = "bench.json", "bench.html"
# seconds for all scenes; what the process needs besides is a few seconds
BUDGET = 150.0
NAMES = [scene.name for scene in quick_scenes.scenes(1)]


def parser() -> argparse.ArgumentParser:
    """Returns the command line's parser."""
    lines = [f"  {scene.name:15} {scene.title}" for scene in quick_scenes.scenes(1)]
    made = argparse.ArgumentParser(
        prog="python -m parallel_pool bench --quick",
        description="Measures parallel_pool and what else is installed on this machine, in under"
        " three minutes, and draws a page beside our own results.",
        epilog="scenes:\n" + "\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)
    made.add_argument("scenes", nargs="*", metavar="SCENE", help="scenes to measure (all)")
    made.add_argument(
        "--out",
        default="out",
        metavar="FOLDER",
        help=f"where {RESULT} and {PAGE} go (out)",
    )
    made.add_argument(
        "--budget",
        type=positive,
        default=BUDGET,
        metavar="S",
        help=f"seconds for all scenes together ({BUDGET:.0f})",
    )
    made.add_argument(
        "--read",
        type=result,
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help=f"measures nothing: draws the page of {RESULT} of other machines",
    )
    return made


def result(text: str) -> Record:
    """Reads a file of results."""
    try:
        return record.read(Path(text))
    except RecordError as error:
        raise argparse.ArgumentTypeError(
            f"{quote(text)}: {error}: give a {RESULT} that bench --quick wrote"
        ) from None


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    command = parser()
    options = command.parse_args(arguments)
    unknown = [name for name in options.scenes if name not in NAMES]
    if unknown:
        command.error(f"no scene {named(', '.join(unknown))}: choose from {', '.join(NAMES)}")
    if options.read and options.scenes:
        command.error(f"--read: measures nothing: leave out {' '.join(options.scenes)}")
    if not options.read and not Path("/proc/self/stat").exists():
        command.error("/proc/self/stat is missing, from which the players' CPU time is read")
    try:
        # made last: wrong arguments leave nothing behind
        out = folder(RESULT, PAGE)(options.out)
    except argparse.ArgumentTypeError as error:
        command.error(f"argument --out: {error}")
    if options.read:
        return show(options.read, out)
    return measure(options.scenes or NAMES, options.budget, out)


def show(records: Sequence[Record], out: Path) -> int:
    """Draws the page of records that were read, and prints their tables."""
    reference = record.reference()
    for each in records:
        print(f"{each.name}: {each.facts['cpu']}, {each.facts['cores']:.0f} cores\n")
        for scene in each.scenes:
            print(table.scene_table(scene, reference))
    (out / PAGE).write_text(page.of(records, reference), "utf-8")
    print(f"page: {out / PAGE}")
    return 0


def measure(names: Sequence[str], budget: float, out: Path) -> int:
    """Measures the scenes of these names on this machine; prints and writes as it goes."""
    cores: int = lib.pp_usable_cores(ffi.NULL)
    scenes = [scene for scene in quick_scenes.scenes(cores) if scene.name in names]
    reference, own = record.reference(), record.begun(cores)
    print(f"{own.facts['cpu']}, {cores} cores, load {own.facts['load']}", flush=True)
    with Steps(len(scenes)) as steps:

        def begin(scene: Scene) -> quick.Tick:
            steps.begin(scene.title)
            return steps.tick

        try:
            for measured in quick.run(scenes, budget, begin=begin):
                own.scenes.append(measured)
                steps.print(table.scene_table(measured, reference))
            own.is_complete = True
        finally:
            # after Ctrl-C too: the scenes that are done
            if own.scenes:
                write(own, reference, out)
    spread = "spread: half the distance of the quartiles."
    print(textwrap.fill(f"{page.LEGEND} {spread} reference: {reference.name}.", WIDTH))
    return tell(own, out)


def write(own: Record, reference: Record, out: Path) -> None:
    """Writes the results and the page, and says where they are."""
    (out / RESULT).write_text(record.to_text(own), "utf-8")
    (out / PAGE).write_text(page.of([own], reference, "this machine"), "utf-8")
    print(f"results: {out / RESULT}\npage: {out / PAGE}", flush=True)


def tell(own: Record, out: Path) -> int:
    """Says what is not installed; returns the exit status, 1 if nothing of ours was measured."""
    for lack in own.lacks:
        print(lack)
    if not any(scene.played for scene in own.scenes):
        print("nothing was measured: the reasons are above", file=sys.stderr)
        return 1
    return 0
