"""Facts of every Atari game, asked of ale-py: actions, modes, difficulties, and how a game starts.

python -m tests.parity.atari_facts --write      # into csrc/envs/atari/games/table.inl
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from ale_py import ALEInterface

from tests.parity import atari_core, atari_roms, atari_rules

TABLE = atari_core.SOURCES / "games" / "table.inl"
COLUMNS = 100


class Choice(NamedTuple):
    """How ALE chooses a mode: SELECT for some frames, until a byte of memory tells the mode."""

    byte: int  # from 128 on in the cartridge's RAM
    frames: int
    mask: int = 0xFF
    values: tuple[int, ...] = ()  # what the byte holds in each mode; (): the modes' numbers
    wait: int = 0  # frames before the first look
    chance: bool = False  # SELECT is pressed for up to 255 frames more, by chance
    cube: int = 0  # byte of the mode's hundreds, which the joystick chooses
    menu: tuple[int, ...] = ()  # bits of byte 0 that are switches of a menu; `byte` tells its row


# learnt by experiment; games not listed never press SELECT
CHOICES: dict[str, Choice] = {
    "adventure": Choice(93, 2, values=(0, 2, 4), chance=True),
    "air_raid": Choice(42, 1),
    "alien": Choice(1, 1),
    "asteroids": Choice(0, 2),
    "atlantis": Choice(13, 2),
    "backgammon": Choice(92, 1, values=(3,)),
    "bank_heist": Choice(0, 1),
    "basic_math": Choice(69, 2),
    "battle_zone": Choice(33, 2),
    "berzerk": Choice(0, 2, wait=20),
    "bowling": Choice(2, 2),
    "breakout": Choice(50, 1),
    "casino": Choice(84, 2),
    "centipede": Choice(38, 2),
    "chopper_command": Choice(96, 2),
    "crazy_climber": Choice(0, 2),
    "crossbow": Choice(13, 2, values=(1, 3, 5, 7)),
    "defender": Choice(27, 2),
    "demon_attack": Choice(106, 1),
    "double_dunk": Choice(48, 1, menu=(8, 16, 4, 32)),
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
    "klax": Choice(128 + 106, 2),
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
    "video_cube": Choice(123, 2, 31, (0, 2, 8) * 51, cube=31),
    "video_pinball": Choice(32, 2),
    "word_zapper": Choice(91, 2),
    "yars_revenge": Choice(0, 1, values=(192, 194, 196, 198)),
    "zaxxon": Choice(2, 10),
}


class Facts(NamedTuple):
    """What ale-py says of a game."""

    actions: tuple[int, ...]  # the minimal set
    legal: tuple[int, ...]
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]
    paddle_max: int  # ohms of a paddle turned all the way; -1: the usual


@functools.cache
def facts(name: str) -> Facts:
    """Ask ale-py about a game."""
    return ask(atari_roms.oracle(name))


def ask(ale: ALEInterface) -> Facts:
    """Ask ale-py about the game that it has loaded."""
    return Facts(
        tuple(action.value for action in ale.getMinimalActionSet()),
        tuple(action.value for action in ale.getLegalActionSet()),
        tuple(map(int, ale.getAvailableModes())),
        tuple(map(int, ale.getAvailableDifficulties())),
        ale.getInt("paddle_max"),
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
    if known.paddle_max >= 0:
        row.append(f".paddle_max = {known.paddle_max}")
    row.append(f".modes = {values(known.modes, 'uint16_t')}")
    row.append(f".mode_count = {len(known.modes)}")
    row.append(f".mode_byte = {choice.byte if choice else -1}")
    if choice:
        if choice.values:
            row.append(f".mode_values = {values(choice.values)}")
        row.append(f".mode_mask = {choice.mask:#04x}")
        if choice.wait:
            row.append(f".mode_wait = {choice.wait}")
        if choice.chance:
            row.append(".mode_chance = true")
        if choice.cube:
            row.append(f".cube_byte = {choice.cube}")
        if choice.menu:
            row.append(f".menu_bits = {values(choice.menu)}")
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
    """Return table.inl."""
    ruled = set(atari_rules.names())
    games = atari_roms.names()
    externs = [f"extern const pp_rule pp_rule_{name};" for name in games if name in ruled]
    return "\n".join(
        [
            "// table.inl: a row for every game that ale-py can play. Included by games.c.",
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


# ------------------------------------------------------------------------------ the check


def differences(
    library: atari_core.Library,
    name: str,
    frames: int,
    count: int | None = None,
    sticky: float = 0.0,
) -> Iterator[str]:
    """Start a game in each mode and difficulty, one after another, and play a little.

    Yields what is not the oracle's: RAM, reward, lives or end, once for each of the first `count`
    settings.
    """
    ale = atari_roms.oracle(name, sticky)
    console = atari_core.Console(library, name, seed=1, sticky=sticky)
    random = np.random.default_rng(1)
    actions = [action.value for action in ale.getLegalActionSet()]
    action = 0
    for mode, difficulty in settings(ask(ale))[:count]:
        ale.setMode(mode)
        ale.setDifficulty(difficulty)
        console.set(mode, difficulty)
        ale.reset_game()
        console.reset_game()
        for frame in range(frames + 1):
            where = np.flatnonzero(console.ram() != ale.getRAM()).tolist()
            ours = (console.lives(), console.game_over())
            theirs = (ale.lives(), ale.game_over())
            if where or ours != theirs:
                at = f"frame {frame}" if frame else "reset"
                what = f"RAM at {where[:8]}" if where else f"lives, over {ours}, not {theirs}"
                yield f"{name}: mode {mode}, difficulty {difficulty}, {at}: {what}"
                break
            if frame % 4 == 0:
                action = actions[int(random.integers(len(actions)))]
            if console.act(action, False) != ale.act(action):
                yield f"{name}: mode {mode}, difficulty {difficulty}, frame {frame}: reward"
                break
    console.close()


def settings(known: Facts) -> list[tuple[int, int]]:
    """Return every mode with some difficulty and every difficulty with some mode, shuffled."""
    modes, difficulties = known.modes, known.difficulties
    pairs = [
        (modes[i % len(modes)], difficulties[i % len(difficulties)])
        for i in range(max(len(modes), len(difficulties)))
    ]
    np.random.default_rng(0).shuffle(pairs)
    return [(int(mode), int(difficulty)) for mode, difficulty in pairs]


def check(names: list[str], frames: int) -> int:
    """Print what is not the oracle's; return the number of games with such."""
    library = atari_core.Library(atari_core.build(("-O1",)))
    wrong = 0
    for name in names:
        found = list(differences(library, name, frames))
        wrong += bool(found)
        for line in found[:3]:
            print(line, flush=True)
        if found:
            print(f"{name}: {len(found)} of {len(settings(facts(name)))}", flush=True)
    print(f"{len(names) - wrong} of {len(names)} games are the oracle's in every mode")
    return wrong


def main() -> int:
    """Write or check the table from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="games to check, all without any")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    parser.add_argument("--check", action="store_true", help="compare every mode with ale-py")
    parser.add_argument("--frames", type=int, default=60)
    options = parser.parse_args()
    if options.check:
        return min(check(options.names or atari_roms.names(), options.frames), 1)
    text = table()
    if options.write:
        TABLE.write_text(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
