"""Plays an Atari game, and shows what a step takes: time of the processor, or instructions.

    python .ci/atari_steps.py TREE GAME STEPS [--console BUILD]

TREE is a folder with the package parallel_pool. 16 environments of EnvPool's API play on one
thread: random actions, each for four frames, and stacks of four gray pictures of 84 x 84 pixels.
With --console the console plays alone and draws every frame; BUILD is one of its builds (base, v3,
v4), or "" for the best. Prints the processor's microseconds of a step.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import instructions

ROOT = Path(__file__).resolve().parent.parent
ENVS = 16
# steps of each environment before those that are measured
OPENING = 60


def count(tree: Path, game: str, steps: int, console: str | None = None, **env: str) -> float:
    """Returns the number of instructions of a step, on average.

    Raises what `instructions.count` does.
    """
    played = steps if console is not None else steps * ENVS
    return instructions.count(_command(tree, game, steps, console), **env) / played


def cpu_us(tree: Path, game: str, steps: int, console: str | None = None, **env: str) -> float:
    """Returns the processor's time of a step in microseconds, on average.

    Raises subprocess.CalledProcessError if the game can't be played.
    """
    command = _command(tree, game, steps, console)
    env = {**os.environ, **env}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def _command(tree: Path, game: str, steps: int, console: str | None) -> list[str]:
    alone = [] if console is None else [f"--console={console}"]
    return [sys.executable, __file__, str(tree), game, str(steps), *alone]


# ---------------------------------------------------------------------------- in the program --

# plays so many steps in each environment
Play = Callable[[int], None]


def environments(game: str) -> tuple[Play, int]:
    """Returns a function that plays environments, and how many there are."""
    import numpy as np

    import parallel_pool
    from benchmarks.scenes import atari_games

    envs: Any = parallel_pool.make(
        atari_games.task_id(game), env_type="gymnasium", num_envs=ENVS, num_threads=1, seed=0
    )
    choices, draws = envs.action_space.n, np.random.default_rng(0)
    envs.reset()

    def play(steps: int) -> None:
        for actions in draws.integers(choices, size=(steps, ENVS)):
            envs.step(actions)

    return play, ENVS


def console(game: str, build: str) -> tuple[Play, int]:
    """Returns a function that plays on the console alone, and 1."""
    from benchmarks.scenes import atari_games

    actions = atari_games.random_actions(range(18))
    alone = atari_games.Console(game, actions, build, drawn=atari_games.SKIP)

    def play(steps: int) -> None:
        alone.play(steps)

    return play, 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python .ci/atari_steps.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("tree", type=Path)
    parser.add_argument("game", help="in ale-py's spelling, such as space_invaders")
    parser.add_argument("steps", type=int, help="of each environment")
    parser.add_argument("--console", metavar="BUILD")
    options = parser.parse_args(arguments)
    # the benchmarks are this checkout's, whatever package they play with
    sys.path[:0] = [str(options.tree.resolve()), str(ROOT)]
    import parallel_pool

    package = Path(parallel_pool.__file__)
    if not package.is_relative_to(options.tree.resolve()):
        parser.error(f"{options.tree} has no package parallel_pool: {package} was imported")
    if options.console is None:
        play, envs = environments(options.game)
    else:
        play, envs = console(options.game, options.console)
    play(OPENING)
    begun = time.process_time()
    with instructions.counted():
        play(options.steps)
    print((time.process_time() - begun) / (options.steps * envs) * 1e6)
    return 0


if __name__ == "__main__":
    sys.exit(main())
