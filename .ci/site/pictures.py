"""Draws the pictures of docs/environments: random agents and a driver, the same at every run.

    .venv/bin/python .ci/site/pictures.py            # all of them
    .venv/bin/python .ci/site/pictures.py box2d      # these

The site and the tests need none of it: its results are committed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pages
from PIL import Image

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame needs no screen
sys.path.insert(0, str(pages.ROOT))

import parallel_pool

TARGET = pages.ROOT / "docs" / "environments"
FRAMES = 36
DELAY = 90  # milliseconds
HEIGHT = 160
MAX_PICTURE_WIDTH = 260  # of one picture in a strip
GAP = 6
MAX_FILE_BYTES = 300_000  # bytes of a file
TILE = 128  # side of a picture in a grid
COLUMNS = 8
STEPS_PER_PICTURE = 5  # steps between two pictures of a car
# Of a strip: how many colours it has, how they are chosen, and how often this is improved.
PALETTE = 48, Image.Quantize.MEDIANCUT, 0
# the red of a car covers few pixels: MEDIANCUT leaves it out
PALETTES = {"box2d": (96, Image.Quantize.MAXCOVERAGE, 2)}

# For each page the environments of its animation, and the steps between two pictures.
ONE_AGENT = {
    "classic-control": (["CartPole-v1", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1"], 1),
    "toy-text": (["FrozenLake-v1", "Taxi-v4", "CliffWalking-v1", "Blackjack-v1"], 1),
    "box2d": (
        ["LunarLander-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3", "CarRacing-v3"],
        2,
    ),
    "atari": ([f"ALE/{game}-v5" for game in ("Pong", "Breakout", "Seaquest", "MsPacman")], 2),
}
SEVERAL_AGENTS = {
    "atari-players": (
        ["atari/pong_v3", "atari/warlords_v3", "atari/joust_v3", "atari/mario_bros_v3"],
        6,
    ),
    "mpe": (["mpe/simple_spread_v3", "mpe/simple_tag_v3", "mpe/simple_world_comm_v3"], 1),
    "board-games": (["classic/tictactoe_v3", "classic/connect_four_v3"], 1),
}
GAMES = (
    *("bigfish", "bossfight", "caveflyer", "chaser", "climber", "coinrun", "dodgeball", "fruitbot"),
    *("heist", "jumper", "leaper", "maze", "miner", "ninja", "plunder", "starpilot"),
)
# For each page with a picture that does not move: its environments, and how often their agents act.
GRIDS = {
    "procgen": ([f"procgen-{game}-v0" for game in GAMES], 12, 6),
    "robotics": (
        [
            *(f"Fetch{task}-v4" for task in ("Reach", "Push", "Slide", "PickAndPlace")),
            *("PointMaze_Large-v3", "AntMaze_Medium-v5"),
        ],
        8,
        2,
    ),
}


def play(task_id: str, skip: int) -> Iterator[np.ndarray[Any, Any]]:
    """Yields pictures of one environment; each action is held for some steps."""
    rng = np.random.default_rng(1)
    with closing(parallel_pool.make_vec(task_id, 1, render_mode="rgb_array")) as envs:
        envs.action_space.seed(1)
        envs.reset(seed=3)
        for _ in range(FRAMES):
            yield envs.render()[0]
            action = envs.action_space.sample()
            for _ in range(skip):
                envs.step(action)
                if rng.random() < 0.3:
                    action = envs.action_space.sample()


def drive(task_id: str, _: int) -> Iterator[np.ndarray[Any, Any]]:
    """Yields pictures of a car that is steered towards the road in front of it."""
    with closing(parallel_pool.make_vec(task_id, 1, render_mode="rgb_array")) as envs:
        observations, _ = envs.reset(seed=3)
        for _ in range(FRAMES):
            yield envs.render()[0]
            for _ in range(STEPS_PER_PICTURE):
                # some rows ahead of the car, whose own column is the middle one
                red, green, _ = np.moveaxis(observations[0, 40:60].astype(int), -1, 0)
                road = np.nonzero(abs(red - green) < 10)[1]
                turn = np.clip((road.mean() - 48) / 20, -1, 1) if len(road) else 0
                action = np.array([[turn, 0.25 * (1 - abs(turn)), 0.15 * abs(turn)]], np.float32)
                observations, *_ = envs.step(action)


# environments in which random actions show too little
PLAYERS = {"CarRacing-v3": drive}


def play_agents(task_id: str, skip: int) -> Iterator[np.ndarray[Any, Any]]:
    """Yields pictures of one game of several agents, which take legal actions."""
    rng = np.random.default_rng(2)
    envs = parallel_pool.PoolParallelEnv(task_id, 1, render_mode="rgb_array")
    observations, _ = envs.reset(seed=3)
    for _ in range(FRAMES):
        yield envs.render()[0]
        actions = {
            agent: legal(observations[agent], envs.action_space(agent).n, rng)
            for agent in envs.possible_agents
        }
        for _ in range(skip):
            observations, *_ = envs.step(actions)
    envs.close()


def legal(seen: Any, count: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Returns one action of an agent, array (1,); a mask among its observations is obeyed."""
    mask = seen["action_mask"] if isinstance(seen, dict) else np.ones((1, count))
    return (rng.random(mask.shape) * mask).argmax(axis=1)


def scaled(picture: np.ndarray[Any, Any]) -> Image.Image:
    """Returns a picture at the height of a strip; those of games keep their pixels' edges."""
    image = Image.fromarray(picture)
    is_small = image.height < 256
    width = round(image.width * HEIGHT / image.height * (1.25 if is_small else 1))
    factor = min(1, MAX_PICTURE_WIDTH / width)
    size = round(width * factor), round(HEIGHT * factor)
    return image.resize(size, Image.Resampling.LANCZOS)


def strip(pictures: Sequence[np.ndarray[Any, Any]]) -> Image.Image:
    """Returns pictures beside each other."""
    images = [scaled(picture) for picture in pictures]
    whole = Image.new("RGB", (sum(i.width + GAP for i in images) - GAP, HEIGHT), "gray")
    x = 0
    for image in images:
        whole.paste(image, (x, (HEIGHT - image.height) // 2))
        x += image.width + GAP
    return whole


def write(name: str) -> None:
    """Writes the animation of one page."""
    player = play if name in ONE_AGENT else play_agents
    ids, skip = {**ONE_AGENT, **SEVERAL_AGENTS}[name]
    films = [PLAYERS.get(task_id, player)(task_id, skip) for task_id in ids]
    strips = [strip(pictures) for pictures in zip(*films, strict=True)]
    # one palette for all frames, or colours would flicker
    sample = Image.new("RGB", (strips[0].width, HEIGHT * 3))
    for i, frame in enumerate((strips[0], strips[FRAMES // 2], strips[-1])):
        sample.paste(frame, (0, i * HEIGHT))
    palette = sample.quantize(*PALETTES.get(name, PALETTE), dither=Image.Dither.NONE)
    first, *others = [f.quantize(palette=palette, dither=Image.Dither.NONE) for f in strips]
    file = TARGET / f"{name}.gif"
    first.save(file, save_all=True, append_images=others, duration=DELAY, loop=0, optimize=True)
    check(file)


def write_grid(name: str) -> None:
    """Writes the picture of one page that has many environments."""
    ids, actions, skip = GRIDS[name]
    columns, step = min(COLUMNS, len(ids)), TILE + GAP
    whole = Image.new("RGB", (columns * step - GAP, -(-len(ids) // columns) * step - GAP), "white")
    for i, task_id in enumerate(ids):
        picture = next(islice(play(task_id, skip), actions, None))
        image = Image.fromarray(picture).resize((TILE, TILE), Image.Resampling.LANCZOS)
        whole.paste(image, (i % columns * step, i // columns * step))
    file = TARGET / f"{name}.png"
    whole.quantize(256, Image.Quantize.MEDIANCUT).save(file, optimize=True)
    check(file)


def check(file: Path) -> None:
    """Prints the size of a file, and refuses it if it is too large."""
    size = file.stat().st_size
    print(f"{file.relative_to(pages.ROOT)}: {size:,} bytes")
    if size > MAX_FILE_BYTES:
        raise ValueError(f"{file} has {size} bytes: at most {MAX_FILE_BYTES}")


def main(names: Sequence[str]) -> None:
    for name in names or [*ONE_AGENT, *SEVERAL_AGENTS, *GRIDS]:
        (write_grid if name in GRIDS else write)(name)


if __name__ == "__main__":
    main(sys.argv[1:])
