"""The benchmark command: measures scenes in turn, prints each, and writes the results."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import pinned, report
from benchmarks.scenes import (
    atari_games,
    creation,
    engine_overhead,
    idle,
    native_scenes,
    python_scenes,
)
from parallel_pool._bench import machine, quick_command, race
from parallel_pool._bench.outcome import Outcome
from parallel_pool._command import count, folder, missing, until_interrupted
from parallel_pool._engine.arguments import named

FAMILIES = ("envpool", "gymnasium", "ale", "bare", "procgen", *python_scenes.FAMILIES)
RACES = (*native_scenes.RACES, *python_scenes.RACES)
CREATIONS = {each.name: each for each in creation.CREATIONS}
SPECIAL = {each.name: each.title for each in creation.CREATIONS}
SPECIAL[engine_overhead.NAME] = engine_overhead.TITLE
SPECIAL[idle.NAME] = idle.TITLE
SPECIAL[atari_games.NAME] = atari_games.TITLE
SPECIAL[atari_games.FRAMES_NAME] = atari_games.FRAMES_TITLE
NAMES = [scene.name for scene in RACES] + list(SPECIAL)
OVERHEAD_ROUNDS, CREATION_ROUNDS, IDLE_ROUNDS, SHORT_ROUNDS = 31, 5, 5, 1


def parser() -> argparse.ArgumentParser:
    """Returns the command line's parser."""
    lines = [f"  {scene.name:22} {scene.title}" for scene in RACES]
    lines += [f"  {name:22} {title}" for name, title in SPECIAL.items()]
    made = argparse.ArgumentParser(
        prog="python -m parallel_pool bench",
        description="Measures parallel_pool and other libraries in interleaved rounds.",
        epilog="scenes:\n" + "\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("scenes", nargs="*", metavar="SCENE", help="scenes to measure (all)")
    made.add_argument(
        "--vs",
        type=families,
        default=FAMILIES,
        metavar="LIST",
        help=f"families of rivals, from {','.join(FAMILIES)} (all)",
    )
    made.add_argument("--rounds", type=count, help="rounds of each scene (most: 9; short: 5)")
    made.add_argument(
        "--short", action="store_true", help="short rounds: a test run; don't quote its results"
    )
    made.add_argument(
        "--quick",
        action="store_true",
        help="instead of all that, a page of a few scenes in three minutes; --quick --help",
    )
    made.add_argument(
        "--out",
        type=folder("results.json"),
        default=Path("out/bench"),
        metavar="DIR",
        help="folder of the results (out/bench)",
    )
    return made


def families(text: str) -> tuple[str, ...]:
    """Parses --vs."""
    names = tuple(name for name in text.split(",") if name)
    unknown = [name for name in names if name not in FAMILIES]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no rival {named(', '.join(unknown))}: choose from {', '.join(FAMILIES)}"
        )
    return names


def ticks_of(name: str, options: argparse.Namespace, effort: race.Effort) -> int:
    """Returns the largest number of progress bar ticks that a scene can need."""
    for scene in RACES:
        if scene.name == name:
            rivals = [who for who in scene.rivals if who.family in options.vs]
            return race.ticks_of(scene, rivals, effort)
    if name in (atari_games.NAME, atari_games.FRAMES_NAME):
        return len(atari_games.GAMES)
    if name == idle.NAME:
        return (1 + len(idle.RIVALS)) * effort.rounds
    return len(CREATIONS[name].who) * effort.rounds if name in CREATIONS else 1


def measure(
    name: str, options: argparse.Namespace, effort: race.Effort, tick: race.Tick
) -> Outcome:
    """Measures the scene of this name."""
    moment = machine.moment()
    if name in CREATIONS:
        default = SHORT_ROUNDS if options.short else CREATION_ROUNDS
        outcome = creation.run(CREATIONS[name], options.vs, options.rounds or default, tick=tick)
    elif name == engine_overhead.NAME:
        outcome = engine_overhead.run(options.rounds or OVERHEAD_ROUNDS)
    elif name == idle.NAME:
        default = SHORT_ROUNDS if options.short else IDLE_ROUNDS
        outcome = idle.run(options.vs, options.rounds or default, tick=tick)
    elif name == atari_games.NAME:
        outcome = atari_games.run(options.vs, effort, tick=tick)
    elif name == atari_games.FRAMES_NAME:
        outcome = atari_games.run_frames(effort, tick=tick)
    else:
        scene = next(scene for scene in RACES if scene.name == name)
        run = pinned.run if pinned.is_needed(scene) else race.run
        outcome = run(scene, options.vs, effort, tick=tick)
    outcome.moment = moment
    if options.short:
        outcome.notes.append("measured with --short: not for quoting")
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    if "--quick" in (sys.argv[1:] if arguments is None else arguments):
        return quick_command.main(sys.argv[1:] if arguments is None else arguments)
    command = parser()
    options = command.parse_args(arguments)
    unknown = [name for name in options.scenes if name not in NAMES]
    if unknown:
        command.error(f"no scene {named(', '.join(unknown))}: choose from {', '.join(NAMES)}")
    try:
        import matplotlib  # noqa: F401
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError as error:
        return missing(error.name or str(error), "bench", "demo")

    names = options.scenes or NAMES
    effort = race.SHORT if options.short else race.Effort()
    effort = replace(effort, rounds=options.rounds or effort.rounds)
    # without markup, which would take [mujoco] of a command for a style
    console = Console(markup=False)
    if not console.is_terminal:
        # output goes to a file or a pipe: make it wide enough for a table
        console = Console(width=140, markup=False)
    # Gymnasium warns about the bounds of its own spaces
    warnings.filterwarnings("ignore", module="gymnasium")
    facts, outcomes = machine.facts(), []
    console.print(f"{facts['cpu']}, {facts['cores']} cores, load {machine.moment()['load']}")
    columns = (TextColumn("{task.description:40}"), BarColumn(), TimeElapsedColumn())
    files: list[Path] = []
    pictures: list[Path] = []
    with Progress(*columns, console=console, transient=True) as progress:
        for name in names:
            bar = progress.add_task(name, total=ticks_of(name, options, effort))

            def tick(text: str, bar: object = bar, name: str = name) -> None:
                progress.update(bar, advance=1, description=f"{name}: {text}"[:40])

            outcome = measure(name, options, effort, tick)
            progress.remove_task(bar)
            console.print(report.rich_table(outcome))
            for line in (*outcome.bars, *outcome.notes):
                console.print(f"  {line}", style="red" if "NOT met" in str(line) else None)
            outcomes.append(outcome)
            # after each scene, so that an interrupted run keeps its results
            files = report.write(options.out, outcomes, facts)
            if outcome.is_of_games:
                pictures.append(options.out / f"{name}.png")
                atari_games.draw(outcome, pictures[-1])
    console.print("written: " + ", ".join(str(file) for file in files + pictures))
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
