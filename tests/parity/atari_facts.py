"""Writes and checks the table of Atari games, csrc/envs/atari/games/table.def.

A row holds the hardware that a game needs, and the actions, modes and difficulties that ALE offers.
ale-py reports most of it; HARDWARE and CHOICES hold what it does not report.

    python -m tests.parity.atari_facts --write              # write the table
    python -m tests.parity.atari_facts --check [GAME ...]   # compare every mode with ale-py
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from ale_py import ALEInterface

from tests.parity import atari_core, atari_roms

TABLE = atari_core.SOURCES / "games" / "table.def"
COLUMNS = 100
PADDLE_MAX = 790196  # ohms, unless ale-py reports another value

# games whose word in ale-py's ids is not the one in EnvPool's
ALE_WORDS = {"tic_tac_toe_3d": "TicTacToe3D"}


class Hardware(NamedTuple):
    """What a cartridge needs from the console, as far as ale-py does not report it."""

    first_line: int = 34  # line of a frame that is the screen's first
    paddles: int = 0  # number of paddles, two to a port; 0 for joysticks
    swapped: bool = False  # the controller is in the other port, or is its port's other paddle
    no_comb: bool = False  # HMOVE does not blank the first eight pixels of its line


# measured on ale-py 0.12.1 (the proof of the core checks each); games not listed have the defaults
HARDWARE: dict[str, Hardware] = {
    "asteroids": Hardware(no_comb=True),
    "backgammon": Hardware(paddles=2),
    "battle_zone": Hardware(no_comb=True),
    "blackjack": Hardware(paddles=2),
    "breakout": Hardware(paddles=2),
    "carnival": Hardware(first_line=26),
    "casino": Hardware(paddles=2),
    "darkchambers": Hardware(no_comb=True),
    "kaboom": Hardware(paddles=2),
    "ms_pacman": Hardware(no_comb=True),
    "pong": Hardware(paddles=4, swapped=True),
    "pooyan": Hardware(first_line=26),
    "qbert": Hardware(first_line=40),
    "surround": Hardware(swapped=True),
    "up_n_down": Hardware(first_line=30),
    "wizard_of_wor": Hardware(swapped=True),
}


class Choice(NamedTuple):
    """How ALE chooses a mode: it presses SELECT until a byte of memory holds the mode."""

    byte: int  # address in RAM, from 128 on in the cartridge's RAM
    frames: int  # number of frames for which SELECT is held
    mask: int = 0xFF
    values: tuple[int, ...] = ()  # the byte in each mode; empty for the modes' numbers
    wait: int = 0  # frames before the byte is first read
    random: bool = False  # SELECT is held for a random number of frames more, up to 255
    cube: int = 0  # address of the mode's hundreds, which the joystick chooses
    menu: tuple[int, ...] = ()  # bits of byte 0, the switches of a menu; `byte` holds its row


# found by experiment; games not listed never press SELECT
CHOICES: dict[str, Choice] = {
    "adventure": Choice(93, 2, values=(0, 2, 4), random=True),
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
    """What ale-py reports about a game."""

    actions: tuple[int, ...]  # the minimal set
    legal: tuple[int, ...]
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]
    lines: int  # height of the screen
    paddle_max: int  # ohms of a paddle turned all the way; -1: the default


@functools.cache
def facts(name: str) -> Facts:
    """Asks ale-py about a game."""
    return ask(atari_roms.oracle(name))


def ask(ale: ALEInterface) -> Facts:
    """Asks ale-py about the game that it has loaded."""
    return Facts(
        tuple(action.value for action in ale.getMinimalActionSet()),
        tuple(action.value for action in ale.getLegalActionSet()),
        tuple(map(int, ale.getAvailableModes())),
        tuple(map(int, ale.getAvailableDifficulties())),
        int(ale.getScreenDims()[0]),
        ale.getInt("paddle_max"),
    )


# ------------------------------------------------------------------------------ the table


def bits(numbers: tuple[int, ...]) -> int:
    """Returns a mask with the bits of these numbers, which must be in ascending order."""
    if list(numbers) != sorted(set(numbers)):
        raise ValueError(f"{numbers} do not ascend: a mask cannot keep their order")
    return sum(1 << number for number in numbers)


def values(numbers: tuple[int, ...], kind: str = "uint8_t") -> str:
    """Returns a C array of these numbers."""
    return f"(const {kind}[]){{" + ", ".join(map(str, numbers)) + "}"


def words(name: str) -> tuple[str, str]:
    """Returns the word for a game in EnvPool's ids, and the one in ale-py's."""
    word = "".join(part.capitalize() for part in name.split("_"))
    return word, ALE_WORDS.get(name, word)


def hardware_fields(name: str, known: Facts) -> list[str]:
    """Returns the initialisers of a row's hardware that are not zero."""
    hardware = HARDWARE.get(name, Hardware())
    fields = [f".lines = {known.lines}", f".first_line = {hardware.first_line}"]
    if known.lines == 250:  # among ale-py's games, exactly those with PAL programs
        fields.append(".pal = true")
    if hardware.no_comb:
        fields.append(".no_comb = true")
    if hardware.paddles:
        paddle_max = known.paddle_max if known.paddle_max >= 0 else PADDLE_MAX
        fields += [f".paddles = {hardware.paddles}", f".paddle_max = {paddle_max}"]
    if hardware.swapped:
        fields.append(".swapped = true")
    return fields


def fields(name: str, known: Facts) -> list[str]:
    """Returns the initialisers of a game's row that are not zero."""
    script = atari_roms.SCRIPTS.get(name, atari_roms.Script())
    choice = CHOICES.get(name)
    row = [
        f".hardware = {{{', '.join(hardware_fields(name, known))}}}",
        f".actions = {bits(known.actions):#07x}",
    ]
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
        if choice.wait:
            row.append(f".mode_wait = {choice.wait}")
        if choice.random:
            row.append(".select_is_random = true")
        if choice.cube:
            row.append(f".cube_byte = {choice.cube}")
        if choice.menu:
            row.append(f".menu_bits = {values(choice.menu)}")
        row.append(f".select_frames = {choice.frames}")
    reset_frames = 4 if choice else script.soft
    if reset_frames:
        row.append(f".reset_frames = {reset_frames}")
    if script.start:
        actions = "".join(f"{{{action}, {frames}}}, " for action, frames in script.start)
        row.append(f".start_actions = (const pp_start_action[]){{{actions}{{0}}}}")
    return row


def wrap(text: str) -> str:
    """Breaks a row after commas into lines of at most 100 columns."""
    lines, line = [], ""
    for part in text.split(", "):
        if len(line + part) >= COLUMNS:
            lines.append(line.rstrip())
            line = "     "
        line += part + ", "
    return "\n".join([*lines, line.removesuffix(", ")])


def row(name: str) -> str:
    """Returns a game's row of the table."""
    envpool_word, ale_word = words(name)
    start = f'GAME({name}, "{envpool_word}", "{ale_word}", '
    return wrap(start + ", ".join(fields(name, facts(name))) + ")")


HEAD = """\
/* Table: one row for each game that ale-py can play, in the order of their names.
 *
 * A file that includes it defines GAME(game, envpool_word, ale_word, ...) first: ale-py's name of
 * the game, the words that stand for it in EnvPool's ids and in ale-py's, and initialisers of a
 * pp_game. GAME is undefined at the end.
 *
 * Written by `python -m tests.parity.atari_facts --write`: change that, not this. */
// clang-format off
"""


def table() -> str:
    """Returns the text of table.def."""
    return "\n".join([HEAD, *map(row, atari_roms.names()), "", "#undef GAME", ""])


# ------------------------------------------------------------------------------ the check


def differences(
    library: atari_core.Library,
    name: str,
    frames: int,
    count: int | None = None,
    sticky: float = 0.0,
) -> Iterator[str]:
    """Starts a game in each mode and difficulty, one after another, and plays a little.

    Yields what differs from ale-py (RAM, reward, lives or end), at most once for each of the first
    `count` settings.
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
    """Returns pairs in which each mode and each difficulty occurs, shuffled."""
    modes, difficulties = known.modes, known.difficulties
    pairs = [
        (modes[i % len(modes)], difficulties[i % len(difficulties)])
        for i in range(max(len(modes), len(difficulties)))
    ]
    np.random.default_rng(0).shuffle(pairs)
    return [(int(mode), int(difficulty)) for mode, difficulty in pairs]


def check(names: list[str], frames: int) -> int:
    """Prints how games differ from ale-py; returns the number of games that do."""
    library = atari_core.Library(atari_core.build())
    wrong = 0
    for name in names:
        found = list(differences(library, name, frames))
        wrong += bool(found)
        for line in found[:3]:
            print(line, flush=True)
        if found:
            print(f"{name}: {len(found)} of {len(settings(facts(name)))}", flush=True)
    print(f"{len(names) - wrong} of {len(names)} games equal ale-py's in every mode")
    return wrong


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="games to check (default: all)")
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
