"""Draws the picture of docs/own-robot.md: the page's robot, at three moments of random actions.

    python -m integration.own_robot_picture

It writes results/own_robot.png, and needs a C compiler, OpenGL, gymnasium[mujoco] and matplotlib.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import gymnasium
import matplotlib.image
import numpy as np

import parallel_pool

RESULT = Path(__file__).parent / "results" / "own_robot.png"
STEPS = (0, 20, 40)


def start(folder: Path) -> Path:
    """Writes the start for Gymnasium's half-cheetah, and returns its C file."""
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    shutil.copy(assets / "half_cheetah.xml", folder / "robot.xml")
    command = [sys.executable, "-m", "parallel_pool", "new", "my_robot.c", "--mujoco", "robot.xml"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "my_robot.c"


def draw(path: Path) -> None:
    """Writes the pictures at `STEPS`, side by side."""
    with tempfile.TemporaryDirectory() as folder:
        (task_id,) = parallel_pool.load_source(start(Path(folder)))
        options = {"width": 240, "height": 180, "camera_name": "track"}
        env = gymnasium.make(task_id, render_mode="rgb_array", **options)
        env.reset(seed=0)
        env.action_space.seed(0)
        pictures = []
        for step in range(STEPS[-1] + 1):
            if step in STEPS:
                pictures.append(env.render())
            env.step(env.action_space.sample())
        env.close()
    matplotlib.image.imsave(path, np.hstack(pictures))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULT, help="the file to write")
    draw(parser.parse_args(arguments).out)


if __name__ == "__main__":
    main()
