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

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import pinned
from benchmarks.harness.two_checkouts import (
    measure,
    parser_of,
    print_head,
    python_of,
    read_arguments,
    times,
)
from benchmarks.scenes import native_scenes, python_scenes
from parallel_pool._bench import race
from parallel_pool._bench.player_proxy import PlayerProxy
from parallel_pool._bench.rounds import Spread, ratio
from parallel_pool._bench.scene import Scene
from parallel_pool._command import until_interrupted

PLAYER = Path(__file__).with_name("checkout_player.py")
RACES = {scene.name: scene for scene in (*native_scenes.RACES, *python_scenes.RACES)}
EFFORT, ROUNDS = race.Effort(), 9
HEADER = (
    "| scene | ours | before, steps/s | after, steps/s | after / before"
    " | CPU time, before / after |\n"
    "| --- | --- | ---: | ---: | ---: | ---: |"
)


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
    """Makes one of our players of a scene in a process of a checkout, and warms it up."""
    paths = [str(checkout)]
    if scene.mujoco:
        paths.insert(0, str(pinned.folder(scene.mujoco)))
    variables = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": str(hash_seed)}
    command = [*player_command(checkout), scene.name, name]
    made = PlayerProxy(f"{name} of {checkout}", command, {**os.environ, **variables}).made()
    made.play(race.WARM_UP * scene.task.num_envs // scene.task.batch_size)
    return made


def compare(before: Path, scene: Scene, name: str, rounds: int) -> str:
    """Measures one of our players in both checkouts; returns its row of the table."""

    def make(checkout: Path, hash_seed: int) -> PlayerProxy:
        return player(checkout, scene, name, hash_seed)

    theirs, ours = measure(before, make, rounds, EFFORT.seconds, EFFORT.turns)
    rates = [Spread.of(each.rate for each in samples).median for samples in (theirs, ours)]
    cells = [scene.name, name, *(f"{rate:,.0f}" for rate in rates)]
    cells += [times(ratio(ours, theirs)), times(ratio(ours, theirs, cpu=True))]
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = parser_of(
        "python -m benchmarks.studies.checkouts",
        "Compares the speed of this checkout with that of another one.",
    )
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="scenes to measure (all)")
    options = read_arguments(parser, arguments, ROUNDS, "player")
    before: Path = options.before
    unknown = [name for name in options.scenes if name not in RACES]
    if unknown:
        parser.error(f"no scene {', '.join(unknown)}: choose from {', '.join(RACES)}")
    try:
        theirs = players_of(before)
    except subprocess.CalledProcessError:
        parser.error(f"{before}: its scenes can't be imported, for the reason above")
    print_head(before, HEADER)
    for name in options.scenes or RACES:
        for who in RACES[name].ours:
            if who.name in theirs.get(name, []):
                print(compare(before, RACES[name], who.name, options.rounds), flush=True)
            else:
                print(f"| {name} | {who.name} | not there | | | |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
