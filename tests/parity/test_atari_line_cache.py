"""A console with a cache of lines plays as one without: random programs, restored states, resets.

It also knows rows that have not changed, of which the next frame is not made again.

The programs write to the television chip at random times, with values that change in some frames,
and keep the collisions that they read. So a line that the cache wrongly takes for known shows in
the screen or in RAM.
"""

from __future__ import annotations

import ctypes
import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from parallel_pool._engine.pool import Pool
from parallel_pool._prove_atari import builds
from tests.parity import atari_core
from tests.parity.atari_core import ProgramConsole
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc/envs/atari")

SHAPE = (210, 160)
FRAMES = 60
PARTS = 4  # of the programs, of which make check plays one
WSYNC, VSYNC, VBLANK, CXCLR = 0x02, 0x00, 0x01, 0x2C
HMOVE = 0x2A
# registers of the television chip that programs write, the same one several times if it matters
REGISTERS = (
    *range(0x04, 0x15),
    *range(0x1B, 0x2D),
    *(0x0D, 0x0E, 0x0F, 0x1B, 0x1B, 0x1C, 0x1C, 0x1D, 0x1E, 0x1F, HMOVE, CXCLR),
)
# RAM: a counter of frames, values to write, collisions
COUNTER, VALUES, FOUND = 0x80, 0x81, 0xC0


@pytest.fixture(scope="module")
def library() -> atari_core.Library:
    return atari_core.Library(atari_core.build())


def value(rng: random.Random) -> bytes:
    """Returns code that loads A with a constant, or with a value of RAM that depends on X."""
    if rng.random() < 0.5:
        return bytes([0xA9, rng.choice((0, 0, 2, 0x10, 0x30, 0xF0, rng.randrange(256)))])
    return bytes([0xB5, VALUES + rng.randrange(40)])


def part(rng: random.Random) -> bytes:
    """Returns a part of a line: a write, a read of collisions or a wait."""
    choice = rng.random()
    if choice < 0.70:
        return value(rng) + bytes([0x85, rng.choice(REGISTERS)])
    if choice < 0.73:
        return bytes([0xA9, rng.choice((0, 0, 0, 2)), 0x85, VBLANK])
    if choice < 0.80:
        return bytes([0xA5, 0x30 + rng.randrange(8), 0x85, FOUND + rng.randrange(32)])
    return bytes([0xEA]) * rng.randrange(1, 14)


def line(rng: random.Random) -> bytes:
    quiet = rng.random() < 0.4
    first = bytes([0x85, HMOVE]) if rng.random() < 0.3 else b""
    parts = [] if quiet else [part(rng) for _ in range(rng.randrange(5))]
    return bytes([0x85, WSYNC]) + first + b"".join(parts)


def change(rng: random.Random) -> bytes:
    """Returns code that changes a value of RAM, in every frame or in one of 2, 4 or 8."""
    code = bytes([rng.choice((0xE6, 0xC6, 0x06)), VALUES + rng.randrange(44)])
    mask = rng.choice((0, 0, 1, 3, 7))
    if not mask:
        return code
    return bytes([0xA5, COUNTER, 0x29, mask, 0xD0, len(code)]) + code


def program(seed: int) -> bytes:
    """Returns a ROM of 4 KB that draws 52 lines four times, with X = 3 to 0."""
    rng = random.Random(seed)
    sync = bytes([0xA9, 2, 0x85, VSYNC, *[0x85, WSYNC] * 3, 0xA9, 0, 0x85, VSYNC])
    blank = bytes([0xA2, 33, 0x85, WSYNC, 0xCA, 0xD0, 0xFB])
    top = 0xF000 + len(sync + blank) + 2
    body = b"".join(line(rng) for _ in range(52))
    changes = b"".join(change(rng) for _ in range(rng.randrange(1, 5)))
    after = bytes([0xCA, 0x30, 3, 0x4C, top & 255, top >> 8])
    code = sync + blank + bytes([0xA2, 3]) + body + after + changes
    code += bytes([0xE6, COUNTER, 0x4C, 0x00, 0xF0])
    assert len(code) < 4092
    return code.ljust(4092, b"\xea") + bytes([0x00, 0xF0, 0x00, 0xF0])


def compare(ours: ProgramConsole, plain: ProgramConsole, seed: int, frames: int = FRAMES) -> None:
    """Plays frames on both, some of them without pixels; the first difference fails."""
    rng = random.Random(seed)
    chance = rng.choice((1.0, 0.5, 0.1))
    for frame in range(frames):
        draw = rng.random() < chance
        for console in (ours, plain):
            console.act(0, draw)
        assert np.array_equal(ours.ram(), plain.ram()), f"program {seed}: RAM in frame {frame}"
        if draw:
            different = np.argwhere(ours.screen(SHAPE) != plain.screen(SHAPE))
            assert not len(different), f"program {seed}: frame {frame}, pixel {different[0]}"


@pytest.mark.slow
@pytest.mark.parametrize("part", thinned(range(PARTS), PARTS))
@pytest.mark.parametrize("build", builds.available())
def test_random_programs_look_the_same(library: atari_core.Library, build: str, part: int) -> None:
    for seed in range(part, 150, PARTS):
        rom = program(seed)
        ours = ProgramConsole(library, rom, cache=True, build=build)
        plain = ProgramConsole(library, rom, cache=False, build=build)
        compare(ours, plain, seed)
        ours.close()
        plain.close()


def both_screens(console: ProgramConsole) -> NDArray[np.uint8]:
    """Plays a frame with pixels; returns the screens of it and of the frame before."""
    before = console.screen(SHAPE)
    console.act(0, True)
    return np.stack([before, console.screen(SHAPE)])


@pytest.mark.slow
@pytest.mark.parametrize("build", builds.available())
def test_rows_that_have_not_changed(library: atari_core.Library, build: str) -> None:
    """Such a row is the same in both screens, and was at the last call; a new cache knows none."""
    unchanged = 0
    for seed in range(60):
        rng = random.Random(seed)
        console = ProgramConsole(library, program(seed), cache=True, build=build)
        console.act(0, True)
        then = both_screens(console)
        console.forget()
        assert console.changed().all()
        for turn in range(20):
            for _ in range(rng.choice((0, 0, 1, 2, 5))):
                console.act(0, rng.random() < 0.3)
            # reads the screen, which must have been drawn
            console.act(0, True)
            now = both_screens(console)
            rows = console.changed()[: SHAPE[0]] == 0
            same = (np.stack([*then, *now]) == now[0]).all(axis=(0, 2))
            assert same[rows].all(), f"program {seed}, turn {turn}: {np.argwhere(rows & ~same)}"
            unchanged += np.count_nonzero(rows)
            then = now
            if turn == 15:
                console.forget()
                assert console.changed().all()
        console.close()
    assert unchanged > 20000


def test_a_console_without_memo_knows_no_rows(library: atari_core.Library) -> None:
    console = ProgramConsole(library, program(1), cache=False, build="base")
    for _ in range(5):
        console.act(0, True)
        assert console.changed().all()
    console.close()


@pytest.mark.slow
def test_a_restored_state_needs_an_empty_memo(library: atari_core.Library) -> None:
    """The screens of a restored state are not those that the cache speaks of."""
    for seed in range(40):
        rom = program(seed)
        ours = ProgramConsole(library, rom, cache=True, build="base")
        plain = ProgramConsole(library, rom, cache=False, build="base")
        # nothing has been drawn yet
        saved = [ctypes.string_at(each.state, each.size) for each in (ours, plain)]
        compare(ours, plain, seed + 1, 10)
        for each, state in zip((ours, plain), saved, strict=True):
            ctypes.memmove(each.state, state, len(state))
            each.forget()
        compare(ours, plain, seed, 10)
        for each in (ours, plain):
            each.reset_game()
        compare(ours, plain, seed + 2, 10)
        ours.close()
        plain.close()


def play(pool: Any, seed: int, steps: int) -> list[NDArray[np.uint8]]:
    """Plays the same random actions in all environments; returns what each step shows."""
    rng = np.random.default_rng(seed)
    shown = []
    for _ in range(steps):
        actions = np.full(pool.num_envs, rng.integers(6))
        shown.append(np.array(pool.step(actions).obs))
    return shown


@pytest.mark.parametrize("frame_skip", [1, 3, 4])
def test_a_pool_forgets_lines_when_it_restores_a_state(frame_skip: int) -> None:
    """Plays on from a state in the environment that made it, in another one, and in a new pool."""
    options = {"frame_skip": frame_skip}
    with Pool("SpaceInvaders-v5", 2, options=options) as pool:
        pool.reset(seed=3)
        play(pool, 1, 30)
        saved = pool.get_state([0])[0]
        expected = [each[0] for each in play(pool, 2, 20)]
        play(pool, 5, 7)
        pool.set_state([saved, saved])
        for wanted, shown in zip(expected, play(pool, 2, 20), strict=True):
            assert np.array_equal(shown[0], wanted)
            assert np.array_equal(shown[1], wanted)
    with Pool("SpaceInvaders-v5", 1, options=options) as fresh:
        fresh.set_state([saved])
        for wanted, shown in zip(expected, play(fresh, 2, 20), strict=True):
            assert np.array_equal(shown[0], wanted)
