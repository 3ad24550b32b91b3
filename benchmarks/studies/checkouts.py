"""Compares two checkouts: `python -m benchmarks.studies.checkouts BEFORE [SCENE ...]`.

Each of our players of a scene plays in both checkouts, in a process of its own under the
checkout's own interpreter (`.venv/bin/python`; this checkout's is the one that runs the program).
The two take turns, as players of `parallel_pool._bench.race` do. Each round has new processes,
since a process's speed depends on where its memory lies and on the seed of its hashes. The table
shows steps per second of both, how many times faster this checkout is than the other one, and how
many times less CPU time a step takes: medians of the rounds, quartiles in brackets. A player of
this checkout that the other one does not have is named, and not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from benchmarks.harness import pinned
from benchmarks.scenes import native_scenes, python_scenes
from parallel_pool._bench import machine, race
from parallel_pool._bench.player_proxy import PlayerProxy
from parallel_pool._bench.rounds import Sample, Spread, interleave, ratio
from parallel_pool._bench.scene import Scene
from parallel_pool._command import until_interrupted

ROOT = Path(__file__).resolve().parents[2]
PLAYER = Path(__file__).with_name("checkout_player.py")
RACES = {scene.name: scene for scene in (*native_scenes.RACES, *python_scenes.RACES)}
EFFORT = race.Effort()
HEADER = (
    "| scene | ours | before, steps/s | after, steps/s | after / before"
    " | CPU time, before / after |\n"
    "| --- | --- | ---: | ---: | ---: | ---: |"
)


def python_of(checkout: Path) -> str:
    """Returns a checkout's interpreter; this checkout's is the one that runs the program."""
    return sys.executable if checkout == ROOT else str(checkout / ".venv/bin/python")


def player_command(checkout: Path) -> list[str]:
    """Returns the command that starts `checkout_player.py` under a checkout's interpreter."""
    return [python_of(checkout), "-P", "-W", "ignore", str(PLAYER)]


def players_of(checkout: Path) -> dict[str, list[str]]:
    """Returns the names of our players of each scene that a checkout has."""
    done = subprocess.run(
        player_command(checkout),
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    players: dict[str, list[str]] = json.loads(done.stdout)
    return players


def player(checkout: Path, scene: Scene, name: str, hash_seed: int) -> PlayerProxy:
    """Makes one of our players of a scene in a process of another checkout."""
    paths = [str(checkout)]
    if scene.mujoco:
        paths.insert(0, str(pinned.folder(scene.mujoco)))
    variables = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": str(hash_seed)}
    command = [*player_command(checkout), scene.name, name]
    return PlayerProxy(f"{name} of {checkout}", command, {**os.environ, **variables}).made()


def play(checkouts: Mapping[str, Path], scene: Scene, name: str, seed: int) -> dict[str, Sample]:
    """Measures one of our players in all checkouts, in one round."""
    with ExitStack() as stack:
        players = {}
        for label, checkout in checkouts.items():
            each = stack.enter_context(closing(player(checkout, scene, name, seed)))
            each.play(race.WARM_UP * scene.task.num_envs // scene.task.batch_size)
            players[label] = each
        played = interleave(players, 1, EFFORT.seconds, turns=EFFORT.turns)
    return {label: samples[0] for label, samples in played.items()}


def compare(before: Path, scene: Scene, name: str, rounds: int) -> str:
    """Measures one of our players in both checkouts; returns its row of the table."""
    checkouts = {"before": before, "after": ROOT}
    played = [play(checkouts, scene, name, seed) for seed in range(rounds)]
    theirs, ours = ([each[label] for each in played] for label in checkouts)
    rates = [Spread.of(each.rate for each in samples).median for samples in (theirs, ours)]
    cells = [scene.name, name, *(f"{rate:,.0f}" for rate in rates)]
    cells += [times(ratio(ours, theirs)), times(ratio(ours, theirs, cpu=True))]
    return f"| {' | '.join(cells)} |"


def times(spread: Spread) -> str:
    """Returns a ratio with its quartiles, for the table."""
    return f"{spread.median:.3f} ({spread.low:.3f}-{spread.high:.3f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.checkouts",
        description="Compares the speed of this checkout with that of another one.",
    )
    parser.add_argument("before", type=Path, help="the other checkout, built, with its .venv")
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="scenes to measure (all)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each player (9)")
    options = parser.parse_intermixed_args(arguments)
    before: Path = options.before.resolve()
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: give 1 or more")
    if not (before / ".venv/bin/python").exists():
        parser.error(f"{before} has no .venv/bin/python: run make there")
    unknown = [name for name in options.scenes if name not in RACES]
    if unknown:
        parser.error(f"no scene {', '.join(unknown)}: choose from {', '.join(RACES)}")
    try:
        theirs = players_of(before)
    except subprocess.CalledProcessError:
        parser.error(f"{before}: its scenes can't be imported, for the reason above")
    print(f"{machine.cpu_name()}, {before} -> {ROOT} ({machine.commit()})\n\n{HEADER}", flush=True)
    for name in options.scenes or RACES:
        for who in RACES[name].ours:
            if who.name in theirs.get(name, []):
                print(compare(before, RACES[name], who.name, options.rounds), flush=True)
            else:
                print(f"| {name} | {who.name} | not there | | | |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
