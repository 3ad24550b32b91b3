"""A translated program plays as the interpreter plays it: random programs.

The build "base" interprets; the others translate. Wild programs also run into data, into RAM and
past the end of a bank, jump to computed addresses, and use the stack wherever it points to. Orderly
ones run through most of their instructions in each frame. What they write to the television chip
and keep in RAM shows which instructions ran, and when.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from parallel_pool._prove_atari import builds
from tests.parity import atari_core
from tests.support.sampling import thinned

pytestmark = pytest.mark.proven("csrc/envs/atari")

SHAPE = (210, 160)
FRAMES = 12
PROGRAMS = 60  # of each kind
PARTS = 4  # of the programs, of which make check plays one

# instructions that stop the processor, or for which ALE has no result
NEVER = {0x02, 0x12, 0x22, 0x32, 0x42, 0x52, 0x62, 0x72, 0x92, 0xB2, 0xD2, 0xF2}
NEVER |= {0x8B, 0x93, 0x9B, 0x9C, 0x9E, 0x9F, 0xAB, 0xBB}
# each length and use of operands, by the low five bits of an opcode
BRANCHES = set(range(0x10, 0x100, 0x20))
THREE_BYTES = {op for op in range(256) if op & 0x0C == 0x0C or op & 0x1F == 0x19} | {0x20}
ONE_BYTE = {op for op in range(256) if op & 0x0D == 0x08} | {0x40, 0x60}
SUBROUTINE, RETURN, JUMP, INDIRECT_JUMP = 0x20, 0x60, 0x4C, 0x6C
# the instructions that programs are mostly made of
USUAL = (
    *(0xA9, 0xA5, 0xB5, 0xBD, 0xB9, 0xB1, 0xA1, 0xAD, 0xA2, 0xA6, 0xBE, 0xA0, 0xA4, 0xB4, 0xBC),
    *(0x85, 0x95, 0x8D, 0x9D, 0x99, 0x91, 0x81, 0x86, 0x84, 0x96, 0x94, 0x87),
    *(0x69, 0x65, 0x75, 0xE9, 0xE5, 0xF5, 0x29, 0x25, 0x09, 0x05, 0x49, 0x45, 0xC9, 0xC5, 0xE0),
    *(0xE4, 0xC0, 0xC4, 0x24, 0x2C, 0xE6, 0xC6, 0xF6, 0xD6, 0x0A, 0x4A, 0x2A, 0x6A, 0x06, 0x46),
    *(0x26, 0x66, 0x48, 0x68, 0x08, 0x28, 0xAA, 0x8A, 0xA8, 0x98, 0xBA, 0xE8, 0xC8, 0xCA, 0x88),
    *(0x18, 0x38, 0xD8, 0xB8, 0xEA, 0xC7, 0xA7),
)
WSYNC = bytes([0x85, 0x02])
VSYNC = bytes([0xA9, 0x02, 0x85, 0x00]) + WSYNC * 3 + bytes([0xA9, 0x00, 0x85, 0x00])
# a loop that waits for the timer
TIMER = bytes([0xA9, 0x20, 0x8D, 0x95, 0x02, 0xAD, 0x84, 0x02, 0xD0, 0xFB])


def zero_page(rng: random.Random) -> int:
    """Returns an address in RAM, or of the television chip."""
    return rng.randrange(0x80, 0x100) if rng.random() < 0.7 else rng.randrange(0x40)


def absolute(rng: random.Random, hot: tuple[int, ...]) -> bytes:
    """Returns an address: in the ROM, a hot spot of it, in RAM, of a chip, or any."""
    choice = rng.random()
    if choice < 0.5:
        address = rng.choice((0xF000, 0xF000, 0xD000, 0x1000)) + rng.randrange(0x1000)
    elif choice < 0.55 and hot:
        address = rng.choice(hot)
    elif choice < 0.75:
        address = zero_page(rng)
    elif choice < 0.9:
        address = rng.choice((0x0280, 0x0282, 0x0284, 0x0285, 0x0294, 0x0295, 0x0296, 0x0297))
    else:
        address = rng.randrange(0x10000)
    return address.to_bytes(2, "little")


def pointer(rng: random.Random) -> bytes:
    """Returns code that makes a pointer to the ROM, its hot spots or RAM, and reads through it."""
    at, low = rng.randrange(0x80, 0xFE), rng.choice((0xC0, 0xF0, 0xF7, 0xF8, rng.randrange(256)))
    high = rng.choice((0x00, 0x00, 0xF0 + rng.randrange(16), 0xFF, 0x1F))
    code = bytes([0xA9, low, 0x85, at, 0xA9, high, 0x85, at + 1, 0xA0, rng.randrange(256)])
    return code + bytes([rng.choice((0xB1, 0xB1, 0x31, 0x51, 0xD1, 0x71, 0xF1, 0x91)), at])


def copies(rng: random.Random) -> bytes:
    """Returns code that shows copies of a player, of which writes to RESP hide one for a while."""
    player, number = rng.randrange(2), rng.choice((1, 3, 6))
    resp = bytes([0x85, 0x10 + player])
    nusiz = bytes([0xA9, number, 0x85, 0x04 + player])
    return bytes([0xA9, 0xFF, 0x85, 0x1B + player]) + nusiz + WSYNC + resp + nusiz + WSYNC


def orderly(rng: random.Random, hot: tuple[int, ...]) -> bytes:
    """Returns code after which the program goes on behind it."""
    choice = rng.random()
    if choice < 0.10:
        return WSYNC
    if choice < 0.15:
        return pointer(rng)
    if choice < 0.16:
        return copies(rng)
    if choice < 0.20:
        return bytes([rng.choice(tuple(BRANCHES)), 2]) + bytes([0xE6, rng.randrange(0x80, 0x90)])
    if choice < 0.23:
        return bytes([0xA9, rng.randrange(256), 0x48, rng.choice((0x08, 0x48, 0xEA)), 0x68, 0x28])
    if choice < 0.50:
        value = rng.choice((0x00, 0x02, 0x10, 0xF0, 0xFF, rng.randrange(256)))
        return bytes([0xA9, value, 0x85, rng.randrange(3, 0x2D)])
    op = rng.choice(USUAL)
    if op in ONE_BYTE or op in (0x95, 0x94, 0x96):
        # no stack, and no writes that could end the frame
        return bytes([op]) if op not in (0x48, 0x68, 0x08, 0x28) and op in ONE_BYTE else b"\xea"
    if op in THREE_BYTES:
        return bytes([op]) + absolute(rng, hot if rng.random() < 0.1 else ())
    is_constant = op & 0x1F in (0x00, 0x02, 0x09, 0x0B)
    return bytes([op, rng.randrange(256) if is_constant else rng.randrange(0x80, 0x100)])


def instruction(rng: random.Random, hot: tuple[int, ...]) -> bytes:
    """Returns a random instruction, or a few that belong together."""
    choice = rng.random()
    if choice < 0.06:
        return WSYNC
    if choice < 0.09:
        # the stack, mostly in RAM
        return bytes([0xA2, rng.choice((0xFF, 0xFF, 0xE0, 0x80, 0x1F, 0x00)), 0x9A])
    if choice < 0.095:
        return TIMER
    if choice < 0.15:
        return bytes([rng.choice(tuple(BRANCHES)), rng.randrange(2, 12)])
    if choice < 0.17:
        return bytes([rng.choice(tuple(BRANCHES)), rng.randrange(256)])
    if choice < 0.19:
        jump = rng.choice((SUBROUTINE, SUBROUTINE, RETURN, JUMP, INDIRECT_JUMP))
        return bytes([jump]) + (b"" if jump == RETURN else absolute(rng, hot))
    op = rng.choice(USUAL) if rng.random() < 0.9 else rng.randrange(256)
    if op in NEVER or op in BRANCHES:
        return b"\xea"
    if op in ONE_BYTE:
        return bytes([op])
    if op in THREE_BYTES:
        return bytes([op]) + absolute(rng, hot)
    is_constant = op & 0x1F in (0x00, 0x02, 0x09, 0x0B)
    return bytes([op, rng.randrange(256) if is_constant else zero_page(rng)])


def bank(rng: random.Random, size: int, hot: tuple[int, ...]) -> bytes:
    """Returns a bank of random code that starts a frame now and then, and begins at its start."""
    code = bytes([0xD8, 0xA2, 0xFF, 0x9A])
    make = orderly if rng.random() < 0.5 else instruction
    length, frames = rng.choice((size, 1000, 400)), rng.choice((0.002, 0.0003))
    while len(code) < length:
        code += VSYNC if rng.random() < frames else make(rng, hot)
    if rng.random() < 0.3:
        # the vectors are instructions, too: NOP, BEQ, NOP; then the program runs past its end
        return code[: size - 4].ljust(size - 4, b"\xea") + bytes([0xEA, 0xF0, 0xEA, 0xEA])
    code = code[: size - 7] + bytes([JUMP, 0x00, 0xF0])
    return code.ljust(size - 4, b"\xea") + bytes([0x00, 0xF0, 0x00, 0xF0])


# sizes of a ROM, the number of its banks, and the addresses that switch them
KINDS = {
    "2K": (2048, 1, ()),
    "4K": (4096, 1, ()),
    "F8": (4096, 2, (0x1FF8, 0x1FF9, 0xFFF8, 0xFFF9)),
    "F6": (4096, 4, (0x1FF6, 0x1FF7, 0x1FF8, 0xFFF9)),
}


@pytest.fixture(scope="module")
def library() -> atari_core.Library:
    return atari_core.Library(atari_core.build())


@pytest.mark.quick(1)
@pytest.mark.parametrize("part", thinned(range(PARTS), PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_play_the_same(library: atari_core.Library, kind: str, part: int) -> None:
    size, banks, hot = KINDS[kind]
    for seed in range(part, PROGRAMS, PARTS):
        rng = random.Random(f"{kind} {seed}")
        rom = b"".join(bank(rng, size, hot) for _ in range(banks))
        ours, plain = (
            atari_core.ProgramConsole(library, rom, build=build)
            for build in (builds.available()[-1], "base")
        )
        for frame in range(FRAMES):
            action = rng.randrange(18)
            for console in (ours, plain):
                console.act(action, True)
            where = f"program {seed}, frame {frame}"
            assert np.array_equal(ours.ram(), plain.ram()), f"{where}: RAM"
            assert np.array_equal(ours.screen(SHAPE), plain.screen(SHAPE)), f"{where}: screen"
        ours.close()
        plain.close()
