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
    "air_raid": Choice(42, 1),
    "alien": Choice(1, 1),
    "asteroids": Choice(0, 2),
    "atlantis": Choice(13, 2),
    "backgammon": Choice(92, 1, values=(3,)),
    "bank_heist": Choice(0, 1),
    "basic_math": Choice(69, 2),
    "battle_zone": Choice(33, 2),
    "bowling": Choice(2, 2),
    "breakout": Choice(50, 1),
    "casino": Choice(84, 2),
    "centipede": Choice(38, 2),
    "chopper_command": Choice(96, 2),
    "crazy_climber": Choice(0, 2),
    "crossbow": Choice(13, 2, values=(1, 3, 5, 7)),
    "defender": Choice(27, 2),
    "demon_attack": Choice(106, 1),
    "et": Choice(2, 25, values=(1, 2, 3)),
    "flag_capture": Choice(86, 2),
    "freeway": Choice(0, 1),
    "frogger": Choice(93, 2, values=(1, 3, 5)),
    "frostbite": Choice(0, 1),
    "galaxian": Choice(51, 1),
    "gopher": Choice(71, 5, values=(0, 4)),
    "gravitar": Choice(0, 10),
    "hangman": Choice(110, 2),
    "haunted_house": Choice(76, 2),
    "hero": Choice(0, 1),
    "human_cannonball": Choice(16, 2, values=(48, 6, 12, 18, 24, 30, 36, 42)),
    "ice_hockey": Choice(0, 2),
    "jamesbond": Choice(94, 2),
    "kangaroo": Choice(58, 2, 127),
    "king_kong": Choice(108, 2, values=(0, 2, 4, 6)),
    "lost_luggage": Choice(20, 2, values=(1, 4)),
    "mario_bros": Choice(0, 5),
    "mr_do": Choice(0, 5),
    "ms_pacman": Choice(19, 10, values=(3, 0, 1, 2)),
    "name_this_game": Choice(94, 2),
    "othello": Choice(94, 2, values=(1, 2, 3)),
    "pacman": Choice(52, 2, values=(100, 79, 82, 85, 88, 91, 94, 97)),
    "pong": Choice(22, 2),
    "pooyan": Choice(20, 2, values=(64, 66, 68, 70)),
    "private_eye": Choice(0, 2),
    "space_invaders": Choice(92, 2),
    "space_war": Choice(3, 2, values=(5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)),
    "star_gunner": Choice(116, 14),
    "surround": Choice(121, 2, values=(1, 3)),
    "tennis": Choice(0, 2),
    "tic_tac_toe_3d": Choice(8, 2),
    "turmoil": Choice(106, 2),
    "tutankham": Choice(43, 2),
    "video_checkers": Choice(
        48, 1, values=(1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 18, 19, 20, 21, 22, 23, 24, 25)
    ),
    "video_chess": Choice(106, 1),
    "video_pinball": Choice(32, 2),
    "yars_revenge": Choice(0, 1, values=(192, 194, 196, 198)),
    "zaxxon": Choice(2, 10),
}


class Facts(NamedTuple):
    """What ale-py says of a game."""

    actions: tuple[int, ...]  # the minimal set
    legal: tuple[int, ...]
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]


def facts(name: str) -> Facts:
    """Ask ale-py about a game."""
    ale = atari_roms.oracle(name)
    return Facts(
        tuple(action.value for action in ale.getMinimalActionSet()),
        tuple(action.value for action in ale.getLegalActionSet()),
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
    if known.legal != tuple(range(18)):
        row.append(f".legal = {bits(known.legal):#07x}")
    row.append(f".difficulties = {bits(known.difficulties):#03x}")
    row.append(f".modes = {values(known.modes, 'uint16_t')}")
    row.append(f".mode_count = {len(known.modes)}")
    row.append(f".mode_byte = {choice.byte if choice else -1}")
    if choice:
        if choice.values:
            row.append(f".mode_values = {values(choice.values)}")
        row.append(f".mode_mask = {choice.mask:#04x}")
        row.append(f".select_frames = {choice.frames}")
    soft = 4 if choice else script.soft
    if soft:
        row.append(f".soft = {soft}")
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
