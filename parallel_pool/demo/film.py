"""The demo's film: many Atari games side by side, an animated GIF."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import parallel_pool
from parallel_pool._native import ffi, lib
from parallel_pool.buffers import Array
from parallel_pool.pictures import mosaic

# all of them have screens of 210 x 160
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
# a step is four frames of a sixtieth of a second each; a GIF counts hundredths
STEPS_PER_SECOND = 15
DELAY = 70
# how far into a game the film begins, in steps
STARTS = (60, 400)
# an action is held for so many steps, at least and at most, for single ones move little
HELD = (1, 8)


def film(
    file: Path, *, games: Sequence[str] = GAMES, seconds: float = 4.0, shrink: int = 2
) -> Array:
    """Plays games with random actions and writes what they show; always the same film.

    Args:
        file: an animated GIF; its folder is there.
        games: names as in "<Game>-v5".
        seconds: that it plays.
        shrink: one of so many pixels is kept of both axes: 2 makes 64 games 654 x 854 pixels.

    Returns:
        A picture from the middle of it, uint8 (height, width, 3).
    """
    count = max(1, round(seconds * STEPS_PER_SECOND))
    with ThreadPoolExecutor(lib.pp_usable_cores(ffi.NULL)) as crew:
        films = list(crew.map(lambda at: _play(games[at], at, count, shrink), range(len(games))))
    columns = math.ceil(math.sqrt(len(games)))
    whole = [mosaic(screens, columns=columns) for screens in zip(*films, strict=True)]
    pictures, colours = _with_palette(whole)
    images = [Image.fromarray(picture) for picture in pictures]
    for image in images:
        image.putpalette(colours)
    images[0].save(
        file, save_all=True, append_images=images[1:], duration=DELAY, loop=0, optimize=False
    )
    return whole[len(whole) // 2]


def _play(game: str, seed: int, count: int, shrink: int) -> list[Array]:
    """Returns so many screens of a game, from a moment somewhere in its first half minute."""
    drawn = np.random.default_rng(seed)
    start = int(drawn.integers(*STARTS))
    screens: list[Array] = []
    with parallel_pool.Pool(f"{game}-v5", num_threads=1, seed=seed) as pool:
        space: Any = pool.spec.action_space()
        pool.reset()
        action, left = 0, 0
        for step in range(start + count):
            if not left:
                action, left = int(drawn.integers(space.n)), int(drawn.integers(*HELD))
            left -= 1
            pool.step([action])
            if step >= start:
                screens.append(pool.render()[0, ::shrink, ::shrink])
    return screens


def _with_palette(pictures: Sequence[Array]) -> tuple[list[Array], bytes]:
    """Returns pictures as numbers of colours, and the colours, 256 at most, as bytes of RGB.

    The console has 128 colours, so nothing is lost unless its European ones are among them.
    """
    codes = [picture.astype(np.int32) @ (1 << 16, 1 << 8, 1) for picture in pictures]
    is_there = np.zeros(1 << 24, np.bool_)
    for code in codes:
        is_there[code] = True
    found = np.flatnonzero(is_there)
    # the nearest of those kept stands for each of the others
    kept = found[:: -(-len(found) // 256)]
    rgb = np.stack([kept >> 16, kept >> 8 & 255, kept & 255], axis=1)
    own = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    numbers = np.zeros(1 << 24, np.uint8)
    numbers[found] = np.abs(own[:, None] - rgb).sum(axis=2).argmin(axis=1)
    return [numbers[code] for code in codes], rgb.astype(np.uint8).tobytes()
