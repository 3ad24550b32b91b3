"""Facts of every Atari game, asked of ale-py: actions, modes, difficulties, and how a game starts.

python -m tests.parity.atari_facts --write      # into csrc/envs/atari/games.inl
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

from tests.parity import atari_core, atari_roms, atari_rules

TABLE = atari_core.SOURCES / "games.inl"
COLUMNS = 100


class Choice(NamedTuple):
    """How ALE chooses a mode: SELECT for some frames, until a byte of RAM tells the mode."""

    byte: int
    frames: int
    mask: int = 0xFF
    values: tuple[int, ...] = ()  # what the byte holds in each mode; (): the modes' numbers


# learnt by experiment; games not listed never press SELECT
CHOICES: dict[str, Choice] = {
    "breakout": Choice(50, 1),
    "pong": Choice(22, 2),
}


class Facts(NamedTuple):
    """What ale-py says of a game."""

    actions: tuple[int, ...]
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]


def facts(name: str) -> Facts:
    """Ask ale-py about a game."""
    ale = atari_roms.oracle(name)
    return Facts(
        tuple(action.value for action in ale.getMinimalActionSet()),
        tuple(map(int, ale.getAvailableModes())),
        tuple(map(int, ale.getAvailableDifficulties())),
    )


# ------------------------------------------------------------------------------ the table


def bits(numbers: tuple[int, ...]) -> int:
    """Return the bits of these numbers, which must ascend."""
    if list(numbers) != sorted(set(numbers)):
        raise ValueError(f"{numbers} do not ascend: a mask cannot tell their order")
    return sum(1 << number for number in numbers)


def values(numbers: tuple[int, ...], kind: str = "uint8_t") -> str:
    return f"(const {kind}[]){{" + ", ".join(map(str, numbers)) + "}"


def fields(name: str, known: Facts) -> list[str]:
    """Return the designated initialisers of a game's row, those that are not zero."""
    script = atari_roms.SCRIPTS.get(name, atari_roms.Script())
    choice = CHOICES.get(name)
    row = [f'.name = "{name}"']
    if name in atari_rules.names():
        row.append(f".rule = &pp_rule_{name}")
    row.append(f".actions = {bits(known.actions):#07x}")
    row.append(f".difficulties = {bits(known.difficulties):#03x}")
    row.append(f".modes = {values(known.modes, 'uint16_t')}")
    row.append(f".mode_count = {len(known.modes)}")
    row.append(f".mode_byte = {choice.byte if choice else -1}")
    if choice:
        if choice.values:
            row.append(f".mode_values = {values(choice.values)}")
        row.append(f".mode_mask = {choice.mask:#04x}")
        row.append(f".select_frames = {choice.frames}")
    if script.soft:
        row.append(f".soft = {script.soft}")
    if script.start:
        openings = "".join(f"{{{action}, {frames}}}, " for action, frames in script.start)
        row.append(f".start = (const pp_opening[]){{{openings}{{0}}}}")
    return row


def wrap(text: str) -> str:
    """Put a row into lines of at most 100 columns, broken after commas."""
    lines, line = [], "    {"
    for part in text.split(", "):
        if len(line + part) >= COLUMNS:
            lines.append(line.rstrip())
            line = "     "
        line += part + ", "
    return "\n".join([*lines, line.rstrip()])


def row(name: str) -> str:
    """Return a game's row of the table."""
    return wrap(", ".join(fields(name, facts(name))) + "}")


def table() -> str:
    """Return games.inl."""
    ruled = set(atari_rules.names())
    games = atari_roms.names()
    externs = [f"extern const pp_rule pp_rule_{name};" for name in games if name in ruled]
    return "\n".join(
        [
            "// games.inl: a row for every game that ale-py can play. Included by game.c.",
            "//",
            "// Written by `python -m tests.parity.atari_facts --write`: change that, not this.",
            "// clang-format off",
            "",
            *externs,
            "",
            "static const pp_game games[] = {",
            *map(row, games),
            "};",
            "",
        ]
    )


def main() -> int:
    """Write the table from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    options = parser.parse_args()
    text = table()
    if options.write:
        TABLE.write_text(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
