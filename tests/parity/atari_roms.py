"""Compares RAM and screen of the console with ale-py's on every ROM.

Both get the same random actions, and start new games when ALE's game is over. A search over scripts
of raw inputs found how ALE starts each game (presses of SELECT, RESET, starting actions): SCRIPTS,
which atari_facts.py writes into the table of games.

    python -m tests.parity.atari_roms --frames 3000            # prints the first difference
    python -m tests.parity.atari_roms --frames 3000 --write    # writes docs/environments/atari.md
    python -m tests.parity.atari_roms --find pong              # search for a game's script
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ale_py import ALEInterface, roms
from numpy.typing import NDArray

from tests.parity import atari_core

PAGE = atari_core.ROOT / "docs" / "environments" / "atari.md"
BEGIN, END = "<!-- exact ROMs: begin -->\n", "<!-- exact ROMs: end -->\n"
RESET, SELECT = 1, 2
PRESS_RESET = 40  # an action of a script that presses the RESET switch instead

# ROMs for which ale-py has no rules, so it cannot play them
UNSUPPORTED = ("combat", "joust", "maze_craze", "warlords")


class Script(NamedTuple):
    """What ALE's reset does after 60 frames without input and 4 frames of RESET."""

    select_frames: int = 0
    presses: int = 0
    soft: int = 0  # frames of RESET after choosing the mode
    start: tuple[tuple[int, int], ...] = ()  # (action, frames), after the last RESET


# found by search (--find); games not listed have the default script
SCRIPTS: dict[str, Script] = {
    "mario_bros": Script(start=((1, 17),)),
    "entombed": Script(start=((1, 1), (0, 5))),
    "casino": Script(soft=4, start=((2, 60), (1, 2))),
    "lost_luggage": Script(2, 38, 4, start=((1, 1),)),
    "adventure": Script(soft=4),
    "air_raid": Script(start=((1, 1),)),
    "alien": Script(soft=4),
    "asterix": Script(start=((1, 1),)),
    "asteroids": Script(soft=4),
    "atlantis": Script(soft=4),
    "backgammon": Script(1, 2, 4),
    "bank_heist": Script(soft=4),
    "basic_math": Script(2, 5, 4),
    "battle_zone": Script(soft=4),
    "beam_rider": Script(start=((2, 1),)),
    "berzerk": Script(soft=4),
    "bowling": Script(soft=4),
    "centipede": Script(soft=4),
    "chopper_command": Script(soft=4),
    "crazy_climber": Script(soft=4),
    "crossbow": Script(2, 8, 4),
    "darkchambers": Script(start=((0, 486),)),
    "defender": Script(soft=4),
    "demon_attack": Script(soft=4),
    "double_dunk": Script(start=((10, 1),)),
    "elevator_action": Script(start=((1, 16),)),
    "enduro": Script(start=((1, 1),)),
    "et": Script(soft=4),
    "flag_capture": Script(2, 7, 4),
    "freeway": Script(soft=4),
    "frogger": Script(soft=4),
    "frostbite": Script(soft=4),
    "galaxian": Script(soft=4),
    "gopher": Script(soft=4, start=((PRESS_RESET, 4), (1, 1))),
    "gravitar": Script(start=((1, 16),)),
    "hangman": Script(soft=4),
    "haunted_house": Script(soft=4),
    "hero": Script(soft=4),
    "human_cannonball": Script(2, 16, 4),
    "ice_hockey": Script(soft=4),
    "journey_escape": Script(start=((1, 1),)),
    "kaboom": Script(start=((1, 1),)),
    "king_kong": Script(soft=4),
    "klax": Script(soft=4, start=((1, 1), (0, 1))),
    "mr_do": Script(soft=4, start=((1, 1),)),
    "ms_pacman": Script(soft=4),
    "name_this_game": Script(2, 134, 4),
    "othello": Script(1, 6, 4),
    "pacman": Script(2, 16, 4),
    "pitfall": Script(start=((2, 1),)),
    "pitfall2": Script(start=((2, 1),)),
    "pong": Script(soft=4),
    "pooyan": Script(2, 1, 4),
    "private_eye": Script(soft=4, start=((2, 1),)),
    "sir_lancelot": Script(start=((PRESS_RESET, 1), (4, 1))),
    "skiing": Script(start=((2, 16),)),
    "space_invaders": Script(soft=4),
    "space_war": Script(2, 5, 4),
    "surround": Script(2, 1, 4),
    "tennis": Script(soft=4),
    "tic_tac_toe_3d": Script(soft=4),
    "turmoil": Script(soft=4, start=((1, 1),)),
    "tutankham": Script(soft=4),
    "up_n_down": Script(start=((1, 1),)),
    "video_checkers": Script(soft=4),
    "video_chess": Script(soft=4),
    "video_cube": Script(soft=4, start=((0, 61), (1, 3))),
    "video_pinball": Script(soft=4),
    "word_zapper": Script(soft=4, start=((0, 486), (1, 1), (0, 2))),
    "yars_revenge": Script(1, 7, 4, start=((1, 1),)),
    "zaxxon": Script(soft=4),
}


class Console(atari_core.Console):
    """A console that gets raw inputs, without the game's rule."""

    rules = False

    def finish(self, script: Script) -> None:
        """Runs a script after the first RESET."""
        for _ in range(script.presses):
            self.idle(0, SELECT, script.select_frames)
            self.idle(0, 0, 1)
        self.idle(0, RESET, script.soft + 4)
        for action, frames in script.start:
            switch = RESET if action == PRESS_RESET else 0
            self.idle(0 if switch else action, switch, frames)

    def idle(self, action: int, switches: int, frames: int) -> None:
        self.c.pp_console_idle(self.state, self.cartridge, action, switches, frames)

    def save(self) -> bytes:
        return ctypes.string_at(self.state, self.c.pp_console_size())

    def restore(self, state: bytes) -> None:
        ctypes.memmove(self.state, state, len(state))
        self.forget()


def names() -> list[str]:
    """Returns the ROMs that ale-py has and can play."""
    folder = Path(roms.get_rom_path("pong")).parent
    return [p.stem for p in sorted(folder.glob("*.bin")) if p.stem not in UNSUPPORTED]


def oracle(name: str, sticky: float = 0.0) -> ALEInterface:
    ale = ALEInterface()
    ale.setInt("random_seed", 1)
    ale.setFloat("repeat_action_probability", sticky)
    ale.loadROM(roms.get_rom_path(name))
    return ale


def difference(ours: NDArray[np.uint8], theirs: NDArray[np.uint8]) -> str:
    where = np.argwhere(ours != theirs)
    return f"{len(where)} of {ours.size}, first at {where[0].tolist()}"


def compare(library: atari_core.Library, name: str, frames: int, *, hold: int = 7) -> str:
    """Plays random actions on both; returns the first difference in words, "" if none."""
    ale, console = oracle(name), atari_core.Console(library, name, seed=1)
    actions = [action.value for action in ale.getLegalActionSet()]
    random, action, shape = np.random.default_rng(1), 0, ale.getScreenDims()
    try:
        for frame in range(frames):
            if frame == 0 or ale.game_over():
                ale.reset_game()
                console.reset_game()
                if not np.array_equal(console.ram(), ale.getRAM()):
                    return f"reset before frame {frame}: RAM " + difference(
                        console.ram(), ale.getRAM()
                    )
            if frame % hold == 0:
                action = actions[int(random.integers(len(actions)))]
            ale.act(action)
            console.act(action, True)
            if not np.array_equal(console.ram(), ale.getRAM()):
                return f"frame {frame}: RAM " + difference(console.ram(), ale.getRAM())
            if not np.array_equal(console.screen(shape), ale.getScreen()):
                return f"frame {frame}: screen " + difference(
                    console.screen(shape), ale.getScreen()
                )
    finally:
        console.close()
    return ""


def candidates() -> Iterator[Script]:
    """Yields the scripts to try, the simplest first."""
    starts: list[tuple[tuple[int, int], ...]] = [()]
    starts += [((action, frames),) for frames in (1, 16, 5, 60) for action in (1, 2, 5, 13, 3, 4)]
    for soft in (0, 4):
        for start in starts:
            yield Script(soft=soft, start=start)
    for start in starts:
        for frames in range(1, 8):
            for presses in range(1, 13):
                yield Script(frames, presses, 4, start)


def find(library: atari_core.Library, name: str, seconds: float) -> Script | None:
    """Searches for the script after which RAM equals ale-py's."""
    ale, console = oracle(name), Console(library, name, seed=1)
    ale.reset_game()
    console.c.pp_console_power(console.state, console.cartridge)
    console.idle(0, 0, 60)
    console.idle(0, RESET, 4)
    before, began = console.save(), time.monotonic()
    for script in candidates():
        console.restore(before)
        console.finish(script)
        if np.array_equal(console.ram(), ale.getRAM()):
            return script
        if time.monotonic() - began > seconds:
            break
    return None


MAPPERS = {0: "", 1: "F8", 2: "F6", 3: "E0", 4: "FE", 5: "DPC"}


def kind(library: atari_core.Library, name: str) -> str:
    """Returns a ROM's size or mapper."""
    rom = Path(roms.get_rom_path(name)).read_bytes()
    has_ram = ctypes.c_bool()
    mapper = MAPPERS[library.c.pp_mapper_detect(rom, len(rom), ctypes.byref(has_ram))]
    return (mapper or f"{len(rom) // 1024}K") + ("SC" if has_ram.value else "")


def row(library: atari_core.Library, name: str, frames: int) -> str:
    """Returns a row of the table."""
    height = oracle(name).getScreenDims()[0]
    result = compare(library, name, frames)
    standard = "PAL" if height == 250 else "NTSC"
    cells = (name, kind(library, name), standard, str(height), str(frames), result or "exact")
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="ROMs (default: all)")
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    parser.add_argument("--find", action="store_true", help="search for scripts instead")
    options = parser.parse_args()
    library = atari_core.Library(atari_core.build())
    rows = []
    for name in options.names or names():
        if options.find:
            print(name, find(library, name, 20.0), flush=True)
            continue
        rows.append(row(library, name, options.frames))
        print(rows[-1], flush=True)
    if options.write:
        head = "| ROM | mapper | format | lines | frames | result |\n|--|--|--|--|--|--|\n"
        before, _, rest = PAGE.read_text().partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(before + BEGIN + head + "\n".join(rows) + "\n" + END + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
