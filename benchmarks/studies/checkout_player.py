"""The process that `benchmarks.studies.checkouts` starts: plays a player of another checkout.

It runs as a script under that checkout's interpreter, `python -P checkout_player.py SCENE NAME`,
with the checkout on PYTHONPATH; without arguments it prints as JSON which players each scene of
that checkout has. It imports from that checkout only what every version of the benchmarks has: the
scenes, their tasks and their players. In older checkouts these modules lie in `benchmarks` itself.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def races() -> list[Any]:
    """Returns the scenes of the checkout that is first on the path."""
    # a package, or in older checkouts a module
    scenes = find_spec("benchmarks.scenes")
    if scenes is None or scenes.submodule_search_locations is None:
        names = ("benchmarks.scenes", "benchmarks.python_scenes")
    else:
        names = ("benchmarks.scenes.native_scenes", "benchmarks.scenes.python_scenes")
    return [race for name in names for race in import_module(name).RACES]


def print_players() -> None:
    """Prints the names of our players of each scene."""
    with redirect_stdout(sys.stderr):
        players = {scene.name: [who.name for who in scene.ours] for scene in races()}
    print(json.dumps(players))


def play(scene_name: str, name: str) -> None:
    """Makes a player; then plays, for each line of stdin, the number of batches in it."""
    out = sys.stdout

    def send(data: dict[str, Any]) -> None:
        print(json.dumps(data), file=out, flush=True)

    with redirect_stdout(sys.stderr):
        scene = next(each for each in races() if each.name == scene_name)
        player = next(who for who in scene.ours if who.name == name).make(scene.task)
        try:
            send({"children": list(player.children)})
            for line in sys.stdin:
                send({"steps": player.play(int(line))})
        finally:
            player.close()


if __name__ == "__main__":
    if sys.argv[1:]:
        play(*sys.argv[1:])
    else:
        print_players()
