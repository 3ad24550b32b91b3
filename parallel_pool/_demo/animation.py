"""The demo's animation: an animated GIF of many Atari games side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import parallel_pool
from parallel_pool._engine.buffers import Array
from parallel_pool._engine.pictures import mosaic
from parallel_pool._native import ffi, lib

# All these games have screens of 210 x 160.
NAMES = """
Alien Amidar Assault Asterix Asteroids Atlantis BankHeist BattleZone BeamRider Berzerk Bowling
Boxing Breakout Centipede ChopperCommand CrazyClimber Defender DemonAttack DonkeyKong DoubleDunk
ElevatorAction Enduro FishingDerby Freeway Frogger Frostbite Galaxian Gopher Gravitar Hero
IceHockey Jamesbond Kaboom Kangaroo Krull KungFuMaster MarioBros MontezumaRevenge MsPacman
NameThisGame Phoenix Pitfall Pong PrivateEye Qbert Riverraid RoadRunner Robotank Seaquest Skiing
Solaris SpaceInvaders StarGunner Superman Tennis TimePilot Turmoil Tutankham UpNDown Venture
VideoPinball WizardOfWor YarsRevenge Zaxxon
"""
GAMES = tuple(NAMES.split())
# A step is four frames of 1/60 s each; a GIF counts in hundredths of a second.
STEPS_PER_SECOND = 15
DELAY = 70
# Range of the steps of a game at which its animation may begin.
STARTS = (60, 400)
# Range of the number of steps for which an action is held: in a single step little moves.
HOLD_STEPS = (1, 8)


def animate(
    file: Path, *, games: Sequence[str] = GAMES, seconds: float = 4.0, shrink: int = 2
) -> Array:
    """Plays games with random actions and writes an animation of them, always the same one.

    Args:
        file: the GIF to write; its folder must exist.
        games: names as in "<Game>-v5".
        seconds: duration of the animation.
        shrink: every shrink-th pixel is kept on both axes; with 2, 64 games take 654 x 854 pixels.

    Returns:
        The picture from the middle, uint8 (height, width, 3).
    """
    count = max(1, round(seconds * STEPS_PER_SECOND))
    with ThreadPoolExecutor(lib.pp_usable_cores(ffi.NULL)) as executor:
        play = partial(_play, count=count, shrink=shrink)
        played = list(executor.map(play, games, range(len(games))))
    columns = math.ceil(math.sqrt(len(games)))
    whole = [mosaic(screens, columns=columns) for screens in zip(*played, strict=True)]
    pictures, colours = with_palette(whole)
    images = [Image.fromarray(picture) for picture in pictures]
    for image in images:
        image.putpalette(colours)
    images[0].save(
        file, save_all=True, append_images=images[1:], duration=DELAY, loop=0, optimize=False
    )
    return whole[len(whole) // 2]


def _play(game: str, seed: int, count: int, shrink: int) -> list[Array]:
    """Returns `count` screens of a game, starting at a random step within STARTS."""
    drawn = np.random.default_rng(seed)
    start = int(drawn.integers(*STARTS))
    screens: list[Array] = []
    with parallel_pool.Pool(f"{game}-v5", num_threads=1, seed=seed) as pool:
        space: Any = pool.spec.action_space()
        pool.reset()
        action, left = 0, 0
        for step in range(start + count):
            if not left:
                action, left = int(drawn.integers(space.n)), int(drawn.integers(*HOLD_STEPS))
            left -= 1
            pool.step([action])
            if step >= start:
                screens.append(pool.render()[0, ::shrink, ::shrink])
    return screens


def with_palette(pictures: Sequence[Array]) -> tuple[list[Array], bytes]:
    """Returns the pictures as colour indices, and the at most 256 colours as RGB bytes.

    The console has 128 colours, so none is lost unless PAL's are among them as well.
    """
    codes = [picture.astype(np.int32) @ (1 << 16, 1 << 8, 1) for picture in pictures]
    is_used = np.zeros(1 << 24, np.bool_)
    for code in codes:
        is_used[code] = True
    found = np.flatnonzero(is_used)
    # each colour that is left out is replaced by the nearest one that is kept
    kept = found[:: -(-len(found) // 256)]
    rgb = np.stack([kept >> 16, kept >> 8 & 255, kept & 255], axis=1)
    own = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    numbers = np.zeros(1 << 24, np.uint8)
    numbers[found] = np.abs(own[:, None] - rgb).sum(axis=2).argmin(axis=1)
    return [numbers[code] for code in codes], rgb.astype(np.uint8).tobytes()
