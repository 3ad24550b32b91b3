"""What two trees of sources make of ROMs before a console plays them.

`console/cartridge.c` and `console/translation/` run once for a ROM: they decode its program and
translate it to machine code. What they make is all that a console sees of them. So a change of
these files leaves every game as it was if the cartridges of both trees are equal: the program that
cartridges.c hashes, for all ROMs of ale_py, for the same ROMs with other bytes here and there, and
for random bytes, with each build.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from parallel_pool._families import atari, atari_players
from parallel_pool._prove_atari import players, sides

# files of a tree, as patterns: those that only prepare cartridges, or choose how
FILES = (
    *("envs/atari/console/cartridge.c", "envs/atari/console/translation/*.c"),
    *("envs/atari/setup.c", "base/isa.c"),
)
# the files that the program needs
LINKED = (
    *("envs/atari/console/**/*.c", "envs/atari/games/**/*.c", "base/isa.c"),
    *("base/mt19937.c", "os/code_memory.c"),
)
# the program, in a checkout
PROGRAM = Path("parallel_pool", "_prove_atari", "cartridges.c")

SIZES = (2048, 4096, 8192, 10240, 16384)
RANDOM_ROMS = 12  # of each size and kind
CHANGED_SHARE = 0.03  # of a ROM's bytes


class CartridgesDiffer(Exception):
    """Two trees make different cartridges of a ROM; the message says of which."""


@dataclass(frozen=True)
class Rom:
    """A program and the game whose rules its cartridge has.

    Attributes:
        name: what a message calls it.
        players: how many play; 0: it is an environment of ale_py's.
    """

    name: str
    game: str
    players: int
    program: bytes


def roms() -> Iterator[Rom]:
    """Yields all ROMs that are compared, the same in each call."""
    rng = random.Random(28)
    for game in sorted(sides.ids()):
        program = atari.read_rom(game)
        yield Rom(game, game, 0, program)
        yield Rom(f"{game} with other bytes", game, 0, with_other_bytes(program, rng))
    for name in sorted({atari_players.rom_of(each.rpartition("_v")[0]) for each in players.ids()}):
        yield Rom(f"{name} of several players", name, 2, atari.read_rom(name))
    for size in SIZES:
        for number in range(RANDOM_ROMS):
            yield Rom(f"random bytes {size}-{number}", "pong", 0, rng.randbytes(size))
            if size == 8192:
                yield Rom(f"random slices {number}", "pong", 0, of_slices(rng))
                yield Rom(f"random FE {number}", "pong", 0, of_fe(rng))
            if size >= 8192:
                yield Rom(f"random with RAM {size}-{number}", "pong", 0, with_ram(size, rng))


def with_other_bytes(program: bytes, rng: random.Random) -> bytes:
    changed = bytearray(program)
    for at in rng.sample(range(len(changed)), int(CHANGED_SHARE * len(changed))):
        changed[at] = rng.randrange(256)
    return bytes(changed)


def of_slices(rng: random.Random) -> bytes:
    """Returns bytes of a cartridge whose hot spots switch slices of 1 KB (E0)."""
    changed = bytearray(rng.randbytes(8192))
    for at in rng.sample(range(0, 8000, 4), 200):
        # LDA of a hot spot
        changed[at : at + 3] = bytes([0xAD, 0xE0 + rng.randrange(24), 0x1F])
    return bytes(changed)


def of_fe(rng: random.Random) -> bytes:
    """Returns bytes of a cartridge without hot spots, whose banks its reset vectors tell (FE)."""
    # no opcode that takes the address of a hot spot
    changed = bytearray(rng.choice((0xA9, 0x85, 0xE8, 0x60, 0x20, 0xD0)) for _ in range(8192))
    changed[0x0FFD], changed[0x1FFD] = 0xF0 + rng.randrange(16), 0xD0 + rng.randrange(16)
    return bytes(changed)


def with_ram(size: int, rng: random.Random) -> bytes:
    """Returns bytes whose banks leave room for RAM."""
    changed = bytearray(rng.randbytes(size))
    for bank in range(0, size - 4095, 4096):
        changed[bank + 128 : bank + 256] = changed[bank : bank + 128]
    return bytes(changed)


def write(folder: Path, roms: Iterable[Rom]) -> str:
    """Writes ROMs to a folder and returns the program's input."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for rom in roms:
        path = folder / f"{rom.name}.bin"
        path.write_bytes(rom.program)
        lines.append(f"{rom.players} {rom.game} {path}\n")
    return "".join(lines)


def lines_of(program: Path, roms: str) -> Sequence[str]:
    """Returns what a tree's program prints.

    Raises:
        subprocess.CalledProcessError: it fails.
    """
    done = subprocess.run([program], input=roms, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def compare(before: Sequence[str], after: Sequence[str]) -> None:
    """Raises CartridgesDiffer at the first line of two programs that differs."""
    for old, new in zip_longest(before, after):
        if old != new:
            raise CartridgesDiffer(f"another cartridge: {new}, where it was {old}")
