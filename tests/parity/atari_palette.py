"""Writes and checks the colour tables of csrc/envs/atari/picture/palette.c, measured in ale-py.

A program in RAM (atari_microroms.py) sets the background to each of the 128 colours; the screen's
palette indices are then compared with its RGB values.

    python -m tests.parity.atari_palette --write    # write the tables
    python -m tests.parity.atari_palette --check    # exit with 1 if they would change
"""

from __future__ import annotations

import argparse
import re
import sys

from tests.parity import atari_core, atari_microroms

FILE = atari_core.SOURCES / "picture" / "palette.c"

# a game of each television standard, and the macro that makes two entries of one colour
STANDARDS = {"ntsc": ("pong", "SAME"), "pal": ("pacman", "FADE")}

Color = tuple[int, ...]


def measure(game: str) -> list[Color]:
    """Returns red, green and blue of each even palette index."""
    oracle = atari_microroms.Oracle(game)
    return [color(oracle, index) for index in range(0, 256, 2)]


def color(oracle: atari_microroms.Oracle, index: int) -> Color:
    """Returns the colour of a palette index, which must be the same in all pixels."""
    program = atari_microroms.single([], 20, (atari_microroms.COLUBK, index))
    # PAL shows grays, with odd indices, after a frame with an odd number of lines
    for frames in range(1, 6):
        screen = oracle.run(program, frames).screen
        found = {tuple(each) for each in oracle.ale.getScreenRGB()[screen == index].tolist()}
        if found:
            (only,) = found
            return tuple(map(int, only))
    raise ValueError(f"colour {index} is on no screen")


def table(standard: str) -> str:
    """Returns the C table of a television standard."""
    game, macro = STANDARDS[standard]
    entries = [f"{macro}({r:3}, {g:3}, {b:3})," for r, g, b in measure(game)]
    rows = ["    " + " ".join(entries[i : i + 4]) for i in range(0, 128, 4)]
    return f"const uint8_t pp_palette_{standard}[256][3] = {{\n" + "\n".join(rows) + "\n};\n"


def text() -> str:
    """Returns palette.c with its tables measured again."""
    file = FILE.read_text()
    for standard in STANDARDS:
        pattern = rf"const uint8_t pp_palette_{standard}\[.*?\n}};\n"
        file, count = re.subn(pattern, table(standard), file, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{FILE.name} has {count} tables of {standard}: keep one")
    return file


def main() -> int:
    """Runs the program of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    parser.add_argument("--check", action="store_true", help=f"compare with {FILE.name}")
    options = parser.parse_args()
    new = text()
    if options.write:
        FILE.write_text(new)
    elif options.check:
        return int(new != FILE.read_text())
    else:
        sys.stdout.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
