"""The process that `benchmarks.checkouts` starts: plays one of our players of another checkout.

It runs as a script under that checkout's interpreter, `python -P checkout_player.py SCENE NAME`,
with the checkout on PYTHONPATH. It imports from that checkout only what every version of the
benchmarks has: the scenes, their tasks and their players.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from typing import Any


def main(scene_name: str, name: str) -> None:
    """Makes a player; then plays, for each line of stdin, the number of batches in it."""
    out = sys.stdout

    def send(data: dict[str, Any]) -> None:
        print(json.dumps(data), file=out, flush=True)

    with redirect_stdout(sys.stderr):
        from benchmarks import python_scenes, scenes

        races = (*scenes.RACES, *python_scenes.RACES)
        scene = next(each for each in races if each.name == scene_name)
        player = next(who for who in scene.ours if who.name == name).make(scene.task)
        try:
            send({"children": list(player.children)})
            for line in sys.stdin:
                send({"steps": player.play(int(line))})
        finally:
            player.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
